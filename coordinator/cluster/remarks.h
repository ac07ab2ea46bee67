/* Remarks: warnings of what stands in a directory of ZooKeeper and is not of jobkeeper.
 *
 * Whoever reaches ZooKeeper can put there as much as he likes, as often as he likes, and every node
 * reads it: so each path is named once in REMARKS_PAUSE, and no more than REMARKS_MAX of them, with
 * a last word that there are more. */
#pragma once

#include "cleanup.h"
#include "clock.h"

#define REMARKS_PAUSE (10 * USEC_PER_MINUTE)
#define REMARKS_MAX 20

typedef struct Remarks Remarks;

typedef enum Remark {
        REMARK_NONE,
        REMARK_PATH, /* this path */
        REMARK_MORE, /* that there are more than those named */
} Remark;

/* `directory`: whose children the paths are. */
Remarks *remarks_new(const char *directory);
Remarks *remarks_free(Remarks *remarks);
DEFINE_CLEANUP(Remarks, remarks_free);

/* Warns that this is not a `what` of jobkeeper, unless enough was said. */
void remarks_foreign(Remarks *remarks, const char *path, const char *what);

/* Return: what is to be said of the path at `now` (CLOCK_MONOTONIC), which then counts as said.
 * Pure. */
Remark remarks_judge(Remarks *remarks, const char *path, usec_t now);
