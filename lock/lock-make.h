/* Making a directory that is not there. See lock-make.c. */
#pragma once

#include <stdbool.h>

#include "zk.h"

/* Part of whoever creates something in it, and stays where it is. */
typedef struct Making {
        ZkCall *call;
        ZkCode made;        /* its answer */
        unsigned attempts;  /* creations that found no directory */
        bool no_containers; /* the server does not know them */
} Making;

/* A creation found no directory. Return: NULL when it is to be made, in the same flight as the next
 * try; else why that was tried too often. */
const char *making_on_missing(Making *making);
/* Sends the creation of the directory, where a creation found none; else nothing. `persistent`: as
 * no container. Return: 0, negative errno. */
int making_send(Making *making, Zk *zk, const char *directory, const char *data, bool persistent);
void making_cancel(Making *making);
