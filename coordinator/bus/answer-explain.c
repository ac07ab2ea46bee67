/* See answer-explain.h. The ledger is read, then the names of all records of the job, then those
 * that are about the tick: of its attempts, and where there is none of a skip, of the stretch of
 * skipped ticks that began last before it and may reach to it. */
#include "answer-explain.h"

#include "answer-control.h"
#include "answer-runs.h"
#include "bus-interface.h"
#include "explain-parents.h"
#include "meetings.h"
#include "name.h"
#include "paths.h"
#include "status-report.h"
#include "tick-records.h"

/* Of a tick: no job has more attempts, and one more says that no further one is made. */
#define RECORDS_MAX (JOB_ATTEMPTS_MAX + 1)

static void explain_reply(Answer *answer, json_t *object) {
        json_t *runs = json_array();

        for (guint i = 0; i < answer->records->len; i++)
                json_array_append_new(runs, run_record_to_json(answer->records->pdata[i]));
        json_object_set_new(object, "runs", runs);
        answer_reply(answer, object);
}

bool answer_explain_was_read(Answer *answer) {
        bool read = false;

        if (answer->broken)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "what stands in ZooKeeper of the job could not be read");
        else if (answer->read > ANSWER_BYTES_MAX)
                answer_error(
                    answer, SD_BUS_ERROR_LIMITS_EXCEEDED,
                    "the answer would be too long: see the records by \"jobkeeper history\"");
        else if (answer->missing)
                answer_error(answer, BUS_ERROR_NO_SUCH_JOB, "there is no job \"%s\" on this node",
                             answer->job);
        else
                read = true;
        return read;
}

static void explain_on_done(Answer *answer) {
        if (answer_explain_was_read(answer))
                explain_reply(answer, json_incref(answer->gathered));
}

/* It may end before the tick. */
static void explain_on_stretch(Answer *answer, const char *name, const ZkReply *reply) {
        guint n = answer->records->len;

        answer_on_record(answer, name, reply);
        if (answer->records->len > n &&
            ((const RunRecord *)answer->records->pdata[n])->stretch.to < answer->tick)
                g_ptr_array_remove_index(answer->records, n);
}

static void explain_read(Answer *answer, const char *name, AnswerReadFunc func) {
        g_autofree char *path =
            path_run(answer_view(answer)->node->config->root, answer->job, name);

        if (answer_get(answer, path, name, func) < 0)
                answer->broken = true;
}

/* Of a run that follows another one the name does not say for which tick. */
static void explain_on_asked(Answer *answer, const char *name, const ZkReply *reply) {
        guint n = answer->records->len;

        answer_on_record(answer, name, reply);
        if (answer->records->len > n && !tick_record_is_of(answer->records->pdata[n], answer->tick))
                g_ptr_array_remove_index(answer->records, n);
}

static void explain_on_listed(Answer *answer, const char *tag, const ZkReply *reply) {
        const View *view = answer_view(answer);
        const JobSpec *spec = view->calls->job(view->userdata, answer->job);
        g_autofree char *skipped = run_id_for_skip(answer->tick);
        g_autoptr(GPtrArray) names = NULL;
        const char *stretch = NULL;

        (void)tag;
        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        if (reply->code != ZK_OK)
                return;
        stretch = tick_stretch_before(reply, answer->tick);
        if (stretch && !g_str_equal(stretch, skipped))
                explain_read(answer, stretch, explain_on_stretch);
        names = tick_names_of(reply, answer->tick, spec && spec->books.links.after);
        for (guint i = names->len > RECORDS_MAX ? names->len - RECORDS_MAX : 0; i < names->len; i++)
                explain_read(answer, names->pdata[i],
                             run_id_is_of_request(names->pdata[i]) ? explain_on_asked
                                                                   : answer_on_record);
}

static void explain_on_meetings(Answer *answer, const char *tag, const ZkReply *reply) {
        const View *view = answer_view(answer);
        const JobSpec *spec = view->calls->job(view->userdata, answer->job);
        _cleanup_(meetings_freep) Meetings *meetings = NULL;
        g_auto(GStrv) parents = spec ? job_links_parents(&spec->books.links) : NULL;

        (void)tag;
        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        if (!spec || reply->code != ZK_OK ||
            meetings_decode(reply->data, reply->data_size, &meetings) < 0)
                return;
        json_object_set_new(answer->gathered, "waits",
                            meetings_report(meetings, (const char *const *)parents));
}

/* Which of those have come that it waits for together. */
static void explain_read_meetings(Answer *answer, const JobSpec *spec) {
        g_autofree char *path = path_meeting(answer_view(answer)->node->config->root, answer->job);

        if (spec->books.links.all && answer_get(answer, path, NULL, explain_on_meetings) < 0)
                answer->broken = true;
}

/* The ledger is there, or NULL where there is none: what is decided by it. */
static void explain_decide(Answer *answer, const Ledger *ledger) {
        const View *view = answer_view(answer);
        const JobSpec *spec = view->calls->job(view->userdata, answer->job);
        bool drifted = status_is_drifted(view, answer->job, ledger);
        _cleanup_(schedule_freep) Schedule *in_force = NULL;
        g_autofree char *path = path_runs(view->node->config->root, answer->job), *here = NULL;
        const Schedule *schedule = spec ? spec->schedule : NULL;

        if (!spec) {
                answer->missing = true;
                return;
        }
        if (drifted && ledger) {
                (void)ledger_schedule(ledger, &in_force);
                schedule = in_force;
        }
        answer->gathered =
            view->calls->explain(view->userdata, spec, schedule, ledger, answer->tick);
        answer->tick = json_integer_value(json_object_get(answer->gathered, "tick"));
        here = view->calls->job_why(view->userdata, answer->job);
        json_object_set_new(answer->gathered, "job", json_string(answer->job));
        json_object_set_new(answer->gathered, "here", json_string(here));
        json_object_set_new(answer->gathered, "drifted", json_boolean(drifted));
        if (answer_get_children(answer, path, NULL, explain_on_listed) < 0)
                answer->broken = true;
        explain_read_meetings(answer, spec);
        explain_parents_read(answer, spec);
}

static void explain_on_ledger(Answer *answer, const char *tag, const ZkReply *reply) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        (void)tag;
        answer->broken =
            reply->code != ZK_NO_NODE &&
            (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0);
        if (!answer->broken)
                explain_decide(answer, ledger);
}

void answer_explain_read(Answer *answer) {
        g_autofree char *path = path_job(answer_view(answer)->node->config->root, answer->job);

        if (answer_get(answer, path, NULL, explain_on_ledger) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
}

int answer_explain(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        const char *job = NULL;
        int64_t tick = 0;
        Answer *answer = NULL;
        int r = sd_bus_message_read(message, "sx", &job, &tick);

        if (r < 0)
                return r;
        if (!jobset_find(view->jobset, job))
                return answer_control_no_job_of_anybody(owner, error, job);
        if (tick < 0 || tick > SCHEDULE_TICK_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no tick: it is before 1970, or too far ahead");
        r = answer_control_admit(view, error);
        if (r < 0)
                return r;
        answer = answer_new(owner, message, explain_on_done);
        answer->job = g_strdup(job);
        answer->tick = tick;
        answer_explain_read(answer);
        return 1;
}
