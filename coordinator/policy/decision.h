/* What is to be done about a job's undecided ticks, now, by us? Pure: the ledger, the schedule, a
 * clock reading and our rank go in, a verdict comes out. Every policy on missed
 * and overlapping ticks is here and nowhere else; when a tick is fresh is decision-input.h's.
 *
 * Only ranks below PLACEMENT_RANKS have anything to do. A tick starts when it comes, or later by
 * its random delay, and until then nothing is done about it. Its turn at rank r begins r ×
 * takeover-delay after its start. For a while after it the tick is fresh: some candidate is
 * about to take it, so each fresh tick is run for itself, oldest first, as soon as it is our turn.
 * An undecided tick that is no longer fresh was missed by everybody (no candidate up, no ZooKeeper,
 * an older run in the way): of those `catch-up: latest` runs the newest, `none` runs none, and the
 * rest are skipped. Past its start deadline every tick is skipped.
 *
 * `all` runs each, oldest first and before those that are fresh, one after the other where they may
 * not be side by side: what came before the run that is under way was claimed waits for its end,
 * and is no overlap. Where more than DECISION_CATCH_UP_MAX are owed, the older ones are skipped.
 *
 * While another run of the job is claimed, a tick whose turn it is is skipped ("overlap") at once
 * by the node that runs that run, because it knows that the run is alive. Any other node only knows
 * what the ledger says: it waits, and skips when the same run has stood in the way for as long as a
 * dead node's session can last.
 *
 * Where several runs may be side by side (`overlap: allow`, `slots`) others stand in nobody's way
 * up to that number: each tick, and each retry, is taken for itself. Beyond that a tick is skipped,
 * by any rank in its turn.
 *
 * With `overlap: queue` the oldest tick that comes while the job is at an earlier one (a run is
 * under way, or is to be attempted again) waits for its end, and nothing is written for that: it
 * stays undecided, up to its start deadline. The ticks that come after it are skipped meanwhile.
 * Once nothing is in the way, the last run tells what has waited for it: that is not missed, and
 * begins by rank from the end of that run on.
 *
 * With `overlap: replace` the newest tick that has come takes the place of all that is older: other
 * ticks that are undecided are skipped, a further attempt is given up, and a run that was claimed
 * before the tick came is ended, by the node that runs it as soon as the tick comes. Another node
 * asks for that once the run has stood in the way for as long as a dead node's session can last:
 * its owner then has another definition, or is a process that does not act. The tick begins as one
 * does that waited in line.
 *
 * A retry (the next attempt of a tick, see record/next-attempt.h) is taken as a tick is, from the
 * end of its pause on: by rank, and up to its start deadline, which counts from there; then it is
 * given up. So is one that is further off than any pause, by clocks that were wrong. It begins when
 * nothing else of the job is under way. Until it is settled every tick that comes is skipped
 * ("overlap"): the job is still at the older one. Who could take a retry is told by the ledger's
 * watch when the attempt before has ended.
 *
 * A run of the service that the job was, which was given up and may be alive, is one that is under
 * way, and ended by nobody.
 *
 * Of a paused job nothing begins: each tick is skipped ("paused") when it comes, and a retry waits
 * until it is given up. What came by the end of a pause and is undecided still is skipped, too,
 * whoever looks when: it is not caught up with.
 *
 * A job with a window begins what is to start in the window, as long as that stretch lasts, and
 * nothing else: a tick that is to start outside is skipped when it comes, as is what is undecided
 * yet when the window closes; a retry whose pause ends outside, or that is still to begin when the
 * window closes, is given up. So what becomes of a tick follows from when it was to start, and
 * nothing is ever owed from one window to the next. A run under way is left alone.
 *
 * When no member can run the job at all, its ticks are still owed an answer: each is skipped once
 * its start deadline has passed, because until then a node that can run it may come.
 */
#pragma once

#include "decision-input.h"

#define DECISION_SKIPS_MAX 8
/* So many ticks of a stretch are counted. */
#define DECISION_COUNT_MAX 1000
/* No retry is further off than that: the longest pause, and as much again for clocks. */
#define DECISION_PAUSE_MAX (2 * JOB_RETRY_DELAY_MAX)
/* Of the ticks that were missed so many are caught up with. */
#define DECISION_CATCH_UP_MAX 1000
#define DECISION_WHY_CROWD "missed: more ticks than are caught up with were missed after it"
#define DECISION_WHY_CLOSED "its window closed before it could begin"
#define DECISION_WHY_LONG_CLOSED "missed: a window has closed since"
#define DECISION_WHY_RETRY "overlap: an earlier tick is to be attempted again"
#define DECISION_WHY_WAITS "overlap: another tick waits already"
#define DECISION_WHY_REPLACED "overlap: a newer tick took its place"
#define DECISION_WHY_OUTLASTED "overlap: the previous run was still under way at its start deadline"
#define DECISION_WHY_MANY "overlap: too many of its runs are under way or to be attempted again"
#define DECISION_WHY_SLOTS                                                                         \
        "overlap: its slots are taken by runs that are under way or to be attempted again"

/* What kind of reason it is that something does not begin: all that code may go by. */
typedef enum DecisionKind {
        DECISION_KIND_OTHER,     /* of what a person or a definition says */
        DECISION_KIND_MISSED,    /* nobody began it in time */
        DECISION_KIND_UNDER_WAY, /* of all that overlaps: a run is, and is left alone */
        DECISION_KIND_REPLACED,  /* of all that overlaps: something newer took its place */
        DECISION_KIND_OVERLAP,   /* whatever else the job is at */
        DECISION_KIND_PAUSED,
} DecisionKind;

typedef struct DecisionWhy {
        DecisionKind kind;
        const char *text; /* for people; constant, or of the pause or the window */
} DecisionWhy;

typedef struct DecisionSkip {
        int64_t from, to;
        unsigned count; /* of ticks; up to DECISION_COUNT_MAX */
        DecisionWhy why;
        bool gives_up; /* no skip: the retry of `from`, which stays as its last attempt ended */
        int64_t due;   /* then: since when that could be started */
} DecisionSkip;

typedef enum DecisionVerdict {
        DECISION_NOTHING, /* nothing is undecided or owed whose turn it is */
        DECISION_RUN,     /* claim `tick` */
        DECISION_BLOCKED, /* `tick` has to wait for `blocker`, a claimed run of another node */
        DECISION_REPLACE, /* `blocker` is to end, for `tick` to take its place */
} DecisionVerdict;

typedef struct Decision {
        DecisionVerdict verdict;
        int64_t tick;
        const LedgerEntry *blocker; /* borrowed from the ledger */
        DecisionSkip skips[DECISION_SKIPS_MAX];
        size_t n_skips;
        bool watch;   /* with nothing to do: there may be, once the ledger changes */
        usec_t again; /* CLOCK_REALTIME at which this is to be asked again; USEC_INFINITY: never, by
                         the clock alone */
} Decision;

void decide(const DecisionInput *input, Decision *ret);
/* Return: whether something else of the job is the reason. */
bool decision_is_overlap(DecisionWhy why);
/* Return: whether all that is to be done is to skip ticks, and all of these because of the run that
 * is under way. (Whoever may begin nothing ends no run for a newer tick: a node that can begin that
 * asks for it.) */
bool decision_only_overlaps(const Decision *decision);
/* Return: the second from which on the tick may be started: its start by the definition, or the end
 * of the pause before a further attempt. `ledger` may be NULL. */
int64_t decision_due(const JobSpec *spec, const Ledger *ledger, int64_t tick);
/* Return: why nothing new of the job may begin by this ledger; its text is NULL where it may. */
DecisionWhy decision_why_not(const JobSpec *spec, const Ledger *ledger);
