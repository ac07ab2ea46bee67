/* See ledger-cursor.h. */
#include "ledger-cursor.h"

#include <errno.h>

#include "log.h"
#include "message-id.h"
#include "paths.h"

struct LedgerCursor {
        LedgerCursorParts parts;
        char *job, *path;
        LedgerCursorFunc func;
        void *userdata;

        ZkCall *call;
        ZkWatch *watch; /* with its room in the cache's books */
        bool crowded_out;
        char *fault;
        GHashTable *looked_for; /* a set: runs that the ledger says are ours and that recovery was
                                   asked for */
};

LedgerCursor *ledger_cursor_new(const LedgerCursorParts *parts, const char *job,
                                LedgerCursorFunc func, void *userdata) {
        LedgerCursor *cursor = g_new0(LedgerCursor, 1);

        cursor->parts = *parts;
        cursor->job = g_strdup(job);
        cursor->path = path_job(parts->node->config->root, job);
        cursor->func = func;
        cursor->userdata = userdata;
        cursor->looked_for = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        ledger_cache_add(parts->ledgers, job);
        return cursor;
}

LedgerCursor *ledger_cursor_free(LedgerCursor *cursor) {
        if (!cursor)
                return NULL;
        ledger_cursor_reset(cursor);
        ledger_cache_remove(cursor->parts.ledgers, cursor->job);
        g_free(cursor->fault);
        g_hash_table_unref(cursor->looked_for);
        g_free(cursor->job);
        g_free(cursor->path);
        g_free(cursor);
        return NULL;
}

static void ledger_cursor_unwatch(LedgerCursor *cursor) {
        if (cursor->watch)
                ledger_cache_give_watch(cursor->parts.ledgers, cursor->path);
        cursor->watch = zk_watch_free(cursor->watch);
}

void ledger_cursor_reset(LedgerCursor *cursor) {
        ledger_cursor_stop(cursor);
        ledger_cursor_unwatch(cursor);
        cursor->crowded_out = false;
}

void ledger_cursor_stop(LedgerCursor *cursor) {
        cursor->call = zk_call_free(cursor->call);
}

bool ledger_cursor_is_watching(const LedgerCursor *cursor) {
        return cursor->watch;
}

bool ledger_cursor_is_crowded_out(const LedgerCursor *cursor) {
        return cursor->crowded_out;
}

const Ledger *ledger_cursor_ledger(const LedgerCursor *cursor) {
        return ledger_cache_get(cursor->parts.ledgers, cursor->job, NULL);
}

void ledger_cursor_forget(LedgerCursor *cursor) {
        ledger_cache_forget(cursor->parts.ledgers, cursor->job);
}

const char *ledger_cursor_fault(const LedgerCursor *cursor) {
        return cursor->fault;
}

static void ledger_cursor_tell(LedgerCursor *cursor, LedgerCursorEvent event) {
        cursor->func(event, cursor->userdata);
}

static void ledger_cursor_on_changed(ZkWatchEvent event, const char *path, void *userdata) {
        LedgerCursor *cursor = userdata;

        ledger_cursor_unwatch(cursor);
        ledger_cursor_tell(cursor, LEDGER_CURSOR_CHANGED);
}

static void ledger_cursor_unreadable(LedgerCursor *cursor) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = cursor->job};

        if (!cursor->fault)
                log_error(&about,
                          "%s: not a ledger of jobkeeper; the job is not run until it is repaired "
                          "or deleted",
                          cursor->path);
        g_free(cursor->fault);
        cursor->fault = g_strdup_printf("%s: not a ledger of jobkeeper", cursor->path);
        ledger_cursor_forget(cursor);
        ledger_cursor_tell(cursor, LEDGER_CURSOR_UNREADABLE);
}

static bool ledger_cursor_is_untracked(const LedgerCursor *cursor, const LedgerEntry *entry) {
        g_autofree char *key = run_key(cursor->job, entry->run);

        return entry->state == RUN_CLAIMED &&
               g_strcmp0(entry->node, cursor->parts.node->config->node_name) == 0 &&
               !runs_knows(cursor->parts.runs, key);
}

/* Whatever the ledger says we run must be known to us. What is not was claimed by a transaction
 * that we took for lost, and would stand in the way of every tick to come. */
static void ledger_cursor_look_for_untracked(LedgerCursor *cursor, const Ledger *ledger) {
        g_autoptr(GHashTable) before = g_steal_pointer(&cursor->looked_for);
        bool is_new = false;

        cursor->looked_for = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                if (!ledger_cursor_is_untracked(cursor, entry))
                        continue;
                is_new |= !g_hash_table_contains(before, entry->run);
                g_hash_table_add(cursor->looked_for, g_strdup(entry->run));
        }
        if (is_new)
                recovery_check(cursor->parts.recovery);
}

static void ledger_cursor_refused(LedgerCursor *cursor, ZkCode code) {
        const LogAbout about = {.message_id = MESSAGE_REFUSED, .job = cursor->job};
        bool is_new = !cursor->fault;

        g_free(cursor->fault);
        cursor->fault =
            g_strdup_printf("%s: cannot be read: %s", cursor->path, zk_code_to_string(code));
        if (is_new)
                log_error(&about, "%s; the job is not run until it can be", cursor->fault);
        ledger_cursor_forget(cursor);
        ledger_cursor_tell(cursor, LEDGER_CURSOR_REFUSED);
}

static void ledger_cursor_failed(LedgerCursor *cursor, ZkCode code) {
        ledger_cursor_unwatch(cursor);
        if (code == ZK_NO_NODE) {
                g_clear_pointer(&cursor->fault, g_free);
                ledger_cursor_tell(cursor, LEDGER_CURSOR_ABSENT);
                return;
        }
        if (zk_code_is_refusal(code)) {
                ledger_cursor_refused(cursor, code);
                return;
        }
        ledger_cursor_forget(cursor);
        ledger_cursor_tell(cursor, code == ZK_CLOSED ? LEDGER_CURSOR_CLOSED : LEDGER_CURSOR_FAILED);
}

static void ledger_cursor_on_reply(const ZkReply *reply, void *userdata) {
        LedgerCursor *cursor = userdata;
        Ledger *ledger = NULL;

        cursor->call = NULL;
        if (reply->code != ZK_OK) {
                ledger_cursor_failed(cursor, reply->code);
                return;
        }
        if (ledger_decode(reply->data, reply->data_size, &ledger) < 0) {
                ledger_cursor_unreadable(cursor);
                return;
        }
        g_clear_pointer(&cursor->fault, g_free);
        ledger_cache_set(cursor->parts.ledgers, cursor->job, ledger, reply->stat.version);
        ledger_cursor_look_for_untracked(cursor, ledger);
        ledger_cursor_tell(cursor, LEDGER_CURSOR_READ);
}

static int ledger_cursor_ask(LedgerCursor *cursor, Zk *zk) {
        return zk_get(zk, cursor->path, ledger_cursor_on_reply, cursor, &cursor->call, NULL, NULL,
                      NULL);
}

/* Return: as ledger_cursor_read(); -ENOBUFS: there is no room for the watch. */
static int ledger_cursor_ask_and_watch(LedgerCursor *cursor, Zk *zk) {
        int r;

        if (!ledger_cache_take_watch(cursor->parts.ledgers, cursor->path))
                return -ENOBUFS;
        r = zk_get(zk, cursor->path, ledger_cursor_on_reply, cursor, &cursor->call,
                   ledger_cursor_on_changed, cursor, &cursor->watch);
        if (r < 0)
                ledger_cache_give_watch(cursor->parts.ledgers, cursor->path);
        return r;
}

int ledger_cursor_read(LedgerCursor *cursor, bool watch) {
        Zk *zk = node_zk(cursor->parts.node);
        int r;

        ledger_cursor_stop(cursor);
        if (watch)
                ledger_cursor_unwatch(cursor);
        cursor->crowded_out = false;
        if (!zk)
                return -ENOTCONN;
        r = watch ? ledger_cursor_ask_and_watch(cursor, zk) : -ENOBUFS;
        if (r != -ENOBUFS)
                return r;
        cursor->crowded_out = watch;
        return ledger_cursor_ask(cursor, zk);
}
