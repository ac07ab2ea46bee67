/* A server's disk: one write at a time, each with fsync, and whatever is handed over during one
 * goes with the next (SyncRequestProcessor), so that a slow disk delays what comes and does not
 * pile it up. */
#pragma once

#include "clock.h"

typedef struct Disk {
        usec_t done; /* when the write that is under way is */
        usec_t next; /* when the one after it will be; 0: nothing waits for one */
} Disk;

/* `takes`: a write that is begun for this. Return: when it is written. */
usec_t disk_write(Disk *disk, usec_t now, usec_t takes);
