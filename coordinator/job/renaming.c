/* See renaming.h. */
#include "renaming.h"

#include <errno.h>

#include "control-pause.h"
#include "control.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "rename.h"
#include "zk-ops.h"

struct Renaming {
        const JobParts *parts;
        char *job;
        RenamingFunc func;
        void *userdata;

        JobSpec *spec;  /* for which it is looked */
        ZkCall *call;   /* the read, or the write */
        ZkWatch *watch; /* with its room in the cache's books */
        char *watched;  /* its path */
        char *digest;   /* that goes on with what is being written; NULL: none does */
        char *fault;
        bool waits;
};

Renaming *renaming_new(const JobParts *parts, const char *job, RenamingFunc func, void *userdata) {
        Renaming *renaming = g_new0(Renaming, 1);

        renaming->parts = parts;
        renaming->job = g_strdup(job);
        renaming->func = func;
        renaming->userdata = userdata;
        return renaming;
}

static void renaming_unwatch(Renaming *renaming) {
        if (renaming->watch)
                ledger_cache_give_watch(renaming->parts->ledgers, renaming->watched);
        renaming->watch = zk_watch_free(renaming->watch);
        g_clear_pointer(&renaming->watched, g_free);
}

void renaming_reset(Renaming *renaming) {
        renaming->call = zk_call_free(renaming->call);
        renaming_unwatch(renaming);
        renaming->spec = job_spec_free(renaming->spec);
        renaming->waits = false;
        g_clear_pointer(&renaming->digest, g_free);
        g_clear_pointer(&renaming->fault, g_free);
}

void renaming_stop(Renaming *renaming) {
        renaming->call = zk_call_free(renaming->call);
}

Renaming *renaming_free(Renaming *renaming) {
        if (!renaming)
                return NULL;
        renaming_reset(renaming);
        g_free(renaming->job);
        g_free(renaming);
        return NULL;
}

bool renaming_is_watching(const Renaming *renaming) {
        return renaming->watch;
}

bool renaming_waits(const Renaming *renaming) {
        return renaming->waits;
}

const char *renaming_fault(const Renaming *renaming) {
        return renaming->fault;
}

static void renaming_tell(Renaming *renaming, RenamingEvent event) {
        renaming->func(event, renaming->userdata);
}

static const char *renaming_was(const Renaming *renaming) {
        return renaming->spec->books.was.job;
}

/* ---- the write ---- */

static void renaming_refused(Renaming *renaming, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_REFUSED, .job = renaming->job};

        renaming->fault = g_strdup_printf("it cannot go on from \"%s\", which it was: %s",
                                          renaming_was(renaming), why);
        log_error(&about, "%s; the job is not run until it can", renaming->fault);
        renaming_tell(renaming, RENAMING_REFUSED);
}

/* It now stands there as what we agree with: where our definition is another one, it is for us to
 * change it. */
static void renaming_written(Renaming *renaming) {
        const LogAbout about = {.message_id = MESSAGE_RENAMED, .job = renaming->job};

        if (renaming->digest)
                digest_memory_set(renaming->parts->digests, renaming->job, renaming->digest);
        log_info(&about, "the job goes on from \"%s\", which it was", renaming_was(renaming));
        renaming_tell(renaming, RENAMING_AGAIN);
}

static void renaming_on_written(const ZkReply *reply, void *userdata) {
        Renaming *renaming = userdata;

        renaming->call = NULL;
        switch (reply->code) {
        case ZK_OK:
                renaming_written(renaming);
                return;
        case ZK_BAD_VERSION:
        case ZK_NODE_EXISTS:
                tree_control_is_stale(renaming->parts->tree);
                renaming_tell(renaming, RENAMING_AGAIN);
                return;
        case ZK_CLOSED:
                renaming_tell(renaming, RENAMING_CLOSED);
                return;
        case ZK_NO_NODE:
                tree_repair(renaming->parts->tree);
                renaming_tell(renaming, RENAMING_FAILED);
                return;
        default:
                if (zk_code_is_refusal(reply->code))
                        renaming_refused(renaming, zk_code_to_string(reply->code));
                else
                        renaming_tell(renaming, RENAMING_FAILED);
        }
}

/* What a ledger becomes, at the version that was read; -1: there is none. */
static void renaming_add_ledger(const Renaming *renaming, GArray *ops, GPtrArray *strings,
                                const char *job, const Ledger *ledger, int32_t version) {
        const char *root = renaming->parts->node->config->root;
        char *path = path_job(root, job), *runs = path_runs(root, job),
             *data = ledger_encode(ledger);

        g_ptr_array_add(strings, path);
        g_ptr_array_add(strings, runs);
        g_ptr_array_add(strings, data);
        zk_ops_add(ops, version < 0 ? ZK_OP_CREATE : ZK_OP_SET, path, data, version);
        if (version < 0)
                zk_ops_add(ops, ZK_OP_CREATE, runs, "", 0);
}

static void renaming_add_control(const Renaming *renaming, GArray *ops, GPtrArray *strings) {
        Tree *tree = renaming->parts->tree;
        json_t *control = json_deep_copy(drain_view_control(tree_drain_view(tree)));
        char *path = path_control(renaming->parts->node->config->root), *data = NULL;

        if (control_pause_move(control, renaming_was(renaming), renaming->job,
                               node_server_time(renaming->parts->node)))
                data = control_encode(control);
        json_decref(control);
        g_ptr_array_add(strings, path);
        g_ptr_array_add(strings, data);
        zk_ops_add(ops, data ? ZK_OP_SET : ZK_OP_CHECK, path, data, tree_control_version(tree));
}

/* Who comes after this process, or after a lost answer, knows that it was ours. */
static void renaming_remember(Renaming *renaming, const Ledger *next, int32_t version) {
        g_free(renaming->digest);
        renaming->digest = *next->digest ? g_strdup(next->digest) : NULL;
        if (renaming->digest)
                (void)digest_memory_set_sent(renaming->parts->digests, renaming->job,
                                             renaming->digest, version);
}

static int renaming_write(Renaming *renaming, const Ledger *own, int32_t own_version,
                          const Ledger *old, int32_t old_version) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        _cleanup_(ledger_freep) Ledger *next = rename_next_own(own, old, renaming->spec, now),
                                       *left = rename_next_old(old, renaming->spec, now);

        renaming_remember(renaming, next, own_version);
        renaming_add_control(renaming, ops, strings);
        renaming_add_ledger(renaming, ops, strings, renaming_was(renaming), left, old_version);
        renaming_add_ledger(renaming, ops, strings, renaming->job, next, own_version);
        return zk_ops_send(ops, node_zk(renaming->parts->node), renaming_on_written, renaming,
                           &renaming->call);
}

/* ---- the look ---- */

static void renaming_begin(Renaming *renaming, const Ledger *own, int32_t own_version,
                           const Ledger *old, int32_t old_version) {
        int r;

        renaming_tell(renaming, RENAMING_WRITES);
        r = renaming_write(renaming, own, own_version, old, old_version);
        if (r < 0)
                renaming_tell(renaming, r == -ENOTCONN ? RENAMING_CLOSED : RENAMING_FAILED);
}

static void renaming_judge(Renaming *renaming, const Ledger *old, int32_t old_version) {
        int32_t own_version = -1;
        const Ledger *own = ledger_cache_get(renaming->parts->ledgers, renaming->job, &own_version);
        const Rename rename = rename_judge(own, old, renaming->spec);

        /* The end of a run of its own name is not told by the old one's ledger. */
        if (rename.verdict != RENAME_WAITS || !old || rename.run != ledger_first_claimed(old))
                renaming_unwatch(renaming);
        switch (rename.verdict) {
        case RENAME_NOTHING:
                renaming_tell(renaming, RENAMING_NOTHING);
                return;
        case RENAME_BEGINS:
        case RENAME_TAKES:
                renaming_begin(renaming, own, own_version, old, old_version);
                return;
        case RENAME_WAITS:
                renaming->waits = true;
                renaming->fault = g_strdup_printf("goes on from \"%s\" once run %s on %s is over",
                                                  renaming_was(renaming), rename.run->run,
                                                  rename.run->node ? rename.run->node : "?");
                renaming_tell(renaming, RENAMING_WAITS);
                return;
        case RENAME_ELSEWHERE:
                renaming->fault = rename_left_text(renaming_was(renaming), rename.name);
                renaming_tell(renaming, RENAMING_ELSEWHERE);
        }
}

static void renaming_on_old(const ZkReply *reply, void *userdata) {
        Renaming *renaming = userdata;
        _cleanup_(ledger_freep) Ledger *old = NULL;

        renaming->call = NULL;
        if (reply->code == ZK_OK && ledger_decode(reply->data, reply->data_size, &old) < 0) {
                renaming_unwatch(renaming);
                renaming_refused(renaming, "its ledger cannot be read");
        } else if (reply->code == ZK_OK || reply->code == ZK_NO_NODE) {
                renaming_judge(renaming, old, old ? reply->stat.version : -1);
        } else {
                renaming_unwatch(renaming);
                if (zk_code_is_refusal(reply->code))
                        renaming_refused(renaming, zk_code_to_string(reply->code));
                else
                        renaming_tell(renaming,
                                      reply->code == ZK_CLOSED ? RENAMING_CLOSED : RENAMING_FAILED);
        }
}

static void renaming_on_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Renaming *renaming = userdata;

        renaming_unwatch(renaming);
        renaming_tell(renaming, RENAMING_CHANGED);
}

int renaming_look(Renaming *renaming, const JobSpec *spec) {
        Zk *zk = node_zk(renaming->parts->node);
        JobSpec *taken = job_spec_ref(spec);
        g_autofree char *path = NULL;
        int r;

        renaming_reset(renaming);
        renaming->spec = taken;
        path = path_job(renaming->parts->node->config->root, renaming_was(renaming));
        if (!zk)
                return -ENOTCONN;
        if (!ledger_cache_take_watch(renaming->parts->ledgers, path))
                return zk_get(zk, path, renaming_on_old, renaming, &renaming->call, NULL, NULL,
                              NULL);
        r = zk_get(zk, path, renaming_on_old, renaming, &renaming->call, renaming_on_changed,
                   renaming, &renaming->watch);
        if (r < 0)
                ledger_cache_give_watch(renaming->parts->ledgers, path);
        else
                renaming->watched = g_steal_pointer(&path);
        return r;
}
