/* Status: what this node knows, and the ledgers of all jobs, read in one flight. */
#include "answer.h"
#include "bus-interface.h"
#include "json-line.h"
#include "ledger.h"
#include "leftovers.h"
#include "member.h"
#include "members.h"
#include "paths.h"
#include "run.h"
#include "scheduled-job.h"
#include "tree.h"

static const char *session_word(const Coordinator *coordinator) {
        switch (session_state(coordinator->session)) {
        case SESSION_CONNECTED:
                return "connected";
        case SESSION_SUSPENDED:
                return "suspended";
        case SESSION_CONNECTING:
        case SESSION_CLOSED:
                break;
        }
        return "connecting";
}

/* The one thing, if any, that keeps this node from claiming. */
static const char *session_fault_word(const Coordinator *coordinator) {
        if (*session_fault(coordinator->session))
                return session_fault(coordinator->session);
        if (*tree_fault(coordinator->tree))
                return tree_fault(coordinator->tree);
        if (leftovers_busy(coordinator->leftovers))
                return leftovers_busy(coordinator->leftovers);
        return members_fault(coordinator->members);
}

static json_t *session_to_json(const Coordinator *coordinator) {
        json_t *object = json_object();
        Zk *zk = session_zk(coordinator->session);
        usec_t now = clock_boottime(), until = session_held_until(coordinator->session);
        g_autofree char *id =
            g_strdup_printf("0x%" G_GINT64_MODIFIER "x", session_id(coordinator->session));

        json_object_set_new(object, "state", json_string(session_word(coordinator)));
        json_object_set_new(object, "id", json_string(id));
        json_object_set_new(object, "server", json_string(zk ? zk_server(zk) : ""));
        json_object_set_new(
            object, "timeout",
            seconds_to_json(zk ? zk_timeout(zk) : coordinator->config->session_timeout));
        json_object_set_new(object, "held_for", seconds_to_json(until > now ? until - now : 0));
        json_object_set_new(object, "fault", json_string(session_fault_word(coordinator)));
        return object;
}

static json_t *clock_to_json(const Coordinator *coordinator) {
        json_t *object = json_object();
        const ClockSkew *skew = &coordinator->node->skew;

        json_object_set_new(object, "skew",
                            skew->measured ? json_real((double)skew->skew / (double)USEC_PER_SEC)
                                           : json_null());
        json_object_set_new(object, "skewed",
                            json_boolean(clock_skew_exceeds(skew, coordinator->config->max_skew)));
        return object;
}

static json_t *members_to_json(const Coordinator *coordinator) {
        const GPtrArray *members = members_list(coordinator->members);
        json_t *array = json_array();

        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];
                json_t *object = json_object();
                json_object_set_new(object, "node", json_string(member->node));
                json_object_set_new(object, "labels", member_strings_to_json(member->labels));
                json_object_set_new(
                    object, "self",
                    json_boolean(g_str_equal(member->node, coordinator->config->node_name)));
                json_object_set_new(object, "skewed", json_boolean(member->skewed));
                json_object_set_new(object, "unfit", member_strings_to_json(member->unfit));
                json_object_set_new(object, "drifted", member_set_to_json(member->drifted));
                json_object_set_new(object, "absent", member_set_to_json(member->absent));
                /* Of so many it says no names. */
                json_object_set_new(object, "unnamed", json_integer(member->numbers->len));
                json_object_set_new(object, "version",
                                    json_string(member->version ? member->version : ""));
                json_array_append_new(array, object);
        }
        return array;
}

static json_t *running_to_json(const Coordinator *coordinator, const char *job,
                               const Ledger *ledger) {
        json_t *array = json_array();

        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                _cleanup_(run_record_freep) RunRecord *record = NULL;
                g_autofree char *key = run_key(job, entry->run);
                if (entry->state != RUN_CLAIMED)
                        continue;
                record = run_record_new(job, entry->run);
                record->tick = entry->tick;
                record->attempt = entry->attempt;
                record->node = g_strdup(entry->node);
                record->claimed = entry->claimed;
                record->state =
                    g_hash_table_contains(coordinator->runs, key) ? RUN_RUNNING : RUN_CLAIMED;
                json_array_append_new(array, run_record_to_json(record));
        }
        return array;
}

static const char *state_word(const ScheduledJob *job, const Ledger *ledger, const char **ret_why) {
        static const char *const words[] = {
            [JOB_UNREAD] = "unread",   [JOB_IDLE] = "idle",       [JOB_WAITING] = "waiting",
            [JOB_RUNNING] = "running", [JOB_DRIFTED] = "drifted", [JOB_UNFIT] = "unfit",
        };
        ScheduledJobState state = scheduled_job_state(job, ret_why);

        if (ledger &&
            (state == JOB_IDLE || state == JOB_RUNNING || (state == JOB_UNREAD && !**ret_why)))
                state = ledger_first_claimed(ledger) ? JOB_RUNNING : JOB_IDLE;
        return words[state];
}

static json_t *job_to_json(const Coordinator *coordinator, const ScheduledJob *job,
                           const Ledger *ledger) {
        const JobSpec *spec = scheduled_job_spec(job);
        g_autofree char *schedule = spec->schedule ? schedule_to_string(spec->schedule) : NULL;
        json_t *object = json_object();
        const char *why = "";
        int64_t next;
        bool has_next =
            spec->schedule &&
            schedule_next(spec->schedule, (int64_t)(clock_realtime() / USEC_PER_SEC), &next);

        json_object_set_new(object, "job", json_string(spec->name));
        json_object_set_new(object, "description",
                            json_string(spec->description ? spec->description : ""));
        json_object_set_new(object, "schedule", schedule ? json_string(schedule) : json_null());
        json_object_set_new(object, "next", has_next ? json_integer(next) : json_null());
        json_object_set_new(object, "state", json_string(state_word(job, ledger, &why)));
        json_object_set_new(object, "why", json_string(why));
        json_object_set_new(object, "fit",
                            json_boolean(!coordinator_unfit(coordinator, spec->name) &&
                                         job_spec_matches_node(spec, coordinator->config->node_name,
                                                               coordinator->config->labels)));
        json_object_set_new(object, "running",
                            ledger ? running_to_json(coordinator, spec->name, ledger)
                                   : json_array());
        json_object_set_new(object, "last",
                            ledger && ledger->last ? run_record_to_json(ledger->last)
                                                   : json_null());
        return object;
}

static json_t *jobs_to_json(const Answer *answer) {
        json_t *array = json_array();

        for (guint i = 0; i < jobset_size(answer->coordinator->jobset); i++) {
                const JobSpec *spec = jobset_get(answer->coordinator->jobset, i);
                const ScheduledJob *job =
                    g_hash_table_lookup(answer->coordinator->jobs, spec->name);
                if (job)
                        json_array_append_new(
                            array, job_to_json(answer->coordinator, job,
                                               g_hash_table_lookup(answer->ledgers, spec->name)));
        }
        return array;
}

static void on_done(Answer *answer) {
        const Coordinator *coordinator = answer->coordinator;
        json_t *object = json_object(), *errors = json_array(), *warnings = json_array();

        json_object_set_new(object, "node", json_string(coordinator->config->node_name));
        json_object_set_new(object, "version", json_string(JOBKEEPER_VERSION));
        json_object_set_new(object, "started", seconds_to_json(coordinator->node->started));
        json_object_set_new(object, "session", session_to_json(coordinator));
        json_object_set_new(object, "clock", clock_to_json(coordinator));
        json_object_set_new(object, "members", members_to_json(coordinator));
        json_object_set_new(object, "jobs", jobs_to_json(answer));
        for (const char *const *error = jobset_errors(coordinator->jobset); error && *error;
             error++)
                json_array_append_new(errors, json_string(*error));
        json_object_set_new(object, "errors", errors);
        if (*tree_warning(coordinator->tree))
                json_array_append_new(warnings, json_string(tree_warning(coordinator->tree)));
        json_object_set_new(object, "warnings", warnings);
        answer_reply(answer, object);
}

static void on_ledger(Answer *answer, const char *job, const ZkReply *reply) {
        Ledger *ledger = NULL;

        if (reply->code == ZK_OK && ledger_decode(reply->data, reply->data_size, &ledger) == 0)
                g_hash_table_insert(answer->ledgers, g_strdup(job), ledger);
}

int answer_status(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                  sd_bus_error *error) {
        Answer *answer = answer_new(coordinator, owner, message, on_done);

        /* Reads are only worth waiting for while somebody answers them. */
        for (guint i = 0;
             coordinator->node->ready && session_state(coordinator->session) == SESSION_CONNECTED &&
             i < jobset_size(coordinator->jobset);
             i++) {
                const char *job = jobset_get(coordinator->jobset, i)->name;
                g_autofree char *path = path_job(coordinator->config->root, job);
                (void)answer_get(answer, path, job, on_ledger);
        }
        if (answer->pending == 0)
                on_done(answer);
        return 1;
}
