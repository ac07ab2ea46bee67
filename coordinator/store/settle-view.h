/* What a settle knows of the other side: whether the record stands there and what it says, the
 * ledger, which contenders and which open entry are left, whether there is a newer attempt. First
 * it is what this node believes anyway; when a write that was based on that fails, the truth is
 * read, all of it in one flight. Where the job has another name since, what is open of it stands in
 * the ledger of that: one more flight a name. */
#pragma once

#include "ledger.h"
#include "node.h"
#include "run-record.h"

typedef struct Flight Flight;
typedef struct SettleAsks SettleAsks;
typedef struct SettleView SettleView;
/* A ledger that the job has left, as it was read. */
typedef struct SettleViewLeft {
        char *path;
        int32_t version;
} SettleViewLeft;

/* As FlightFunc: ZK_OK when all was read. The view may be read again or freed in it. */
typedef void (*SettleViewFunc)(ZkCode code, void *userdata);

/* What stands there already means for the result that is to be written. */
typedef enum SettleVerdict {
        SETTLE_VERDICT_WRITE,
        SETTLE_VERDICT_REFINE,    /* what stands there is "unknown", and we know better */
        SETTLE_VERDICT_WRITTEN,   /* it is ours: an answer was lost */
        SETTLE_VERDICT_ELSEWHERE, /* somebody else's, and final */
} SettleVerdict;

struct SettleView {
        const Node *node;        /* weak */
        const RunRecord *record; /* borrowed: as it is to be */
        bool only_if_claimed;
        char *record_path, *ledger_path, *runs_path, *open_path;

        int32_t record_version;   /* -1: the record does not exist and is created */
        bool record_known, found; /* found: what stands there is a record, and of our run */
        bool no_directory;        /* of records: somebody deleted the job */
        bool open_exists;
        char *ledger_job; /* the name that the job has by now: at ledger_path stands its ledger */
        Ledger *ledger;   /* NULL: there is none that we could read */
        int32_t ledger_version;
        GArray *left;  /* SettleViewLeft: those of the names that it had since the run; they are as
                          they were for as long as nothing but `ledger` changes */
        GArray *locks; /* SettleViewLock: of each contender of the record */
        SettleVerdict verdict;
        SettleAsks *asks; /* borrowed: read with the rest; or NULL */

        Flight *flight;
        SettleViewFunc func;
        void *userdata;
        bool newer_attempt, damage_kept;
};

/* Return: newly allocated; nothing is known yet. `record` is borrowed for as long as it lives.
 * `owner`: whose open entry. */
SettleView *settle_view_new(const Node *node, const RunRecord *record, const char *owner,
                            bool only_if_claimed, SettleViewFunc func, void *userdata);
SettleView *settle_view_free(SettleView *view);
DEFINE_CLEANUP(SettleView, settle_view_free);

/* Takes what is known without a read: the versions, and that all is as the claim left it. */
void settle_view_believe(SettleView *view, int32_t record_version, const Ledger *ledger,
                         int32_t ledger_version);
/* Reads the truth. Return: 0 when the function will be told, never from inside this call; negative
 * errno when it could not be asked for. */
int settle_view_read(SettleView *view);
/* Return: whether the contender at this index of the record stands there and may be deleted. */
bool settle_view_has_lock(const SettleView *view, guint index);
