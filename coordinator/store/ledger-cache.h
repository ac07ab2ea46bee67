/* What is known of the ledgers of this node's jobs without asking: each as it was last seen, with
 * its version. Whoever writes a ledger on top of what stands here names that version, so that what
 * is out of date here is refused there. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

typedef struct LedgerCache LedgerCache;

LedgerCache *ledger_cache_new(void);
LedgerCache *ledger_cache_free(LedgerCache *cache);
DEFINE_CLEANUP(LedgerCache, ledger_cache_free);

/* A job of ours comes, with a ledger that is not known yet, or goes. Of others nothing is kept. */
void ledger_cache_add(LedgerCache *cache, const char *job);
void ledger_cache_remove(LedgerCache *cache, const char *job);

/* Return: the ledger as last seen, borrowed until the next call that names the job; NULL when it is
 * not known. *ret_version, which may be NULL, is its version otherwise. */
const Ledger *ledger_cache_get(const LedgerCache *cache, const char *job, int32_t *ret_version);
/* It is this now: taken over. */
void ledger_cache_set(LedgerCache *cache, const char *job, Ledger *ledger, int32_t version);
/* A write of ours that changed nothing of what is known gave it this version. */
void ledger_cache_rewritten(LedgerCache *cache, const char *job, int32_t version);
/* What stands there now is not known. */
void ledger_cache_forget(LedgerCache *cache, const char *job);

/* What all watches on ledgers may take of the port's room for watches, which has an end: nothing
 * works without those on locks and members. Ten thousand with names of usual lengths. */
#define LEDGER_WATCH_BYTES_MAX ((size_t)600 * 1000)

/* Return: whether there is room for one more watch on that path: then it is taken, until it is
 * given back. */
bool ledger_cache_take_watch(LedgerCache *cache, const char *path);
void ledger_cache_give_watch(LedgerCache *cache, const char *path);
