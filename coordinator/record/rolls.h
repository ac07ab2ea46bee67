/* What is known of the rolls of a job of mode each-node, to all of its nodes: which runs of a tick
 * are under way, which have failed, and whose machine is waited for after its run. It stands in one
 * node for the job (rolls/JOB), and is changed by the very transactions that claim and settle, on
 * the version that was read: so nobody begins who has not seen the last failure. It is kept only
 * for jobs that ask for what follows from it (policy/roll.h).
 *
 * A run that has ended well, and whose machine nobody waits for, is not kept, nor what is of ticks
 * that are long over. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "run-state.h"

/* So many are kept, of so many ticks: of the newest. With names of any length it is less than
 * JSON_LINE_MAX. */
#define ROLL_RUNS_MAX 200
#define ROLL_TICKS_MAX 16

/* The return of a machine to the cluster after its run, of one that has ended. */
typedef struct RollReturn {
        usec_t since; /* the servers' time at which the run was settled: since then it is waited
                         for; 0: it is not */
        char *boot;   /* its boot id when it claimed; NULL: not known */
        bool again;   /* another attempt of it follows, so it has not failed */
        bool late;    /* it was not back in time: the roll has stopped, whether it came since */
} RollReturn;

/* Of one node and one tick. */
typedef struct RollRun {
        int64_t tick;
        char *node, *run;
        RunState state; /* RUN_CLAIMED, or how it has ended */
        RollReturn back;
} RollRun;

typedef struct Rolls {
        GPtrArray *runs; /* RollRun, the oldest tick first, and of a tick in the order in which they
                            came to what they are */
} Rolls;

/* Return: newly allocated, nothing is known. */
Rolls *rolls_new(void);
Rolls *rolls_free(Rolls *rolls);
DEFINE_CLEANUP(Rolls, rolls_free);
Rolls *rolls_copy(const Rolls *rolls);

/* Return: one line, newly allocated. */
char *rolls_encode(const Rolls *rolls);
/* Return: 0; -EBADMSG for what we would not have written. */
int rolls_decode(const char *data, size_t size, Rolls **ret_rolls);

/* Return: what is known of that node and the tick, borrowed until something changes; or NULL. */
const RollRun *rolls_get(const Rolls *rolls, int64_t tick, const char *node);
/* That run of the tick has come to this: it is under way (RUN_CLAIMED), or has failed so, and its
 * machine is not waited for. What was known of the node and the tick is replaced; of more than are
 * kept the oldest go, and first those that nobody waits for. Return: whether anything changes. */
bool rolls_note(Rolls *rolls, int64_t tick, const char *node, const char *run, RunState state);
/* The same for any run, which is copied. */
bool rolls_put(Rolls *rolls, const RollRun *run);
/* Nothing is to be known of that node for the tick any more. Return: whether anything was. */
bool rolls_forget(Rolls *rolls, int64_t tick, const char *node);
