/* One contender in a survey: what its name tells, and its place in the queue. See lock-entry.h.
 *
 * The rules are those of the recipes (lock-set.c): the order is the number's alone, and an
 * exclusive one waits for everybody before it, a shared one for the exclusive ones, one of several
 * for as many as there are slots. A single node has no queue: it is the lock.
 */
#include "lock-entry.h"

#include <string.h>

#include "lock-data.h"

LockEntry *lock_entry_new(const char *resource, const char *directory, const char *name) {
        LockEntry *entry = g_new0(LockEntry, 1);
        Contender contender;

        entry->resource = g_strdup(resource);
        entry->path = g_strconcat(strcmp(directory, "/") == 0 ? "" : directory, "/", name, NULL);
        entry->payload = g_strdup("");
        entry->slots = 1;
        if (strcmp(name, SINGLE_NODE_NAME) == 0) {
                entry->naming = LOCK_NAMING_SINGLE_NODE;
                return entry;
        }
        contender_parse(name, &contender);
        entry->naming = contender.naming;
        entry->mode = contender.kind == CONTENDER_READER ? LOCK_SHARED : LOCK_EXCLUSIVE;
        entry->slot = contender.kind == CONTENDER_SLOT;
        entry->foreign = contender.kind == CONTENDER_FOREIGN;
        return entry;
}

LockEntry *lock_entry_free(LockEntry *entry) {
        if (!entry)
                return NULL;
        g_free(entry->resource);
        g_free(entry->path);
        g_free(entry->payload);
        g_free(entry);
        return NULL;
}

/* An entry beside its name taken apart. */
typedef struct Rank {
        LockEntry *entry;
        Contender contender;
} Rank;

static bool rank_is_single(const Rank *rank) {
        return rank->entry->naming == LOCK_NAMING_SINGLE_NODE;
}

static bool rank_is_unknown(const Rank *rank) {
        return rank->contender.kind == CONTENDER_FOREIGN && !rank_is_single(rank);
}

static int rank_compare(const void *a, const void *b) {
        const Rank *x = a, *y = b;

        if (rank_is_single(x) != rank_is_single(y))
                return rank_is_single(x) ? -1 : 1;
        if (rank_is_unknown(x) != rank_is_unknown(y))
                return rank_is_unknown(x) ? 1 : -1;
        return contender_compare(&x->contender, &y->contender);
}

/* `before_readers`: how many of those before it keep a reader waiting. Anybody else waits for all.
 */
static void rank_judge(const Rank *ranks, unsigned i, unsigned before_readers, unsigned slots) {
        bool reads = ranks[i].contender.kind == CONTENDER_READER;
        LockEntry *entry = ranks[i].entry;

        if (rank_is_unknown(&ranks[i]))
                return;
        entry->slots = entry->slot && slots > 0 ? slots : 1;
        entry->before = i;
        entry->foreign = entry->naming != ranks[0].entry->naming;
        entry->holds = (reads ? before_readers : i) < entry->slots;
}

void lock_entries_rank(GPtrArray *entries, unsigned slots) {
        g_autofree Rank *ranks = g_new0(Rank, entries->len);
        unsigned before_readers = 0;

        for (guint i = 0; i < entries->len; i++) {
                ranks[i].entry = entries->pdata[i];
                contender_parse(strrchr(ranks[i].entry->path, '/') + 1, &ranks[i].contender);
        }
        if (entries->len > 0)
                qsort(ranks, entries->len, sizeof *ranks, rank_compare);
        for (guint i = 0; i < entries->len; i++) {
                entries->pdata[i] = ranks[i].entry;
                rank_judge(ranks, i, before_readers, slots);
                before_readers += rank_is_single(&ranks[i]) ||
                                  contender_is_in_the_way(CONTENDER_READER, &ranks[i].contender);
        }
}
