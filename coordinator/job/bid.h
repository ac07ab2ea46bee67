/* A bid for a tick, or for a manual run: the queueing for its locks, and the claim once they are
 * held. It is made when queueing begins and freed when it is over, whatever became of it. A reload
 * that changes nothing of what it waits for does not end it: bid_take_spec().
 *
 * It knows neither when nor whether: that is for its owner, who hears of each outcome. */
#pragma once

#include "ledger-cache.h"
#include "manual-runs.h"
#include "node.h"
#include "runs.h"
#include "tree.h"

typedef struct Bid Bid;

typedef enum BidEvent {
        BID_HELD,      /* all locks are */
        BID_TIMED_OUT, /* they were not free in time, and none is left; or after bid_claim() its
                          turn in the roll has not come: bid_turn() */
        BID_FAULTY,    /* they cannot be had: bid_fault() */
        BID_LOST,      /* somebody took them away */
        /* After bid_claim(): */
        BID_WAITS,   /* for its turn in the roll: bid_waits_for(); claims again later */
        BID_STOPPED, /* the roll is: bid_fault() */
        BID_DAMAGED, /* what is known of the roll is: bid_fault(); nothing can be claimed */
        BID_WON,     /* it runs, with the locks, and the ledger is known as it now is */
        BID_TAKEN,   /* a record of this run stands there already */
        BID_STALE,   /* something is not what we thought: decide again */
        BID_REFUSED, /* the server does not let us claim, or see whose turn it is: bid_fault() */
        BID_OVER,    /* nobody can tell whether it was done */
} BidEvent;

/* From the loop. The bid may be freed in it. */
typedef void (*BidFunc)(BidEvent event, void *userdata);

/* All weak. */
typedef struct BidParts {
        Node *node;
        Tree *tree;
        LedgerCache *ledgers;
        Runs *runs;
} BidParts;

/* Asks for the locks that `spec` names, for a tick or for a manual run (`run`, copied; then `tick`
 * is 0). Where it names none, all are held from the beginning, and BID_HELD does not come.
 * Return: 0; negative errno. The parts are copied. */
int bid_new(const BidParts *parts, const JobSpec *spec, int64_t tick, const ManualRun *run,
            BidFunc func, void *userdata, Bid **ret_bid);
/* Lets go of the locks; of a claim that is on its way nobody hears. */
Bid *bid_free(Bid *bid);
DEFINE_CLEANUP(Bid, bid_free);

/* Return: whether it is for this tick, or for this manual run, and has what it waits with: locks
 * that were lost while a claim was under way are gone. */
bool bid_is_for(const Bid *bid, int64_t tick, const ManualRun *run);
/* Return: 0 for a manual run. */
int64_t bid_tick(const Bid *bid);
/* Return: the id of the run that it would make, borrowed; of a tick it is known from the claim on,
 * because which attempt it is stands in the ledger. */
const char *bid_run(const Bid *bid);
/* Return: the manual run, borrowed, or NULL: it is for a tick. */
const ManualRun *bid_manual(const Bid *bid);
/* Return: what was asked for, and is claimed and run; borrowed. */
const JobSpec *bid_spec(const Bid *bid);
/* The definition is another that waits alike: what is claimed and run is of this one. */
void bid_take_spec(Bid *bid, const JobSpec *spec);
bool bid_holds_locks(const Bid *bid);
/* Return: whether it stands in a queue, for the others to see. */
bool bid_stands(const Bid *bid);
/* Return: which lock it waits for, a sentence, or "" where it waits for none; the caller's. */
char *bid_waits_for(const Bid *bid);
/* Return: why it has no turn in the roll, a sentence, borrowed; NULL: it waits for none. */
const char *bid_turn(const Bid *bid);
/* Return: its resource alone, or where all are held the one that it had to wait for; borrowed; or
 * "". */
const char *bid_lock_in_the_way(const Bid *bid);
/* Return: why the locks cannot be had or nothing can be claimed, a sentence, borrowed. */
const char *bid_fault(const Bid *bid);

/* Return: the id of a run of the job that continues without its locks and goes on here, though the
 * ledger has done with it: it was given up; borrowed. NULL: there is none, or it keeps no other
 * from beginning. */
const char *bid_goes_on(const Runs *runs, const JobSpec *spec, const Ledger *ledger);
/* The locks are held and the ledger was just read: claims. Return: 0; -EBUSY when a run that the
 * new one may not be beside (of the job; where those are side by side, of the same tick) is still
 * being ended here, or goes on; another negative errno. */
int bid_claim(Bid *bid);
/* The claim was stale. Return: whether it may be tried again with the same locks, for `spec`. */
bool bid_may_claim_again(Bid *bid, const JobSpec *spec);

bool bid_needs_locks(const JobSpec *spec);
/* Return: until when (CLOCK_REALTIME) anybody waits for the locks of a tick that is due then
 * (ledger_due()), of a job that says for how long: queueing begins before the start deadline. */
usec_t bid_wait_ends(const JobSpec *spec, int64_t due);
/* Return: whether in `span` from now nothing but who stands in the queues tells that a tick that
 * was due then is waited for, and there is still time to wait for it. */
bool bid_is_seen_in_queues_alone(const JobSpec *spec, int64_t due, usec_t span);
