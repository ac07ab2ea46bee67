/* See answer-runs.h. */
#include "answer-runs.h"

#include <errno.h>
#include <string.h>

#include "answer-control.h"
#include "bus-interface.h"
#include "link-report.h"
#include "name.h"
#include "paths.h"
#include "status-report.h"
#include "timer.h"

#define NEXT_COUNT_MAX 1000
/* Without the ledger what this node knows is said. */
#define NEXT_PATIENCE (2 * USEC_PER_SEC)
#define WAIT_POLL (250 * USEC_PER_MSEC)
/* Beyond the life of a request: for whoever refuses it to say so. */
#define WAIT_SLACK (15 * USEC_PER_SEC)

/* What stands there is none of ours, or broken: it is shown rather than left out. */
static RunRecord *record_unreadable(const char *job, const char *run) {
        RunRecord *record = run_record_new(job, run);

        record->state = RUN_UNKNOWN;
        record->why = g_strdup("its record in ZooKeeper cannot be read");
        return record;
}

void answer_take_record(Answer *answer, const char *job, const char *run, const ZkReply *reply) {
        RunRecord *record = NULL;

        if (reply->code == ZK_NO_NODE) /* pruned by now, or not there yet */
                return;
        if (reply->code != ZK_OK) {
                answer->broken = true;
                return;
        }
        answer->read += reply->data_size;
        if (answer->read > ANSWER_BYTES_MAX)
                return;
        if (run_record_decode(reply->data, reply->data_size, &record) < 0)
                record = record_unreadable(job, run);
        record->token = reply->stat.czxid;
        status_refine(answer_view(answer), record);
        g_ptr_array_add(answer->records, record);
}

void answer_on_record(Answer *answer, const char *name, const ZkReply *reply) {
        answer_take_record(answer, answer->job, name, reply);
}

/* ---- next ---- */

/* Up to a thousand ticks, of a schedule that may be hard to find ticks of: a few at a time. */
static bool next_on_step(void *userdata) {
        Answer *answer = userdata;
        const JobSpec *spec = jobset_find(answer_view(answer)->jobset, answer->job);
        const Schedule *schedule = spec ? spec->schedule : NULL;
        g_autofree char *text = NULL;
        json_t *object = NULL;

        if (schedule &&
            json_array_size(json_object_get(answer->gathered, "ticks")) < answer->limit &&
            schedule_next(schedule, answer->tick, &answer->tick)) {
                json_array_append_new(json_object_get(answer->gathered, "ticks"),
                                      json_integer(answer->tick));
                json_array_append_new(json_object_get(answer->gathered, "starts"),
                                      json_integer(job_spec_start(spec, answer->tick)));
                return true;
        }
        text = schedule ? schedule_to_string(schedule) : NULL;
        object = json_object();
        json_object_set_new(object, "job", json_string(answer->job));
        json_object_set_new(object, "schedule", text ? json_string(text) : json_null());
        json_object_set(object, "ticks", json_object_get(answer->gathered, "ticks"));
        if (schedule && schedule_random_delay(schedule) > 0)
                json_object_set(object, "starts", json_object_get(answer->gathered, "starts"));
        if (spec) {
                (void)json_object_set_new(object, "links",
                                          link_report(answer_view(answer)->jobset, spec));
                status_add_mode(spec, object);
        }
        status_add_pause(answer_view(answer), answer->job, object);
        if (answer->drifted || status_is_drifted(answer_view(answer), answer->job, NULL))
                json_object_set_new(object, "drifted", json_true());
        answer_reply(answer, object);
        return false;
}

/* The ledger is read, or not in time. */
static void next_begin(Answer *answer) {
        int r = 0;

        answer->timer = sd_event_source_disable_unref(answer->timer);
        if (answer->slice)
                return;
        r = slice_new(answer_view(answer)->node->event, next_on_step, answer, &answer->slice);
        if (r < 0)
                answer_error(answer, BUS_ERROR_FAILED, "%s", g_strerror(-r));
}

static void next_on_patience(void *userdata) {
        next_begin(userdata);
}

/* Another node's file may have changed since this one looked. */
static void next_on_ledger(Answer *answer, const char *tag, const ZkReply *reply) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        (void)tag;
        if (reply->code == ZK_OK)
                (void)ledger_decode(reply->data, reply->data_size, &ledger);
        answer->drifted = status_is_drifted(answer_view(answer), answer->job, ledger);
}

/* Return: the job here that has that name, also as the files have it: of one of mode each-node this
 * node's, which has the same ticks as all others; NULL: there is none. Borrowed. */
static const JobSpec *next_job(const View *view, const char *name) {
        const JobSpec *spec = jobset_find(view->jobset, name),
                      *each = spec ? NULL : jobset_find_each(view->jobset, name);

        return each ? jobset_find(view->jobset, each->name) : spec;
}

int answer_next(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        uint32_t count = 0;
        const char *job = NULL;
        const JobSpec *spec = NULL;
        g_autofree char *path = NULL;
        Answer *answer = NULL;
        int r = sd_bus_message_read(message, "su", &job, &count);

        if (r < 0)
                return r;
        spec = next_job(view, job);
        if (!spec)
                return answer_control_no_job_of_anybody(owner, error, job);
        answer = answer_new(owner, message, next_begin);
        answer_is_patient(answer);
        answer->job = g_strdup(spec->name);
        answer->limit = MIN(count, NEXT_COUNT_MAX);
        answer->gathered = json_pack("{s:[], s:[]}", "ticks", "starts");
        answer->tick = job_spec_started(spec, (int64_t)(clock_realtime() / USEC_PER_SEC));
        path = path_job(view->node->config->root, spec->name);
        if (answer_get(answer, path, NULL, next_on_ledger) < 0)
                next_begin(answer);
        else
                (void)timer_in(view->node->event, &answer->timer, NEXT_PATIENCE, next_on_patience,
                               answer);
        return 1;
}

/* ---- wait ---- */

static void wait_look(Answer *answer);

static void wait_on_timer(void *userdata) {
        wait_look(userdata);
}

/* Looks again soon. A watch would be one more thing to lose; a person waits, and four reads a
 * second are nothing. */
static void wait_look_later(Answer *answer) {
        (void)timer_in(answer_view(answer)->node->event, &answer->timer, WAIT_POLL, wait_on_timer,
                       answer);
}

/* Nobody took the request, and nobody could even say so. */
static void answer_nobody_came(Answer *answer) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(answer->job, answer->run);

        record->state = RUN_SKIPPED;
        record->why = g_strdup("no node took the request in time");
        answer_reply(answer, run_record_to_json(record));
}

static void wait_on_done(Answer *answer) {
        RunRecord *record = answer->records->len > 0 ? answer->records->pdata[0] : NULL;

        if (record && run_state_is_final(record->state)) {
                answer_reply(answer, run_record_to_json(record));
                return;
        }
        if (!answer->missing)
                answer->since = clock_monotonic();
        else if (clock_monotonic() >
                 usec_add(answer->since, answer_view(answer)->request_lifetime + WAIT_SLACK)) {
                answer_nobody_came(answer);
                return;
        }
        wait_look_later(answer);
}

static void wait_on_record(Answer *answer, const char *name, const ZkReply *reply) {
        answer->missing = reply->code == ZK_NO_NODE;
        answer_on_record(answer, name, reply);
}

static void wait_look(Answer *answer) {
        g_autofree char *path =
            path_run(answer_view(answer)->node->config->root, answer->job, answer->run);

        g_ptr_array_set_size(answer->records, 0);
        g_ptr_array_set_size(answer->reads, 0);
        answer->read = 0;
        answer->pending = 0;
        if (answer_get(answer, path, answer->run, wait_on_record) < 0)
                wait_look_later(answer); /* there will be a session again */
}

static int wait_no_such_run(sd_bus_error *error, const char *run) {
        g_autofree char *shown = name_shown(run);

        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "the run \"%s\" %s", shown,
                                 name_fault(run));
}

/* Return: 0 with the job and the run, borrowed from the message; negative errno with `error` set.
 */
static int wait_read(const View *view, sd_bus_message *message, const char **ret_job,
                     const char **ret_run, sd_bus_error *error) {
        int r = sd_bus_message_read(message, "ss", ret_job, ret_run);

        if (r < 0)
                return r;
        if (!job_name_is_valid(*ret_job) || !jobset_definition(view->jobset, *ret_job))
                return answer_control_no_such_job(view, error, *ret_job);
        return name_is_valid(*ret_run) ? 0 : wait_no_such_run(error, *ret_run);
}

int answer_wait_run(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job, *run;
        Answer *answer;
        int r = wait_read(owner->view, message, &job, &run, error);

        if (r < 0)
                return r;
        answer = answer_new(owner, message, wait_on_done);
        answer_is_patient(answer);
        answer->job = g_strdup(job);
        answer->run = g_strdup(run);
        answer->since = clock_monotonic();
        wait_look(answer);
        return 1;
}

/* ---- find ---- */

static void find_on_done(Answer *answer) {
        json_t *object;

        if (answer->broken) {
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "the run's record could not be read from ZooKeeper");
                return;
        }
        object = json_object();
        json_object_set_new(object, "here",
                            json_string(answer_view(answer)->node->config->node_name));
        json_object_set_new(object, "run",
                            answer->records->len > 0 ? run_record_to_json(answer->records->pdata[0])
                                                     : json_null());
        answer_reply(answer, object);
}

int answer_find_run(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job, *run;
        g_autofree char *path = NULL;
        Answer *answer;
        int r = wait_read(owner->view, message, &job, &run, error);

        if (r < 0)
                return r;
        answer = answer_new(owner, message, find_on_done);
        answer->job = g_strdup(job);
        answer->run = g_strdup(run);
        path = path_run(owner->view->node->config->root, job, run);
        if (answer_get(answer, path, run, answer_on_record) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        return 1;
}
