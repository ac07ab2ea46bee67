/* Reading the record of a run that stands open under a node's name: what recovery (our own) and
 * orphans (a dead node's) begin with. */
#pragma once

#include "node.h"
#include "read-window.h"
#include "run-record.h"

typedef struct OpenRun OpenRun;
/* `record` is NULL when there is none or it is not one; otherwise it is handed over. */
typedef void (*OpenRunFunc)(OpenRun *open, ZkCode code, RunRecord *record, int32_t version,
                            void *userdata);

struct OpenRun {
        const Node *node; /* weak */
        char *job, *run;
        OpenRunFunc func;
        void *userdata;
        WindowedRead *read; /* under way, or waiting for its turn; or NULL */
};

/* `name` is an entry's, "JOB:RUN". Return: NULL when it is not one. */
OpenRun *open_run_new(const Node *node, const char *name, OpenRunFunc func, void *userdata);
/* For g_ptr_array_new_with_free_func(). */
void open_run_free(void *data);
/* Somebody deleted its record, and the ledger may still say that it is under way, and would for
 * ever. Return: newly allocated, what is known of it all the same. `owner`: its node. */
RunRecord *open_run_record_of_nothing(const OpenRun *open, const char *owner);
/* Reads through the window: there may be any number of them. Return: 0 or negative errno. */
int open_run_read(OpenRun *open, ReadWindow *window);
