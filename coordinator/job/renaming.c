/* See renaming.h. */
#include "renaming.h"

#include <errno.h>
#include <string.h>

#include "control-pause.h"
#include "control.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "rename.h"
#include "withdrawal.h"
#include "zk-ops.h"

struct Renaming {
        const JobParts *parts;
        char *job;
        RenamingFunc func;
        void *userdata;

        JobSpec *spec;  /* for which it is looked */
        char *other;    /* the name at which it is looked: that which the job had, or has got */
        unsigned names; /* the latter: so many were looked at; 0: it is the former */
        ZkCall *call;   /* the read, or the write */
        ZkWatch *watch; /* with its room in the cache's books */
        char *watched;  /* its path */
        char *digest;   /* that goes on with what is being written; NULL: none does */
        char *fault;
        bool waits, may_come_back;
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
        renaming->waits = renaming->may_come_back = false;
        renaming->names = 0;
        g_clear_pointer(&renaming->other, g_free);
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

bool renaming_may_come_back(const Renaming *renaming) {
        return renaming->may_come_back;
}

const char *renaming_fault(const Renaming *renaming) {
        return renaming->fault;
}

static void renaming_tell(Renaming *renaming, RenamingEvent event) {
        renaming->func(event, renaming->userdata);
}

/* ---- the write ---- */

static void renaming_refused(Renaming *renaming, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_REFUSED, .job = renaming->job};

        renaming->fault =
            g_strdup_printf(renaming->names > 0 ? "it cannot go on again from \"%s\": %s"
                                                : "it cannot go on from \"%s\", which it was: %s",
                            renaming->other, why);
        log_error(&about, "%s; the job is not run until it can", renaming->fault);
        renaming_tell(renaming, RENAMING_REFUSED);
}

/* It now stands there as what we agree with: where our definition is another one, it is for us to
 * change it. */
static void renaming_written(Renaming *renaming) {
        const LogAbout about = {.message_id = MESSAGE_RENAMED, .job = renaming->job};

        if (renaming->digest)
                digest_memory_set(renaming->parts->digests, renaming->job, renaming->digest);
        if (renaming->names > 0)
                log_info(&about,
                         "the job goes on under this name again: no node has it as \"%s\" any more",
                         renaming->other);
        else
                log_info(&about, "the job goes on from \"%s\", which it was", renaming->other);
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

        if (control_pause_move(control, renaming->other, renaming->job,
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

static Ledger *renaming_next_own(const Renaming *renaming, const Ledger *own, const Ledger *old,
                                 int64_t now) {
        return renaming->names > 0
                   ? rename_next_back(own, old, renaming->other, renaming->spec, now)
                   : rename_next_own(own, old, renaming->spec, now);
}

static int renaming_write(Renaming *renaming, const Ledger *own, int32_t own_version,
                          const Ledger *old, int32_t old_version) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        _cleanup_(ledger_freep) Ledger *next = renaming_next_own(renaming, own, old, now),
                                       *left = rename_next_old(old, renaming->spec, now);

        renaming_remember(renaming, next, own_version);
        renaming_add_control(renaming, ops, strings);
        renaming_add_ledger(renaming, ops, strings, renaming->other, left, old_version);
        renaming_add_ledger(renaming, ops, strings, renaming->job, next, own_version);
        return zk_ops_send(ops, node_zk(renaming->parts->node), renaming_on_written, renaming,
                           &renaming->call);
}

/* ---- the look ---- */

static void renaming_on_old(const ZkReply *reply, void *userdata);

/* Looks at the ledger of the name that the job has got. It is not watched: it is written as often
 * as the job is run by that name. Return: 0, -ENOTCONN, negative errno. */
static int renaming_read_next(Renaming *renaming, const char *name) {
        Zk *zk = node_zk(renaming->parts->node);
        g_autofree char *path = path_job(renaming->parts->node->config->root, name);

        g_free(renaming->other);
        renaming->other = g_strdup(name);
        renaming->names++;
        return zk ? zk_get(zk, path, renaming_on_old, renaming, &renaming->call, NULL, NULL, NULL)
                  : -ENOTCONN;
}

static void renaming_follow(Renaming *renaming, const char *name) {
        int r = renaming_read_next(renaming, name);

        if (r < 0)
                renaming_tell(renaming, r == -ENOTCONN ? RENAMING_CLOSED : RENAMING_FAILED);
}

static void renaming_begin(Renaming *renaming, const Ledger *own, int32_t own_version,
                           const Ledger *old, int32_t old_version) {
        int r;

        renaming_tell(renaming, RENAMING_WRITES);
        r = renaming_write(renaming, own, own_version, old, old_version);
        if (r < 0)
                renaming_tell(renaming, r == -ENOTCONN ? RENAMING_CLOSED : RENAMING_FAILED);
}

/* Return: whether nobody who is there has that job, and whoever was away for a moment when somebody
 * lost it is there again. */
static bool renaming_is_absent(const Renaming *renaming, const Ledger *ledger) {
        const JobParts *parts = renaming->parts;
        const GPtrArray *members = members_list(parts->members);
        usec_t lost = (usec_t)ledger->withdrawn * USEC_PER_SEC,
               patience = withdrawal_patience(parts->node->config);

        if (!*ledger->digest) /* it was withdrawn for good, or has only just begun */
                return usec_add((usec_t)ledger->from * USEC_PER_SEC, patience) <= clock_realtime();
        if (!ledger->withdrawn || !members_registered(parts->members) ||
            usec_add(lost, patience) > clock_realtime())
                return false;
        for (guint i = 0; i < members->len; i++)
                if (!g_hash_table_contains(((const Member *)members->pdata[i])->absent,
                                           renaming->other))
                        return false;
        return true;
}

static Rename renaming_verdict(Renaming *renaming, const Ledger *own, const Ledger *old) {
        if (renaming->names == 0)
                return rename_judge(own, old, renaming->spec);
        renaming->may_come_back = old && (old->withdrawn || !*old->digest);
        return rename_judge_back(own, old, old && renaming_is_absent(renaming, old));
}

static void renaming_is_elsewhere(Renaming *renaming, const Ledger *own, const char *name) {
        /* It is the job itself that has left, and that may come back. */
        if (renaming->names == 0 && own && g_strcmp0(own->renamed, name) == 0) {
                renaming_follow(renaming, name);
                return;
        }
        renaming->fault =
            rename_left_text(renaming->names > 0 ? renaming->job : renaming->other, name);
        renaming_tell(renaming, RENAMING_ELSEWHERE);
}

static void renaming_judge(Renaming *renaming, const Ledger *own, int32_t own_version,
                           const Ledger *old, int32_t old_version) {
        const Rename rename = renaming_verdict(renaming, own, old);

        /* The end of a run of its own name is not told by the old one's ledger. */
        if (rename.verdict != RENAME_WAITS || !old || rename.run != ledger_first_claimed(old))
                renaming_unwatch(renaming);
        switch (rename.verdict) {
        case RENAME_NOTHING:
                renaming_tell(renaming, RENAMING_NOTHING);
                return;
        case RENAME_BEGINS:
        case RENAME_TAKES:
        case RENAME_BACK:
                renaming_begin(renaming, own, own_version, old, old_version);
                return;
        case RENAME_WAITS:
                renaming->waits = true;
                renaming->fault = g_strdup_printf("goes on from \"%s\" once run %s on %s is over",
                                                  renaming->other, rename.run->run,
                                                  rename.run->node ? rename.run->node : "?");
                renaming_tell(renaming, RENAMING_WAITS);
                return;
        case RENAME_ELSEWHERE:
                renaming_is_elsewhere(renaming, own, rename.name);
        }
}

static void renaming_take_both(Renaming *renaming, const Ledger *old, int32_t old_version) {
        int32_t own_version = -1;
        const Ledger *own = ledger_cache_get(renaming->parts->ledgers, renaming->job, &own_version);

        if (renaming->names > 0 && (!own || !own->renamed)) /* somebody wrote it meanwhile */
                renaming_tell(renaming, RENAMING_AGAIN);
        else
                renaming_judge(renaming, own, own_version, old, old_version);
}

/* Return: whether that leads further, and is not where it began. */
static bool renaming_leads_on(const Renaming *renaming, const Ledger *ledger) {
        return renaming->names > 0 && renaming->names < RENAME_NAMES_MAX && ledger &&
               ledger->renamed && strcmp(ledger->renamed, renaming->job) != 0;
}

/* Where it is not known what stands there, a job that has left stays where it has gone. */
static void renaming_cannot_be_read(Renaming *renaming, const char *why) {
        const Ledger *own = ledger_cache_get(renaming->parts->ledgers, renaming->job, NULL);

        renaming_unwatch(renaming);
        if (renaming->names > 0 && own && own->renamed)
                renaming_is_elsewhere(renaming, own, own->renamed);
        else
                renaming_refused(renaming, why);
}

static void renaming_on_old(const ZkReply *reply, void *userdata) {
        Renaming *renaming = userdata;
        _cleanup_(ledger_freep) Ledger *old = NULL;

        renaming->call = NULL;
        if (reply->code == ZK_OK && ledger_decode(reply->data, reply->data_size, &old) < 0) {
                renaming_cannot_be_read(renaming, "its ledger cannot be read");
        } else if (renaming_leads_on(renaming, old)) {
                renaming_follow(renaming, old->renamed);
        } else if (reply->code == ZK_OK || reply->code == ZK_NO_NODE) {
                renaming_take_both(renaming, old, old ? reply->stat.version : -1);
        } else if (zk_code_is_refusal(reply->code)) {
                renaming_cannot_be_read(renaming, zk_code_to_string(reply->code));
        } else {
                renaming_unwatch(renaming);
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
        renaming->other = g_strdup(spec->books.was.job);
        path = path_job(renaming->parts->node->config->root, renaming->other);
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

int renaming_look_back(Renaming *renaming, const JobSpec *spec, const char *renamed) {
        JobSpec *taken = job_spec_ref(spec);

        renaming_reset(renaming);
        renaming->spec = taken;
        return renaming_read_next(renaming, renamed);
}
