/* The writes to a job's ledger that are not claims or settles: making it, putting another
 * definition in force, skips, refused requests, repair. Every one is a transaction that names the
 * version it was decided on. */
#include <errno.h>
#include <string.h>

#include "digest-memory.h"
#include "log.h"
#include "member.h"
#include "members.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "prune.h"
#include "resource.h"
#include "run-places.h"
#include "scheduled-job-internal.h"
#include "skip-record.h"
#include "tree.h"
#include "zk-ops.h"
#include "zones.h"

static void forget_write(ScheduledJob *job) {
        job->next_ledger = ledger_free(job->next_ledger);
        g_clear_pointer(&job->remember, g_free);
        g_clear_pointer(&job->write_note, g_free);
        g_clear_pointer(&job->write_note_id, g_free);
        job->write_note_tick = 0;
        job->reread = false;
}

/* Is the refused request gone? Otherwise it is refused again. */
static void note_refusal(ScheduledJob *job, ZkCode code) {
        if (job->refused && (code == ZK_OK || code == ZK_NO_NODE || code == ZK_NODE_EXISTS))
                scheduled_job_drop_request(job, job->refused);
        g_clear_pointer(&job->refused, g_free);
}

static void write_succeeded(ScheduledJob *job, const ZkReply *reply) {
        const LogAbout about = {
            .message_id = job->write_note_id, .job = job->name, .tick = job->write_note_tick};
        int32_t version =
            job->ledger_op < reply->n_results ? reply->results[job->ledger_op].stat.version : 0;

        if (job->next_ledger)
                scheduled_job_set_ledger(job, g_steal_pointer(&job->next_ledger), version);
        if (job->reread)
                scheduled_job_forget_ledger(job);
        if (job->remember)
                digest_memory_set(job->coordinator->digests, job->name, job->remember);
        if (job->write_note)
                log_info(&about, "%s", job->write_note);
        if (g_strcmp0(job->write_note_id, MESSAGE_TICK_SKIPPED) ==
            0) /* so there is a record of it */
                pruner_note(job->coordinator->pruner, job->name);
}

static void on_written(const ZkReply *reply, void *userdata) {
        ScheduledJob *job = userdata;

        job->write_call = NULL;
        if (reply->code == ZK_OK)
                write_succeeded(job, reply);
        forget_write(job);
        note_refusal(job, reply->code);
        job->overwrite_records = reply->code == ZK_NODE_EXISTS;
        job->remake_records = reply->code == ZK_NO_NODE;
        job->one_skip_at_a_time = job->overwrite_records || job->remake_records ||
                                  (job->one_skip_at_a_time && reply->code != ZK_OK);
        if (reply->code == ZK_NO_NODE)
                tree_repair(job->coordinator->tree);
        scheduled_job_write_done(job, reply->code);
}

/* Sends the transaction. `next` (taken over) is the ledger as it will be; its operation is the one
 * at `ledger_op`. */
static void write_ops(ScheduledJob *job, GArray *ops, Ledger *next, guint ledger_op) {
        int r;

        ledger_free(job->next_ledger);
        job->next_ledger = next;
        job->ledger_op = ledger_op;
        job->operation = JOB_OPERATION_WRITING;
        r = zk_ops_send(ops, node_zk(job->coordinator->node), on_written, job, &job->write_call);
        if (r < 0) {
                forget_write(job);
                scheduled_job_write_done(job, r == -ENOTCONN ? ZK_CLOSED : ZK_FAULT);
        }
}

/* ---- skips ---- */

/* What was missed because its locks cannot be had was not missed for want of a node. */
static const char *why_of(const ScheduledJob *job, const DecisionSkip *skip) {
        if (!g_str_has_prefix(skip->why, "missed"))
                return skip->why;
        if (job->lock_fault)
                return "missed: its locks could not be had";
        if (run_places_waits(job->coordinator->places, job->name))
                return "missed: max-runs was reached on the nodes whose turn it was";
        return skip->why;
}

/* Appends the operation that writes one skip's record; its strings are kept in `strings`. */
static void add_skip(ScheduledJob *job, const Schedule *schedule, GArray *ops, GPtrArray *strings,
                     Ledger *next, const DecisionSkip *skip) {
        const LedgerEntry *entry = NULL;
        bool joined = false;
        char *path, *data;

        if (ledger_skip(next, schedule, skip->from, skip->to, skip->count, why_of(job, skip),
                        &entry, &joined) < 0)
                return;
        path = path_run(job->coordinator->config->root, job->name, entry->run);
        data = skip_record_encode(job->coordinator->config->node_name, job->name, entry);
        g_ptr_array_add(strings, path);
        g_ptr_array_add(strings, data);
        zk_ops_add(ops,
                   job->overwrite_records || (joined && !job->remake_records) ? ZK_OP_SET
                                                                              : ZK_OP_CREATE,
                   path, data, -1);
}

static void write_skips(ScheduledJob *job, const Schedule *schedule, const DecisionSkip *skips,
                        size_t n) {
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) strings = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *control = path_control(job->coordinator->config->root);
        Ledger *next = ledger_copy(scheduled_job_ledger(job));

        /* Some of the records may exist already (the ledger was deleted and they were not), or not
         * any more: one by one, each is made or written over. */
        if (job->one_skip_at_a_time)
                n = MIN(n, 1);
        zk_ops_add(ops, ZK_OP_CHECK, control, NULL, tree_control_version(job->coordinator->tree));
        for (size_t i = 0; i < n; i++)
                add_skip(job, schedule, ops, strings, next, &skips[i]);
        if (ops->len == 1) { /* full, and of runs under way: one of them has to end first */
                ledger_free(next);
                forget_write(job);
                scheduled_job_write_done(job, ZK_FAULT);
                return;
        }
        ledger_compact(next, schedule);
        g_ptr_array_add(strings, ledger_encode(next));
        zk_ops_add(ops, ZK_OP_SET, job->path, strings->pdata[strings->len - 1],
                   scheduled_job_ledger_version(job));
        job->write_note = skips_note(skips, n);
        job->write_note_tick = skips[0].from;
        job->write_note_id = g_strdup(MESSAGE_TICK_SKIPPED);
        write_ops(job, ops, next, ops->len - 1);
}

void job_ledger_write_skips(ScheduledJob *job, const DecisionSkip *skips, size_t n) {
        write_skips(job, job->spec->schedule, skips, n);
}

/* What the definition in force still owes up to `until` would be owed by nobody under another one.
 * Return: whether that has to be written first; then the ledger is read again. */
static bool skip_what_is_owed(ScheduledJob *job, int64_t until) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        DecisionSkip skips[DECISION_SKIPS_MAX];
        size_t n;

        if (ledger_schedule(scheduled_job_ledger(job), &schedule) < 0)
                return false;
        n = owed_skips(scheduled_job_ledger(job), schedule, until,
                       "its definition changed while it waited", skips);
        if (n == 0)
                return false;
        job->reread = true;
        write_skips(job, schedule, skips, n);
        return true;
}

/* ---- the definition in force ---- */

/* What this node remembers of a job: its definition's digest and, where the schedule has time
 * zones, what they were when the ledger had the same. */
static char *memory_of(const ScheduledJob *job, const Ledger *ledger, const char *digest) {
        g_autofree char *zones = zones_to_remember(ledger, job->spec->schedule);

        return g_strconcat(digest, *zones ? " " : "", zones, NULL);
}

static const char *remembered_zones(const ScheduledJob *job) {
        const char *remembered = digest_memory_get(job->coordinator->digests, job->name);
        const char *space = remembered ? strchr(remembered, ' ') : NULL;

        return space ? space + 1 : NULL;
}

static bool remembers_digest(const char *remembered, const char *digest) {
        size_t length = strlen(digest);

        return strncmp(remembered, digest, length) == 0 &&
               (remembered[length] == '\0' || remembered[length] == ' ');
}

static void put_in_force(ScheduledJob *job, Ledger *ledger, const char *digest, int64_t now) {
        ledger_set_schedule(ledger, job->spec->schedule);
        ledger_set_zones(ledger, job->spec->schedule, now);
        g_free(job->remember);
        job->remember = memory_of(job, ledger, digest);
}

void job_ledger_create(ScheduledJob *job) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *digest = job_spec_digest(job->spec, job->coordinator->config),
                        *data = NULL;
        g_autofree char *runs = path_runs(job->coordinator->config->root, job->name);
        Ledger *ledger = ledger_new(now, digest);

        put_in_force(job, ledger, digest, now);
        data = ledger_encode(ledger);
        zk_ops_add(ops, ZK_OP_CREATE, job->path, data, 0);
        zk_ops_add(ops, ZK_OP_CREATE, runs, "", 0);
        /* A create's result carries no version: it is 0, which write_succeeded() takes for a
         * missing one. */
        write_ops(job, ops, ledger, UINT32_MAX);
}

void job_ledger_create_runs(ScheduledJob *job) {
        g_autofree char *runs = path_runs(job->coordinator->config->root, job->name);

        (void)zk_create(node_zk(job->coordinator->node), runs, "", 0, NULL, NULL, NULL);
}

/* How many slots a resource has stands in its directory, and whoever means another number is
 * refused: it changes with the definition. A directory that is missing gets its number with the
 * first contender. Whoever writes the ledger after this has these requests before it in the
 * session's order, so nothing of it is lost when the ledger's write is not. */
static void change_slots(const ScheduledJob *job) {
        const Coordinator *coordinator = job->coordinator;

        for (guint i = 0; session_zk(coordinator->session) && i < job->spec->resources->len; i++) {
                const JobResource *resource = job->spec->resources->pdata[i];
                g_autofree char *directory =
                    resource_directory(coordinator->config, resource->name);
                LockRequest request = {0};

                resource_request_of_job(coordinator->config, resource, &request);
                if (request.slots > 1)
                        (void)lock_change_slots(coordinator->session, directory, request.slots,
                                                NULL, NULL);
        }
}

static void adopt(ScheduledJob *job) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *digest = job_spec_digest(job->spec, job->coordinator->config),
                        *data = NULL;
        Ledger *next;

        /* Of a job that was withdrawn for good nothing is owed. */
        if (*scheduled_job_ledger(job)->digest && skip_what_is_owed(job, now))
                return;
        next = ledger_copy(scheduled_job_ledger(job));
        ledger_adopt_digest(next, digest, now);
        put_in_force(job, next, digest, now);
        data = ledger_encode(next);
        zk_ops_add(ops, ZK_OP_SET, job->path, data, scheduled_job_ledger_version(job));
        job->write_note =
            g_strdup("the job's definition changed: the new one is in force from now on");
        job->write_note_id = g_strdup(MESSAGE_RELOADED);
        change_slots(job);
        write_ops(job, ops, next, 0);
}

/* `why` NULL: it is not. */
static void set_drifted(ScheduledJob *job, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_JOB_DRIFTED, .job = job->name};

        if (job->drifted == !!why)
                return;
        job->drifted = why;
        registration_set_drifted(job->coordinator->registration, job->name, why);
        if (why)
                log_warning(
                    &about,
                    "%s: this node neither starts nor skips ticks of the job until they agree",
                    why);
        else
                log_info(&about, "this node's definition is the one in force again");
        registration_publish(job->coordinator->registration);
}

/* Return: whether no member that may run the job has the definition in force, and we are the first
 * of them: a fleet that was set up anew beside an old ledger. */
static bool is_first_of_all_drifted(const ScheduledJob *job) {
        const GPtrArray *members = members_list(job->coordinator->members);
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];
                if (!job_spec_matches_node(job->spec, member->node, member->labels))
                        continue;
                if (!member_is_drifted(member, job->name))
                        return false;
                g_ptr_array_add(names, member->node);
        }
        g_ptr_array_add(names, NULL);
        return placement_rank(job->name, (const char *const *)names->pdata,
                              job->coordinator->config->node_name) == 0;
}

static void on_resumed(const ZkReply *reply, void *userdata) {
        ScheduledJob *job = userdata;

        job->resume_call = NULL;
        /* Otherwise whoever writes next reads it again. */
        if (reply->code == ZK_OK && scheduled_job_ledger(job) &&
            scheduled_job_ledger_version(job) + 1 == reply->stat.version)
                ledger_cache_rewritten(job->coordinator->ledgers, job->name, reply->stat.version);
}

/* Another node's files lost the job, ours have it as it was: it goes on, and so does what is under
 * way, such as queueing for a tick that waits. */
static void resume(ScheduledJob *job, Ledger *ledger) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED, .job = job->name};
        g_autofree char *data = NULL;

        ledger_resume(ledger);
        data = ledger_encode(ledger);
        job->resume_call = zk_call_free(job->resume_call);
        (void)zk_set(node_zk(job->coordinator->node), job->path, data,
                     scheduled_job_ledger_version(job), on_resumed, job, &job->resume_call);
        log_info(&about,
                 "another node no longer has the job, but this node does: it stays in force");
}

/* Has our own file changed since we last agreed, so that it is for us to change the ledger? Without
 * a memory only the one node of a cluster may say so, or the first where all are drifted. A job
 * that was withdrawn for good is anybody's. */
static bool is_ours_to_change(const ScheduledJob *job, const char *own) {
        const char *remembered = digest_memory_get(job->coordinator->digests, job->name);
        const GPtrArray *members = members_list(job->coordinator->members);

        if (*scheduled_job_ledger(job)->digest == '\0')
                return true;
        if (remembered)
                return !remembers_digest(remembered, own);
        return members->len == 1 || is_first_of_all_drifted(job);
}

/* The definition is the same, and what this machine knows of its time zones is new. Nothing else
 * changes: what is owed stays owed. */
static void adopt_zones(ScheduledJob *job) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autoptr(GArray) ops = zk_ops_new();
        Ledger *next = ledger_copy(scheduled_job_ledger(job));
        g_autofree char *data = NULL;

        put_in_force(job, next, next->digest, now);
        data = ledger_encode(next);
        zk_ops_add(ops, ZK_OP_SET, job->path, data, scheduled_job_ledger_version(job));
        job->write_note = g_strdup("this node's time zone data changed: they are in force for the "
                                   "job's schedule from now on");
        job->write_note_id = g_strdup(MESSAGE_RELOADED);
        write_ops(job, ops, next, 0);
}

/* The zones in force are not ours any more: they are changed, or the job is drifted. */
static void part_with_zones(ScheduledJob *job, ZonesVerdict verdict) {
        if (verdict == ZONES_OURS || is_first_of_all_drifted(job)) {
                if (scheduled_job_clock_is_known(job)) {
                        set_drifted(job, NULL);
                        adopt_zones(job);
                }
                return;
        }
        set_drifted(job, "this node's time zone data differ from those in force in the cluster; "
                         "update them and restart jobkeeperd");
}

/* The ledger has our definition. What a version before this one, or a long time ago, left of it is
 * put right with the next write. */
static void agree(ScheduledJob *job, ZonesVerdict verdict, int64_t now) {
        Ledger *ledger = ledger_copy(scheduled_job_ledger(job));
        g_autofree char *memory = memory_of(job, ledger, ledger->digest);

        set_drifted(job, NULL);
        if (ledger->withdrawn)
                resume(job, ledger);
        digest_memory_set(job->coordinator->digests, job->name, memory);
        if (!ledger->schedule)
                ledger_set_schedule(ledger, job->spec->schedule);
        if (verdict == ZONES_AGREE && (!ledger->zones || now - ledger->zones_from > ZONES_AGE_MAX))
                ledger_set_zones(ledger, job->spec->schedule, now);
        scheduled_job_set_ledger(job, ledger, scheduled_job_ledger_version(job));
}

/* Return: whether it is in force as far as it matters today. */
static bool check_zones(ScheduledJob *job) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        ZonesVerdict verdict =
            zones_judge(scheduled_job_ledger(job), job->spec->schedule, remembered_zones(job), now);

        if (verdict != ZONES_AGREE && verdict != ZONES_LATER) {
                part_with_zones(job, verdict);
                return false;
        }
        agree(job, verdict, now);
        return true;
}

bool job_ledger_check_digest(ScheduledJob *job) {
        g_autofree char *own = job_spec_digest(job->spec, job->coordinator->config);

        if (strcmp(own, scheduled_job_ledger(job)->digest) == 0)
                return check_zones(job);
        if (!is_ours_to_change(job, own)) {
                set_drifted(job,
                            "this node's definition differs from the one in force in the cluster");
        } else if (scheduled_job_clock_is_known(job)) {
                set_drifted(job, NULL);
                adopt(job);
        }
        return false;
}

/* ---- refused requests ---- */

void job_ledger_refuse_request(ScheduledJob *job, const JobRequest *request, const char *why) {
        const char *root = job->coordinator->config->root;
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *record_path = path_run(root, job->name, request->id),
                        *request_path = path_request(root, request->id);
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(job->name, request->id);
        g_autofree char *data = NULL;

        record->state = RUN_SKIPPED;
        record->why = g_strdup(why);
        record->who = g_strdup(request->who);
        record->node = g_strdup(job->coordinator->config->node_name);
        record->ended = clock_realtime();
        data = run_record_encode(record);
        zk_ops_add(ops, ZK_OP_DELETE, request_path, NULL, -1);
        zk_ops_add(ops, ZK_OP_CREATE, record_path, data, 0);
        job->write_note = g_strdup_printf("manual run %s skipped: %s", request->id, why);
        job->write_note_id = g_strdup(MESSAGE_TICK_SKIPPED);
        g_free(job->refused);
        job->refused = g_strdup(request->id);
        write_ops(job, ops, NULL, UINT32_MAX);
}

/* ---- repair ---- */

static void on_found(const ZkReply *reply, void *userdata) {
        ScheduledJob *job = userdata;
        g_autoptr(GArray) ops = zk_ops_new();
        _cleanup_(run_record_freep) RunRecord *found = NULL;
        g_autofree char *data = NULL;
        Ledger *next;

        job->write_call = NULL;
        if (reply->code != ZK_OK || run_record_decode(reply->data, reply->data_size, &found) < 0 ||
            !scheduled_job_ledger(job)) {
                scheduled_job_write_done(job, reply->code == ZK_OK ? ZK_FAULT : reply->code);
                return;
        }
        next = ledger_copy(scheduled_job_ledger(job));
        (void)ledger_claim(next, found);
        if (run_state_is_final(found->state))
                (void)ledger_settle(next, found, job->spec->schedule);
        data = ledger_encode(next);
        zk_ops_add(ops, ZK_OP_SET, job->path, data, scheduled_job_ledger_version(job));
        job->write_note = g_strdup_printf(
            "run %s has a record but no entry in the ledger, adding it", found->run);
        job->write_note_id = g_strdup(MESSAGE_FOREIGN_DATA);
        write_ops(job, ops, next, 0);
}

void job_ledger_repair(ScheduledJob *job, const char *run) {
        g_autofree char *path = path_run(job->coordinator->config->root, job->name, run);
        Zk *zk = node_zk(job->coordinator->node);

        job->operation = JOB_OPERATION_WRITING;
        if (!zk || zk_get(zk, path, on_found, job, &job->write_call, NULL, NULL, NULL) < 0)
                scheduled_job_write_done(job, ZK_CLOSED);
}
