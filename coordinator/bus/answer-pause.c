/* See answer-pause.h. */
#include "answer-pause.h"

#include "answer-control.h"
#include "bus-interface.h"
#include "name.h"
#include "pause-call.h"

char *answer_pause_refusal(const View *view, const char *job) {
        const json_t *control = drain_view_control(tree_drain_view(view->tree));
        ControlPause pause = {0};
        g_autofree char *text = NULL, *base = job_name_base(job);
        const bool own = control_is_paused(control, job, clock_realtime(), NULL);

        if (!control_pause_lasts(control, job, clock_realtime(), &pause))
                return NULL;
        text = control_pause_to_text(&pause);
        control_pause_clear(&pause);
        return pause.all ? g_strdup_printf("%s (jobkeeper resume --all)", text)
                         : g_strdup_printf("job \"%s\" is %s (jobkeeper resume %s)", job, text,
                                           own ? job : base);
}

/* A job that has left the files may be paused still. */
static bool pause_is_known(const View *view, const char *job, PauseWish wish) {
        const json_t *control = drain_view_control(tree_drain_view(view->tree));

        return jobset_definition(view->jobset, job) || jobset_find_each(view->jobset, job) ||
               (wish == PAUSE_END && control_is_paused(control, job, clock_realtime(), NULL));
}

static void pause_on_done(int error, const json_t *state, void *userdata) {
        Answer *answer = userdata;

        if (error < 0)
                answer_control_failed(answer, error,
                                      "too many jobs are paused one by one: resume some, or pause "
                                      "all with --all");
        else
                answer_reply(answer, json_deep_copy(state));
}

static void pause_on_gone(const Answer *answer, void *userdata) {
        (void)pause_call_free(userdata);
}

/* `job`: "" for all. */
static int pause_wish(Answers *owner, sd_bus_message *message, sd_bus_error *error, const char *job,
                      PauseWish wish, const char *by, const char *why) {
        const View *view = owner->view;
        PauseCall *call = NULL;
        Answer *answer;
        int r;

        if (*job && (!job_name_is_valid(job) || !pause_is_known(view, job, wish)))
                return answer_control_no_such_job(view, error, job);
        r = answer_control_admit(view, error);
        if (r < 0)
                return r;
        answer = answer_new(owner, message, NULL);
        if (pause_call_new(view->node, *job ? job : NULL, wish, by, why, pause_on_done, answer,
                           &call) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        else
                answer_on_gone(answer, pause_on_gone, call);
        return 1;
}

int answer_pause(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job, *why, *who;
        g_autofree char *by = NULL;
        int r = sd_bus_message_read(message, "sss", &job, &why, &who);

        if (r < 0)
                return r;
        by = answer_control_person(owner->view, who);
        return pause_wish(owner, message, error, job, PAUSE_BEGIN, by, why);
}

int answer_resume(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const char *job;
        int r = sd_bus_message_read(message, "s", &job);

        if (r < 0)
                return r;
        /* What comes due by the end of a pause is skipped, so that must not be a wrong one. */
        if (node_is_ready(owner->view->node) && !node_knows_server_time(owner->view->node))
                return sd_bus_error_set(error, BUS_ERROR_FAILED,
                                        "this node's clock was not compared with ZooKeeper's yet: "
                                        "try again in a few seconds, or on another node");
        return pause_wish(owner, message, error, job, PAUSE_END, "", "");
}
