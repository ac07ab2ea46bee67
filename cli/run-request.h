/* Asking the cluster for a run of a job, and waiting for it: what `run` and `rerun` have in common.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct RunRequest {
        const char *job;
        const char *run;         /* a further attempt of its tick; NULL: of none, or `tick` */
        int64_t tick;            /* a further attempt of this; 0: of none, or that of `run` */
        const char *node;        /* the one that is to run it; NULL: any */
        bool wait, follow, json; /* what is followed is waited for */
} RunRequest;

/* Return: the exit status. */
int run_request(const RunRequest *request);
/* Return: whether `node`, as --on has it, may be a name (NULL: there is none); else it is said,
 * with *ret_exit. */
bool run_node_is_given(const char *command, const char *node, int *ret_exit);
