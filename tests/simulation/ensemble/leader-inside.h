/* A leader, inside: its state, and what its files have for one another. */
#pragma once

#include "disk.h"
#include "ensemble-inside.h"
#include "prepare.h"
#include "session-tracker.h"

/* What it takes to have somebody follow: reading, comparing, sending what is missing. */
#define SYNC_MIN (5 * USEC_PER_MSEC)
#define SYNC_MAX (150 * USEC_PER_MSEC)

/* Who follows, as the leader sees it. */
typedef struct Learner {
        Leader *leader;
        unsigned index;
        Wire *in, *out;
        bool told;   /* what there is; from then on it is told of all that comes */
        bool synced; /* and has written it down */
        usec_t heard;
        ServerTimer *telling;
} Learner;

/* A client's sync, to be answered once what was proposed before it is done. */
typedef struct Flush {
        unsigned origin;
        int64_t session;
        uint64_t xid;
} Flush;

typedef struct Proposal {
        Transaction *txn;
        bool written;        /* by the leader */
        uint64_t written_by; /* bits: by who follows */
        GArray *flushes;     /* of Flush; NULL: none */
} Proposal;

struct Leader {
        Server *server;
        bool serving;
        int64_t epoch; /* its number among all leaders */
        Preparer *preparer;
        SessionTracker *tracker;
        GPtrArray *learners; /* of Learner */
        GQueue proposals;    /* of Proposal, those not done */
        int64_t next_zxid;
        Disk disk;
        usec_t since;
        bool half; /* between two ticks */
};

/* ---- leader.c ---- */

/* It serves, once a quorum follows. */
void leader_consider(Leader *leader);

/* ---- proposals.c ---- */

void proposal_free(void *data);
/* To all who follow, and have been told what there is. */
void leader_tell(const Leader *leader, PacketType type, int64_t zxid);
/* Does what a quorum has written down. */
void leader_commit(Leader *leader);

/* ---- learner.c ---- */

void learner_free(void *data);
