/* See status-report.h. */
#include "status-report.h"

#include <string.h>

#include "control-pause.h"
#include "control.h"
#include "ensemble-record.h"
#include "expectation.h"
#include "json-line.h"
#include "paths.h"
#include "rename.h"
#include "tree.h"

static const char *session_word(const Session *session) {
        switch (session_state(session)) {
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

const char *status_fault(const View *view) {
        const char *fault = session_fault(view->node->session);

        return *fault ? fault : view->calls->fault(view->userdata);
}

char *status_unusable(const View *view) {
        const Session *session = view->node->session;
        const char *fault = status_fault(view);

        if (session_state(session) != SESSION_CONNECTED)
                return g_strdup_printf("no ZooKeeper session%s%s",
                                       *session_fault(session) ? ": " : "", session_fault(session));
        return *fault ? g_strdup_printf("this node cannot work with ZooKeeper: %s", fault)
                      : g_strdup("this node has only just connected to ZooKeeper: try again");
}

char *status_silence(const Node *node) {
        const DaemonConfig *config = node->config;
        usec_t heard = session_heard(node->session), now = clock_boottime();

        if (heard == 0 || now <= usec_add(heard, 3 * config->heartbeat + config->tick_time))
                return NULL;
        return g_strdup_printf("ZooKeeper has not answered for %u s",
                               (unsigned)((now - heard) / USEC_PER_SEC));
}

static json_t *session_to_json(const View *view, bool privileged) {
        const Session *session = view->node->session;
        json_t *object = json_object();
        Zk *zk = session_zk(session);
        usec_t now = clock_boottime(), until = session_held_until(session);
        g_autofree char *silence = status_silence(view->node);
        const char *fault = status_fault(view);

        json_object_set_new(object, "state", json_string(session_word(session)));
        if (privileged) {
                g_autofree char *id =
                    g_strdup_printf("0x%" G_GINT64_MODIFIER "x", session_id(session));

                json_object_set_new(object, "id", json_string(id));
        }
        json_object_set_new(object, "server", json_string(zk ? zk_server(zk) : ""));
        json_object_set_new(
            object, "timeout",
            seconds_to_json(zk ? zk_timeout(zk) : view->node->config->session_timeout));
        json_object_set_new(object, "held_for", seconds_to_json(until > now ? until - now : 0));
        json_object_set_new(object, "fault", json_string(!*fault && silence ? silence : fault));
        return object;
}

static json_t *clock_to_json(const Node *node) {
        json_t *object = json_object();
        const ClockSkew *skew = &node->skew;

        json_object_set_new(object, "skew",
                            skew->measured ? json_real((double)skew->skew / (double)USEC_PER_SEC)
                                           : json_null());
        json_object_set_new(
            object, "known",
            json_boolean(clock_skew_is_known(skew, clock_realtime(), clock_boottime())));
        json_object_set_new(object, "skewed", json_boolean(node_is_skewed(node)));
        json_object_set_new(object, "impossible", json_boolean(node_clock_is_impossible(node)));
        json_object_set_new(object, "waited_for", json_boolean(node->waits_for_clock));
        return object;
}

static int name_pointer_compare(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The first `max` of a table's names, in order: an array, or an object of what is said of each. */
static json_t *first_names(GHashTable *table, guint max, bool said) {
        json_t *first = said ? json_object() : json_array();
        guint n = 0;
        g_autofree gpointer *names = g_hash_table_get_keys_as_array(table, &n);

        qsort(names, n, sizeof *names, name_pointer_compare);
        for (guint i = 0; i < MIN(n, max); i++)
                if (said)
                        json_object_set_new(first, names[i],
                                            said_to_json(g_hash_table_lookup(table, names[i])));
                else
                        json_array_append_new(first, json_string(names[i]));
        return first;
}

static json_t *member_counts_to_json(const Member *member) {
        json_t *object = json_object();

        json_object_set_new(object, "unfit", json_integer(g_hash_table_size(member->unfit)));
        json_object_set_new(object, "drifted", json_integer(g_hash_table_size(member->drifted)));
        json_object_set_new(object, "absent", json_integer(g_hash_table_size(member->absent)));
        return object;
}

/* Return: a new reference: null where it is inside of its window, or has none. */
static json_t *member_outside_to_json(const Member *member) {
        if (member->outside == 0)
                return json_null();
        return json_pack("{s:o}", "until",
                         member->outside == INT64_MAX ? json_null()
                                                      : json_integer(member->outside));
}

json_t *status_report_member(const View *view, const Member *member) {
        bool self = g_str_equal(member->node, view->node->config->node_name);
        guint max = self ? G_MAXUINT : STATUS_NAMES_MAX;
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(member->node));
        json_object_set_new(object, "labels", first_names(member->labels, DAEMON_LABELS_MAX, true));
        json_object_set_new(object, "self", json_boolean(self));
        json_object_set_new(object, "skewed", json_boolean(member->skewed));
        json_object_set_new(object, "busy", json_string(member_busy_to_string(member->busy)));
        json_object_set_new(object, "outside", member_outside_to_json(member));
        json_object_set_new(object, "unfit", first_names(member->unfit, max, true));
        json_object_set_new(object, "drifted", first_names(member->drifted, max, false));
        json_object_set_new(object, "absent", first_names(member->absent, max, false));
        json_object_set_new(object, "counts", member_counts_to_json(member));
        /* Of so many it says no names. */
        json_object_set_new(object, "unnamed", json_integer(member->numbers->len));
        json_object_set_new(object, "version",
                            said_to_json(member->version ? member->version : ""));
        return object;
}

static void add_away(const View *view, json_t *array, const char *node) {
        const usec_t *since = g_hash_table_lookup(members_away(view->members), node);
        json_t *object = NULL;

        if (members_contains(view->members, node))
                return;
        object = json_object();
        json_object_set_new(object, "node", json_string(node));
        json_object_set_new(object, "since", since ? seconds_to_json(*since) : json_null());
        json_array_append_new(array, object);
}

/* Those that we saw leave, and those that once ran something. Only where we know who is there. */
static json_t *away_to_json(const View *view, const char *const *nodes) {
        json_t *array = json_array();
        GHashTableIter iterator;
        gpointer node;

        if (!members_registered(view->members))
                return array;
        g_hash_table_iter_init(&iterator, members_away(view->members));
        while (g_hash_table_iter_next(&iterator, &node, NULL))
                add_away(view, array, node);
        for (; nodes && *nodes && json_array_size(array) < STATUS_AWAY_MAX; nodes++)
                if (!g_hash_table_contains(members_away(view->members), *nodes))
                        add_away(view, array, *nodes);
        return array;
}

/* What does not keep anything from running yet. */
static json_t *warnings_to_json(const View *view) {
        g_autofree char *unremembered = ensemble_memory_fault(view->node->ensemble);
        const char *const warnings[] = {
            tree_warning(view->tree), digest_memory_fault(view->digests),
            drain_view_fault(tree_drain_view(view->tree)), unremembered};
        json_t *array = json_array();

        for (size_t i = 0; i < G_N_ELEMENTS(warnings); i++)
                if (*warnings[i])
                        json_array_append_new(array, json_string(warnings[i]));
        return array;
}

static json_t *ensemble_to_json(const View *view) {
        const Trust *trust = tree_trust(view->tree);
        const json_t *record = trust_record(trust);
        const char *id = ensemble_record_id(record);
        json_t *object = json_object();
        Statement accepted = {0};

        json_object_set_new(object, "id", id ? json_string(id) : json_null());
        json_object_set_new(object, "trusted", json_boolean(trust_is_given(trust)));
        json_object_set_new(object, "doubt",
                            trust_is_doubted(trust) ? statement_to_json(trust_doubt(trust))
                                                    : json_null());
        json_object_set_new(object, "accepted",
                            ensemble_record_accepted(record, &accepted)
                                ? statement_to_json(&accepted)
                                : json_null());
        statement_clear(&accepted);
        return object;
}

static const json_t *status_control(const View *view) {
        return drain_view_control(tree_drain_view(view->tree));
}

static json_t *all_paused_to_json(const View *view) {
        ControlPause pause = {0};
        json_t *object;

        if (!control_is_paused(status_control(view), NULL, clock_realtime(), &pause))
                return json_null();
        object = control_pause_to_json(&pause);
        control_pause_clear(&pause);
        return object;
}

static json_t *texts_to_json(const char *const *texts) {
        json_t *array = json_array();

        for (; *texts; texts++)
                json_array_append_new(array, json_string(*texts));
        return array;
}

json_t *status_report_head(const View *view, bool privileged, const char *const *nodes) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(view->node->config->node_name));
        json_object_set_new(object, "version", json_string(JOBKEEPER_VERSION));
        json_object_set_new(object, "started", seconds_to_json(view->node->started));
        json_object_set_new(object, "session", session_to_json(view, privileged));
        json_object_set_new(object, "clock", clock_to_json(view->node));
        json_object_set_new(object, "away", away_to_json(view, nodes));
        json_object_set_new(object, "drained", control_drains_to_json(status_control(view)));
        json_object_set_new(object, "paused", all_paused_to_json(view));
        json_object_set_new(object, "ensemble", ensemble_to_json(view));
        json_object_set_new(object, "errors", texts_to_json(jobset_errors(view->jobset)));
        json_object_set_new(object, "unloaded", texts_to_json(jobset_unloaded(view->jobset)));
        json_object_set_new(object, "left_out", texts_to_json(jobset_left_out(view->jobset)));
        json_object_set_new(object, "warnings", warnings_to_json(view));
        return object;
}

/* ---- a job ---- */

void status_refine(const View *view, RunRecord *record) {
        g_autofree char *key = run_key(record->job, record->run);
        const Run *run = runs_find(view->runs, key);

        if (record->state != RUN_CLAIMED || !run)
                return;
        record->state = RUN_RUNNING;
        record->started = run->record->started;
        if (!record->unit)
                record->unit = g_strdup(run->record->unit);
}

static json_t *open_entry_to_json(const View *view, const char *job, const LedgerEntry *entry) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(job, entry->run);

        record->tick = entry->tick ? entry->tick : run_id_tick(entry->run);
        record->attempt = entry->attempt;
        record->node = g_strdup(entry->node);
        record->claimed = entry->claimed;
        record->state = RUN_CLAIMED;
        status_refine(view, record);
        return run_record_to_json(record);
}

/* What runs here is known without a ledger. What has ended and could not be written yet does not
 * run.
 */
static json_t *own_runs_to_json(const View *view, const char *job) {
        const GPtrArray *runs = runs_of_job(view->runs, job);
        json_t *array = json_array();

        for (guint i = 0; runs && i < runs->len; i++) {
                const RunRecord *record = ((const Run *)runs->pdata[i])->record;
                _cleanup_(run_record_freep) RunRecord *copy = NULL;

                if (run_state_is_final(record->state))
                        continue;
                copy = run_record_copy(record);
                status_refine(view, copy);
                json_array_append_new(array, run_record_to_json(copy));
        }
        return array;
}

/* Of that, the newest: what is not known of others' runs without a ledger is left out. */
static json_t *own_result_to_json(const View *view, const char *job) {
        const GPtrArray *runs = runs_of_job(view->runs, job);
        const RunRecord *newest = NULL;

        for (guint i = 0; runs && i < runs->len; i++) {
                const RunRecord *record = ((const Run *)runs->pdata[i])->record;

                if (run_state_is_final(record->state) && (!newest || record->ended > newest->ended))
                        newest = record;
        }
        return newest ? run_record_to_json(newest) : json_null();
}

static json_t *last_to_json(const View *view, const char *job, const Ledger *ledger) {
        if (!ledger)
                return own_result_to_json(view, job);
        return ledger->last ? run_record_to_json(ledger->last) : json_null();
}

static json_t *running_to_json(const View *view, const char *job, const Ledger *ledger) {
        json_t *array = NULL;

        if (!ledger)
                return own_runs_to_json(view, job);
        array = json_array();
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];

                if (entry->state == RUN_CLAIMED)
                        json_array_append_new(array, open_entry_to_json(view, job, entry));
        }
        return array;
}

/* `entry` NULL: no tick is to be attempted again, and nothing is added. */
static void add_retry(json_t *object, const LedgerEntry *entry) {
        if (entry)
                json_object_set_new(object, "retry",
                                    json_pack("{s:I, s:I, s:o}", "tick", (json_int_t)entry->tick,
                                              "attempt", (json_int_t)entry->attempt + 1,
                                              "not_before", seconds_to_json(entry->not_before)));
}

/* Where something is expected of the job. Without its ledger it is not known whether that is met.
 */
static void add_expectation(const View *view, json_t *object, const JobSpec *spec,
                            const Ledger *ledger) {
        usec_t within = spec->books.expect_within, since;
        json_t *expectation = NULL;

        if (within == USEC_INFINITY)
                return;
        expectation = json_pack("{s:o, s:n, s:n, s:n}", "within", seconds_to_json(within), "since",
                                "succeeded", "overdue");
        if (ledger && *ledger->digest) {
                since = ledger_without_success_since(ledger);
                json_object_set_new(expectation, "since", seconds_to_json(since));
                json_object_set_new(expectation, "succeeded",
                                    json_boolean(ledger_last_success(ledger) > 0));
                json_object_set_new(expectation, "overdue",
                                    json_boolean(expectation_is_overdue(
                                        within, since, node_server_time(view->node))));
        }
        json_object_set_new(object, "expected", expectation);
}

/* `why` may become another. */
static const char *job_state_word(const View *view, const char *job, const Ledger *ledger,
                                  bool drifted, bool runs, char **why) {
        static const char *const words[] = {
            [JOB_UNREAD] = "unread",   [JOB_IDLE] = "idle",       [JOB_WAITING] = "waiting",
            [JOB_RUNNING] = "running", [JOB_DRIFTED] = "drifted", [JOB_UNFIT] = "unfit",
            [JOB_NO_NODE] = "no-node",
        };
        ScheduledJobState state =
            drifted ? JOB_DRIFTED : view->calls->job_state(view->userdata, job);

        /* What was just read is newer than what the job remembers. */
        if (ledger && (state == JOB_RUNNING || (state == JOB_UNREAD && !**why)))
                state = JOB_IDLE;
        /* It ran when ZooKeeper last answered, and not here. */
        if (!ledger && !runs && state == JOB_RUNNING) {
                if (!**why) {
                        g_free(*why);
                        *why = g_strdup("it was running when ZooKeeper last answered");
                }
                state = JOB_UNREAD;
        }
        if (runs && (state == JOB_IDLE || state == JOB_NO_NODE || state == JOB_UNREAD))
                state = JOB_RUNNING;
        return words[state];
}

void status_add_mode(const JobSpec *spec, json_t *object) {
        if (spec->place.mode == JOB_MODE_SERVICE)
                json_object_set_new(object, "mode", json_string("service"));
}

void status_add_pause(const View *view, const char *job, json_t *object) {
        ControlPause pause = {0};

        if (!control_pause_lasts(status_control(view), job, clock_realtime(), &pause))
                return;
        json_object_set_new(object, "paused", control_pause_to_json(&pause));
        control_pause_clear(&pause);
}

/* What is paused is so whatever else would keep it, but for what somebody has to see to. `why` may
 * become another. */
static const char *job_state_or_paused(const View *view, const char *job, const char *word,
                                       char **why) {
        static const char *const hidden[] = {"idle", "waiting", "no-node", "unfit", NULL};
        ControlPause pause = {0};

        if (!g_strv_contains(hidden, word) ||
            !control_pause_lasts(status_control(view), job, clock_realtime(), &pause))
                return word;
        g_free(*why);
        *why = control_pause_to_text(&pause);
        control_pause_clear(&pause);
        return "paused";
}

/* Return: whether what was read has another definition in force than ours, which is still what we
 * agreed on: another node's file has changed. Where ours has, it is about to be put there. */
static bool ledger_differs(const View *view, const JobSpec *spec, const Ledger *ledger) {
        const DigestMemory *digests = view->digests;
        g_autofree char *own = NULL;

        if (ledger && ledger->renamed)
                return !spec->books.was.job && !jobset_find(view->jobset, ledger->renamed);
        if (!ledger || !*ledger->digest || digest_memory_has(digests, spec->name, ledger->digest))
                return false;
        own = job_spec_digest(spec, view->node->config);
        return digest_memory_has(digests, spec->name, own) &&
               g_strcmp0(ledger->instead_of, own) != 0;
}

bool status_is_drifted(const View *view, const char *job, const Ledger *ledger) {
        const JobSpec *spec = view->calls->job(view->userdata, job);

        if (!spec || view->calls->job_state(view->userdata, job) == JOB_DRIFTED)
                return spec;
        if (!ledger_differs(view, spec, ledger))
                return false;
        view->calls->look_again(view->userdata, job);
        return true;
}

/* Adds the next tick that is to be started by the schedule in force: that of our file where it is
 * not drifted, else that of the ledger, where it can be had. */
static void add_next_tick(json_t *object, const JobSpec *spec, const Ledger *ledger, bool drifted) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC), next = 0;
        _cleanup_(schedule_freep) Schedule *in_force = NULL;
        const Schedule *schedule = spec->schedule;
        bool found;

        if (drifted) {
                if (ledger)
                        (void)ledger_schedule(ledger, &in_force);
                schedule = in_force;
        }
        found =
            schedule && schedule_next(schedule, schedule_started(schedule, spec->name, now), &next);
        json_object_set_new(object, "next", found ? json_integer(next) : json_null());
        json_object_set_new(object, "next_start",
                            found ? json_integer(schedule_start(schedule, spec->name, next))
                                  : json_null());
}

/* Return: a new reference; NULL where nothing of it runs here. */
static json_t *left_job_to_json(const View *view, const char *name) {
        json_t *running = own_runs_to_json(view, name), *object;

        if (json_array_size(running) == 0) {
                json_decref(running);
                return NULL;
        }
        object = json_object();
        json_object_set_new(object, "job", json_string(name));
        json_object_set_new(object, "description", json_string(""));
        json_object_set_new(object, "schedule", json_null());
        json_object_set_new(object, "next", json_null());
        json_object_set_new(object, "next_start", json_null());
        json_object_set_new(object, "state", json_string("running"));
        json_object_set_new(object, "why", json_string("it has left this node's job files"));
        json_object_set_new(object, "fit", json_false());
        json_object_set_new(object, "running", running);
        json_object_set_new(object, "last", json_null());
        return object;
}

void status_add_left_jobs(const View *view, GPtrArray *names) {
        g_autoptr(GPtrArray) jobs = runs_jobs(view->runs);

        for (guint i = 0; i < jobs->len; i++)
                if (!jobset_find(view->jobset, jobs->pdata[i]))
                        g_ptr_array_add(names, g_strdup(jobs->pdata[i]));
}

/* Adds the jobs that it runs after. */
static void add_after(json_t *object, const JobSpec *spec) {
        const GPtrArray *after = spec->books.links.after;
        json_t *names = NULL;

        if (!after)
                return;
        names = json_array();
        for (guint i = 0; i < after->len; i++)
                json_array_append_new(names, json_string(((const JobAfter *)after->pdata[i])->job));
        json_object_set_new(object, "after", names);
}

json_t *status_report_job(const View *view, const char *name, const Ledger *ledger) {
        const JobSpec *spec = view->calls->job(view->userdata, name);
        g_autofree char *schedule =
            spec && spec->schedule ? schedule_to_string(spec->schedule) : NULL;
        json_t *object = NULL, *running = NULL;
        g_autofree char *why = NULL;
        const char *word = NULL;
        bool drifted = false;

        if (!spec)
                return left_job_to_json(view, name);
        running = running_to_json(view, name, ledger);
        why = view->calls->job_why(view->userdata, name);
        drifted = status_is_drifted(view, name, ledger);
        if (drifted && ledger && ledger->renamed) { /* what was just read is newer */
                g_free(why);
                why = rename_left_text(name, ledger->renamed);
        }
        word = job_state_word(view, name, ledger, drifted, json_array_size(running) > 0, &why);
        word = job_state_or_paused(view, name, word, &why);
        object = json_object();
        json_object_set_new(object, "job", json_string(name));
        json_object_set_new(object, "description",
                            json_string(spec->description ? spec->description : ""));
        json_object_set_new(object, "schedule", schedule ? json_string(schedule) : json_null());
        add_next_tick(object, spec, ledger, drifted);
        add_after(object, spec);
        status_add_mode(spec, object);
        json_object_set_new(object, "state", json_string(word));
        json_object_set_new(object, "why", json_string(why));
        status_add_pause(view, name, object);
        json_object_set_new(object, "fit",
                            json_boolean(view->calls->can_run(view->userdata, name) &&
                                         job_spec_matches_node(spec, view->node->config->node_name,
                                                               view->node->config->labels)));
        json_object_set_new(object, "running", running);
        json_object_set_new(object, "last", last_to_json(view, name, ledger));
        add_retry(object, ledger ? ledger_first_retry(ledger) : NULL);
        add_expectation(view, object, spec, ledger);
        return object;
}
