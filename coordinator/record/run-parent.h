/* Of a run that was asked for because another one ended: the particulars of that one, which its
 * command sees as JOBKEEPER_PARENT_…. They stand in the request, and from the claim on in the run's
 * own record, so that whichever process begins it has them. Whatever stands there was written by
 * somebody: it is held against what we would have written before it becomes a variable. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* So many runs may follow each other: more is a circle that no node alone can see, made of
 * definitions of which each has but a part. */
#define RUN_PARENTS_MAX 100

typedef struct RunParent {
        char *job, *run, *state; /* of the run that has ended; NULL: there is none */
        char *why, *node;        /* NULL: nothing is known */
        int64_t tick;            /* of the first run of the chain; 0: of none, it was by hand */
        int exit_status;         /* -1: none */
        unsigned chain;          /* how many runs came before this one, one after the other */
} RunParent;

/* What a struct begins with. */
#define RUN_PARENT_NONE ((RunParent){.exit_status = -1})

RunParent run_parent_copy(const RunParent *parent);
void run_parent_clear(RunParent *parent);
/* Return: whether all of it can be what we wrote; also where there is none. */
bool run_parent_is_good(const RunParent *parent);

/* Return: a new reference; `why` is at most SAID_TEXT_MAX bytes. */
json_t *run_parent_to_json(const RunParent *parent);
/* Return: whether there is one, and all of it is good; *ret is then to be cleared. */
bool run_parent_from_json(const json_t *object, RunParent *ret);
