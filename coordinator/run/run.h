/* A run on this node, from the claim (or from being found again after a restart) to the settle.
 * Which step follows which event stands in run-table.h; the transaction that settles it in
 * settle.h. */
#pragma once

#include "ended-units.h"
#include "lock.h"
#include "node.h"
#include "run-record.h"
#include "run-table.h"
#include "settle.h"
#include "unit.h"

/* So long after its claim is known a run may begin, also where its start deadline passes meanwhile:
 * what waited for its locks begins behind that anyway. PID 1 needs a fraction of it. */
#define RUN_BEGIN_PATIENCE (10 * USEC_PER_SEC)
/* And no longer, however late it may be: while it stands claimed the ticks after it are overlaps,
 * on all nodes. */
#define RUN_BEGIN_MOST (60 * USEC_PER_SEC)

typedef struct Run Run;

/* What every run of this node needs. */
typedef struct RunParts {
        const Node *node;       /* weak */
        UnitManager *units;     /* weak */
        const Settler *settler; /* weak */
        const EndedUnits
            *ended; /* weak: so that a unit that is gone is told from one that failed */
        /* It is settled, and nothing of it is left here. It must outlive this call. */
        void (*settled)(Run *run, void *userdata);
        void *userdata;
} RunParts;

struct Run {
        const RunParts *parts; /* weak */
        RunPhase phase;
        RunRecord *record;
        char *key;      /* "JOB:RUN" */
        LockSet *locks; /* NULL where there are none, or the session they belonged to is gone */
        Unit *unit;
        sd_event_source
            *overdue;     /* set until its unit is heard of: when it may not begin any more */
        bool interrupted; /* we ended it, so its end is not its own result */
        bool unwanted;    /* a person had it ended */
        bool shut_down;   /* we ended it since its machine goes down */
        bool recovering;  /* it is being found again: nothing is known of its unit yet */
        int32_t record_version;
        bool session_lost; /* that of the claim: its contenders are gone, or will be */
        Settle *settle;    /* under way, or NULL */
};

/* A claim of ours was written: takes the record (with its token) and the locks, and asks PID 1 to
 * start the unit, which begins by `start_by` (CLOCK_REALTIME), or within RUN_BEGIN_PATIENCE where
 * that is later, and RUN_BEGIN_MOST where it is earlier, or never. Return: newly allocated. */
Run *run_start(const RunParts *parts, const JobSpec *spec, RunRecord *record, LockSet *locks,
               usec_t start_by);

/* A process before us claimed it: takes the record, and looks for its unit. `attached`: its session
 * lives on and its locks are taken over; otherwise they are lost and it is stopped. */
Run *run_recover(const RunParts *parts, RunRecord *record, int32_t record_version, bool attached);

/* The same for one that has ended, and was settled without us: what its unit, if it is still there,
 * and what is remembered of it tell refines the record, or does not, and the unit is forgotten. */
Run *run_recover_result(const RunParts *parts, RunRecord *record);

/* The same for one whose record somebody deleted or damaged, and whose unit is gone: settled as
 * unknown. `why` is taken over. */
Run *run_recover_nothing(const RunParts *parts, RunRecord *record, char *why);

Run *run_free(Run *run);
DEFINE_CLEANUP(Run, run_free);

/* Ends it: `interrupted` when it is we who want that (locks, daemon), false when a person asked. */
void run_stop(Run *run, bool interrupted, const char *why);
/* The same where its machine goes down, so that nothing else would have ended it now. */
void run_stop_for_shutdown(Run *run, const char *why);
/* The same for a person, who says so: where it has not ended by itself it is "stopped", also where
 * it was being ended already. However it ends, no other attempt follows. */
void run_stop_for(Run *run, const char *who);
/* The session that held its locks is gone. */
void run_session_lost(Run *run);
/* Return: whether it is known to live: one that is only looked for, or was ordered to end before
 * anybody had found it, may never have begun. */
bool run_is_known_to_live(const Run *run);
/* Return: whether it lives outside of what the fence ends: it is older than that. */
bool run_lives_unfenced(const Run *run);
/* The daemon ends and the run is to go on, for the next process to find: nothing that happens to
 * our session or our locks from now on concerns it. */
void run_leave(Run *run);
/* There is a session again: settles what waits for that. */
void run_session_ready(Run *run);

/* Return: "JOB:RUN", newly allocated. */
char *run_key(const char *job, const char *run);
