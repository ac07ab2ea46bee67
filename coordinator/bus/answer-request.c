/* See answer-request.h.
 *
 * Which attempt of a tick a person asks for is decided here, once its records and the ledger are
 * read: the one after the last that there is a record of. Nobody makes another of that number while
 * that record is there: the claim, which creates its own, is the only one to do so, and the tick
 * has none to come by itself. Asked for twice at once, it is made once. */
#include "answer-request.h"

#include "answer-control.h"
#include "answer-explain.h"
#include "answer-pause.h"
#include "bus-interface.h"
#include "control.h"
#include "decision-window.h"
#include "duration.h"
#include "explanation.h"
#include "job-instance.h"
#include "name.h"
#include "paths.h"
#include "status-report.h"
#include "unit-spec.h"

/* What is asked for: a job as it is called in ZooKeeper, and where it is to run. */
typedef struct RequestTarget {
        char *job;
        char *node; /* NULL: whichever */
} RequestTarget;

static void request_target_clear(RequestTarget *target) {
        g_free(target->job);
        g_free(target->node);
}

/* Return: newly allocated (g_free): that it begins where the schedule would not; NULL: it would. */
static char *request_hint_of_window(const JobSpec *spec) {
        g_autofree char *outside =
            decision_window_outside(spec->schedule, (int64_t)(clock_realtime() / USEC_PER_SEC));

        return outside ? g_strdup_printf("job \"%s\" is %s: what is asked for by hand begins all "
                                         "the same",
                                         spec->name, outside)
                       : NULL;
}

/* Return: newly allocated (g_free): that no node begins anything now; NULL: one may. */
static char *request_hint_of_nodes(const View *view, const JobSpec *spec) {
        g_autofree char *life = duration_to_string(view->request_lifetime);

        if (view->calls->all_drained(view->userdata, spec))
                return g_strdup_printf("all nodes that can run job \"%s\" are drained: it is run "
                                       "only where one of them is undrained within %s",
                                       spec->name, life);
        if (view->calls->all_shut(view->userdata, spec))
                return g_strdup_printf("all nodes that can run job \"%s\" are outside of their "
                                       "windows or drained: it is run only where one of them is "
                                       "not any more within %s",
                                       spec->name, life);
        return NULL;
}

/* Return: a new reference: what whoever asked for the run should know, a sentence, or "". */
static json_t *request_hint(const Answer *answer) {
        const View *view = answer_view(answer);
        const JobSpec *spec = jobset_find(view->jobset, answer->job);
        g_autofree char *text = spec && !answer->node ? request_hint_of_nodes(view, spec) : NULL;

        if (spec && !text)
                text = request_hint_of_window(spec);
        return json_string(text ? text : "");
}

static void request_on_written(int error, const char *run, void *userdata) {
        Answer *answer = userdata;
        json_t *object;

        if (error < 0) {
                answer_error(answer, BUS_ERROR_FAILED,
                             error == -ETIMEDOUT
                                 ? "no reply from ZooKeeper: the run may still take place"
                                 : "the request could not be written");
                return;
        }
        object = json_object();
        json_object_set_new(object, "job", json_string(answer->job));
        json_object_set_new(object, "run", json_string(run));
        json_object_set_new(object, "note", request_hint(answer));
        answer_reply(answer, object);
}

static int request_on_caller(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Answer *answer = userdata;
        const View *view = answer_view(answer);
        g_autofree char *who = NULL;
        Requested wish = {.job = answer->job, .run = answer->run, .node = answer->node};
        uint32_t uid;

        if (!sd_bus_message_is_method_error(reply, NULL) &&
            sd_bus_message_read(reply, "u", &uid) >= 0)
                who = g_strdup_printf("uid %u", uid);
        wish.who = who ? who : "";
        if (view->calls->request(view->userdata, &wish, request_on_written, answer,
                                 &answer->request) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        return 0;
}

/* What is asked for stands in the answer. Who calls is the bus's to say; sd-bus's own question
 * would wait for the answer. */
static void request_send(Answer *answer) {
        int r = sd_bus_call_method_async(
            sd_bus_message_get_bus(answer->message), &answer->slot, "org.freedesktop.DBus",
            "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixUser",
            request_on_caller, answer, "s", sd_bus_message_get_sender(answer->message));

        if (r < 0)
                answer_error(answer, BUS_ERROR_FAILED, "the caller's credentials cannot be read");
}

/* Of the nodes' reasons, this one's is at hand. */
static int request_no_candidate(const View *view, const char *job, sd_bus_error *error) {
        g_autofree char *why = view->calls->job_why(view->userdata, job);
        bool unfit = view->calls->job_state(view->userdata, job) == JOB_UNFIT && *why;

        return sd_bus_error_setf(error, BUS_ERROR_NO_CANDIDATE,
                                 "no node of the cluster can run job \"%s\" at present%s%s", job,
                                 unfit ? "; this one: " : "", unfit ? why : "");
}

static int request_no_such_node(const View *view, const char *node, sd_bus_error *error) {
        g_autofree char *shown = name_shown(node);
        const char *fault = name_fault(node), *nearest = NULL;

        if (fault)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "the node \"%s\" %s",
                                         shown, fault);
        nearest = answer_control_nearest_node(view, node);
        return sd_bus_error_setf(error, BUS_ERROR_NO_CANDIDATE,
                                 "%s is no member of the cluster at present%s%s%s", node,
                                 nearest ? " (did you mean \"" : "", nearest ? nearest : "",
                                 nearest ? "\"?)" : ": \"jobkeeper status\" shows who is");
}

/* Return: 0 where something may begin on that node, as far as people and its window want it;
 * negative errno with `error` set. */
static int request_admit_wanted(const View *view, const char *node, sd_bus_error *error) {
        const json_t *control = drain_view_control(tree_drain_view(view->tree));
        const int64_t until = view->calls->outside_until(view->userdata, node);
        g_autofree char *drained = NULL, *outside = NULL;
        ControlDrain drain = {0};

        if (control_is_drained(control, node, &drain)) {
                drained = control_drain_to_text(&drain);
                statement_clear(&drain);
                return sd_bus_error_setf(error, BUS_ERROR_NO_CANDIDATE,
                                         "%s is %s (jobkeeper undrain %s)", node, drained, node);
        }
        if (until == 0)
                return 0;
        outside = member_outside_to_text(until);
        return sd_bus_error_setf(error, BUS_ERROR_NO_CANDIDATE, "%s is %s", node, outside);
}

/* Return: 0 where that node may run the job; negative errno with `error` set. */
static int request_admit_node(const View *view, const JobSpec *spec, const char *node,
                              sd_bus_error *error) {
        g_autofree char *why = NULL;

        if (!name_is_valid(node) || !members_contains(view->members, node))
                return request_no_such_node(view, node, error);
        why = view->calls->node_why(view->userdata, spec, node);
        if (why)
                return sd_bus_error_setf(error, BUS_ERROR_NO_CANDIDATE,
                                         "%s cannot run job \"%s\" at present: %s", node,
                                         spec->name, why);
        return request_admit_wanted(view, node, error);
}

/* Return: 0 where it may be run as the cluster is now; negative errno with `error` set. */
static int request_admit_job(const View *view, const RequestTarget *target, const JobSpec *spec,
                             sd_bus_error *error) {
        g_autofree char *refusal = NULL;
        int r = answer_control_admit(view, error);

        if (r < 0)
                return r;
        refusal = answer_pause_refusal(view, target->job);
        if (refusal)
                return sd_bus_error_set(error, BUS_ERROR_PAUSED, refusal);
        if (target->node)
                return request_admit_node(view, spec, target->node, error);
        return view->calls->has_candidate(view->userdata, spec)
                   ? 0
                   : request_no_candidate(view, target->job, error);
}

/* An instance runs on its node, and is named by that. Return: 0 with the target; negative errno
 * with `error` set. */
static int request_find_instance(const View *view, const char *job, const char *node,
                                 RequestTarget *ret_target, sd_bus_error *error) {
        const bool by_base = jobset_find_each(view->jobset, job) != NULL;
        const char *own = by_base ? node : job_name_node(job);

        if (!own)
                return sd_bus_error_setf(
                    error, SD_BUS_ERROR_INVALID_ARGS,
                    "job \"%s\" is of mode each-node, a job of its own on every "
                    "node: say on which it is to run, as in \"jobkeeper run %s "
                    "--on %s\"",
                    job, job, view->node->config->node_name);
        if (node && !g_str_equal(node, own)) {
                g_autofree char *shown = name_shown(node);

                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "job \"%s\" runs on %s, and not on %s", job, own, shown);
        }
        if (!name_is_valid(own))
                return request_no_such_node(view, own, error);
        ret_target->job = by_base ? job_name_of_instance(job, own) : g_strdup(job);
        ret_target->node = g_strdup(own);
        return 0;
}

/* `node` NULL: whichever. Return: 0 with what is to be run, where a run of it may be asked for;
 * negative errno with `error` set. */
static int request_admit(const View *view, const char *job, const char *node,
                         RequestTarget *ret_target, sd_bus_error *error) {
        const JobSpec *each = jobset_find_each(view->jobset, job),
                      *spec = each ? each : jobset_definition(view->jobset, job);
        _cleanup_(job_spec_freep) JobSpec *outline = NULL;
        int r = 0;

        if (!spec)
                return answer_control_no_such_job(view, error, job);
        if (spec->place.mode == JOB_MODE_SERVICE)
                return sd_bus_error_setf(error, BUS_ERROR_FAILED,
                                         "job \"%s\" is a service, which is run by itself; "
                                         "\"jobkeeper stop %s\" has it started anew",
                                         job, job);
        if (spec->place.mode != JOB_MODE_EACH_NODE) {
                *ret_target = (RequestTarget){g_strdup(job), g_strdup(node)};
                return request_admit_job(view, ret_target, spec, error);
        }
        r = request_find_instance(view, job, node, ret_target, error);
        if (r < 0)
                return r;
        outline = job_instance_outline(spec, ret_target->node);
        return request_admit_job(view, ret_target, outline, error);
}

/* `node` NULL: whichever. */
static int request_run(Answers *owner, sd_bus_message *message, sd_bus_error *error,
                       const char *job, const char *node) {
        _cleanup_(request_target_clear) RequestTarget target = {0};
        Answer *answer;
        int r = request_admit(owner->view, job, node, &target, error);

        if (r < 0)
                return r;
        answer = answer_new(owner, message, NULL);
        answer->job = g_steal_pointer(&target.job);
        answer->node = g_steal_pointer(&target.node);
        request_send(answer);
        return 1;
}

int answer_run(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job;
        int r = sd_bus_message_read(message, "s", &job);

        return r < 0 ? r : request_run(owner, message, error, job, NULL);
}

int answer_run_on(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job, *node;
        int r = sd_bus_message_read(message, "ss", &job, &node);

        return r < 0 ? r : request_run(owner, message, error, job, node);
}

/* ---- a further attempt ---- */

/* Return: the number of the next attempt of the tick, going by the records that are there: 1 where
 * it was skipped; 0 where nothing is, or somebody wrote the last number that there is. */
static unsigned rerun_attempt(const Answer *answer) {
        unsigned last = 0;

        for (guint i = 0; i < answer->records->len; i++)
                last =
                    MAX(last, run_id_attempt(((const RunRecord *)answer->records->pdata[i])->run));
        return answer->records->len > 0 && last < UINT_MAX ? last + 1 : 0;
}

/* Return: whether a record is named for the tick. */
static bool rerun_has_tick(const Answer *answer) {
        for (guint i = 0; i < answer->records->len; i++)
                if (run_id_tick(((const RunRecord *)answer->records->pdata[i])->run) ==
                    answer->tick)
                        return true;
        return false;
}

static bool rerun_has_record(const Answer *answer, const char *run) {
        for (guint i = 0; i < answer->records->len; i++)
                if (strcmp(((const RunRecord *)answer->records->pdata[i])->run, run) == 0)
                        return true;
        return false;
}

/* Return: newly allocated, which ticks there are beside one that is none. */
static char *rerun_beside(const Answer *answer) {
        int64_t before = json_integer_value(json_object_get(answer->gathered, "before")),
                after = json_integer_value(json_object_get(answer->gathered, "after"));
        g_autofree char *earlier = before ? tick_to_rfc3339(before) : NULL,
                        *later = after ? tick_to_rfc3339(after) : NULL;

        return g_strdup_printf("%s%s%s%s", earlier ? "; the one before is " : "",
                               earlier ? earlier : "", later ? "; the next one is " : "",
                               later ? later : "");
}

/* Return: the state of the tick, as it was explained. */
static ExplanationState rerun_state(const Answer *answer) {
        const char *word = json_string_value(json_object_get(answer->gathered, "state"));

        for (unsigned state = 0; state < EXPLAINED_STATE_COUNT; state++)
                if (g_str_equal(word, explanation_state_to_string(state)))
                        return state;
        g_assert_not_reached();
}

/* Why a tick in that state is not attempted by hand; NULL: there is more to say of it. */
static const char *const rerun_whys[EXPLAINED_STATE_COUNT] = {
    [EXPLAINED_RETRY] = "it is to be attempted again by itself",
    [EXPLAINED_DUE] = "it is due, and not decided yet",
    [EXPLAINED_COMING] = "it is still to come",
};

/* Return: newly allocated, why no further attempt is made of a tick that is decided or none, going
 * by its records; NULL: one may be. What has been attempted was a tick, whatever the schedule says
 * by now. */
static char *rerun_records_why(const Answer *answer, ExplanationState state) {
        bool settled = state == EXPLAINED_SETTLED;
        g_autofree char *beside = NULL;

        if (settled ? rerun_attempt(answer) > 0 : rerun_has_tick(answer))
                return NULL;
        if (settled)
                return g_strdup("what became of it is not kept any more, nor how often it was "
                                "attempted");
        if (state == EXPLAINED_NOT_OWED)
                return g_strdup("it was due before the definition in force took effect, or the job "
                                "was first seen");
        beside = rerun_beside(answer);
        return g_strdup_printf("the job has no such tick%s", beside);
}

/* Return: newly allocated, why no further attempt of the tick is made, a part of a sentence; NULL:
 * one may be. */
static char *rerun_why_not(const Answer *answer) {
        const json_t *ticks = answer->gathered;
        ExplanationState state = rerun_state(answer);
        const char *run = json_string_value(json_object_get(ticks, "run")),
                   *node = json_string_value(json_object_get(ticks, "node")),
                   *why = rerun_whys[state];

        if (state == EXPLAINED_UNDER_WAY)
                return g_strdup_printf("run %s of it is under way on %s", run, node ? node : "?");
        return why ? g_strdup(why) : rerun_records_why(answer, state);
}

static void rerun_on_read(Answer *answer) {
        g_autofree char *tick = tick_to_rfc3339(answer->tick), *why = NULL;

        if (!answer_explain_was_read(answer))
                return;
        if (answer->run && !rerun_has_record(answer, answer->run)) {
                answer_error(answer, BUS_ERROR_FAILED,
                             "there is no record of a run %s of job \"%s\" (jobkeeper history %s)",
                             answer->run, answer->job, answer->job);
                return;
        }
        why = rerun_why_not(answer);
        if (why) {
                answer_error(answer, BUS_ERROR_FAILED,
                             "tick %s of job \"%s\" cannot be attempted again: %s", tick,
                             answer->job, why);
                return;
        }
        g_free(answer->run);
        answer->run = run_id_for_tick(answer->tick, rerun_attempt(answer));
        request_send(answer);
}

/* `run`: "" where the tick is said. Return: 0 with *tick, or negative errno with `error` set. */
static int rerun_find_tick(const char *job, const char *run, int64_t *tick, sd_bus_error *error) {
        g_autofree char *shown = name_shown(run);

        if (*run && !run_id_is_valid(run))
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "\"%s\" can be no run's id (jobkeeper history %s)", shown,
                                         job);
        if (run_id_is_of_request(run))
                return sd_bus_error_setf(
                    error, BUS_ERROR_FAILED,
                    "run %s of job \"%s\" was by hand or followed another run, and is an "
                    "attempt of no tick: jobkeeper run %s",
                    run, job, job);
        *tick = *run ? run_id_tick(run) : *tick;
        if (*tick <= 0 || *tick > SCHEDULE_TICK_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no tick: it is before 1970, or too far ahead");
        return 0;
}

int answer_rerun(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(request_target_clear) RequestTarget target = {0};
        const char *job, *run, *node;
        int64_t tick;
        Answer *answer;
        int r = sd_bus_message_read(message, "ssxs", &job, &run, &tick, &node);

        if (r < 0)
                return r;
        if ((r = request_admit(owner->view, job, *node ? node : NULL, &target, error)) < 0 ||
            (r = rerun_find_tick(target.job, run, &tick, error)) < 0)
                return r;
        if (!jobset_find(owner->view->jobset,
                         target.job)) /* its ticks are decided by what it has */
                return answer_control_no_such_job(owner->view, error, target.job);
        answer = answer_new(owner, message, rerun_on_read);
        answer->job = g_steal_pointer(&target.job);
        answer->run = *run ? g_strdup(run) : NULL;
        answer->node = g_steal_pointer(&target.node);
        answer->tick = tick;
        answer_explain_read(answer);
        return 1;
}
