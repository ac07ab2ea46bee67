/* See ledger-cache.h. */
#include "ledger-cache.h"

#include <string.h>

typedef struct KnownLedger {
        Ledger *ledger; /* NULL: not known */
        int32_t version;
} KnownLedger;

struct LedgerCache {
        GHashTable *jobs; /* name → KnownLedger */
        size_t watched;   /* bytes of paths */
};

static void known_ledger_free(void *data) {
        KnownLedger *known = data;

        ledger_free(known->ledger);
        g_free(known);
}

LedgerCache *ledger_cache_new(void) {
        LedgerCache *cache = g_new0(LedgerCache, 1);

        cache->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, known_ledger_free);
        return cache;
}

LedgerCache *ledger_cache_free(LedgerCache *cache) {
        if (!cache)
                return NULL;
        g_hash_table_unref(cache->jobs);
        g_free(cache);
        return NULL;
}

void ledger_cache_add(LedgerCache *cache, const char *job) {
        g_hash_table_replace(cache->jobs, g_strdup(job), g_new0(KnownLedger, 1));
}

void ledger_cache_remove(LedgerCache *cache, const char *job) {
        g_hash_table_remove(cache->jobs, job);
}

const Ledger *ledger_cache_get(const LedgerCache *cache, const char *job, int32_t *ret_version) {
        const KnownLedger *known = g_hash_table_lookup(cache->jobs, job);

        if (!known || !known->ledger)
                return NULL;
        if (ret_version)
                *ret_version = known->version;
        return known->ledger;
}

void ledger_cache_set(LedgerCache *cache, const char *job, Ledger *ledger, int32_t version) {
        KnownLedger *known = g_hash_table_lookup(cache->jobs, job);

        if (!known) {
                ledger_free(ledger);
                return;
        }
        ledger_free(known->ledger);
        known->ledger = ledger;
        known->version = version;
}

void ledger_cache_rewritten(LedgerCache *cache, const char *job, int32_t version) {
        KnownLedger *known = g_hash_table_lookup(cache->jobs, job);

        if (known)
                known->version = version;
}

void ledger_cache_forget(LedgerCache *cache, const char *job) {
        ledger_cache_set(cache, job, NULL, 0);
}

/* As the port counts it: the path's length in four bytes, and the path. */
static size_t ledger_watch_bytes(const char *path) {
        return strlen(path) + 4;
}

bool ledger_cache_take_watch(LedgerCache *cache, const char *path) {
        if (cache->watched + ledger_watch_bytes(path) > LEDGER_WATCH_BYTES_MAX)
                return false;
        cache->watched += ledger_watch_bytes(path);
        return true;
}

void ledger_cache_give_watch(LedgerCache *cache, const char *path) {
        g_assert(cache->watched >= ledger_watch_bytes(path));
        cache->watched -= ledger_watch_bytes(path);
}
