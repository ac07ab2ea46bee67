/* A member: a live node as the others see it. Pure: the data of /nodes/NODE and its one line of
 * JSON. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"

typedef struct Member {
        char *node;
        char *machine; /* machine id */
        char *boot;    /* boot id */
        char *version;
        GHashTable *labels;  /* name → value */
        GHashTable *unfit;   /* job → why this node cannot run it at present */
        GHashTable *drifted; /* the jobs whose definition here is not the one in force */
        bool skewed;
        int64_t owner; /* the session that owns the znode; not stored */
} Member;

Member *member_new(const char *node);
Member *member_free(Member *member);
DEFINE_CLEANUP(Member, member_free);

/* Return: a new reference: labels or unfit jobs as an object of strings. */
json_t *member_strings_to_json(GHashTable *strings);

/* Return: a new reference: an array of strings. */
json_t *member_set_to_json(GHashTable *set);

/* Stands for every job among the unfit and the drifted ones; no job has this name. */
#define MEMBER_ALL_JOBS "*"

/* Return: one line of at most JSON_LINE_MAX bytes, newly allocated (g_free). With very many unfit
 * or drifted jobs their reasons, and at last their names, are left out. */
char *member_encode(const Member *member);
/* Return: whether the node says that it cannot run the job, for want of something or because its
 * definition is not the one in force. */
bool member_is_unfit(const Member *member, const char *job);
bool member_is_drifted(const Member *member, const char *job);
/* Return: 0; -EBADMSG when the data is not a member's. */
int member_decode(const char *node, const char *data, size_t size, Member **ret_member);
