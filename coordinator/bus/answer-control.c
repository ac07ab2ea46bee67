/* See answer-control.h. */
#include "answer-control.h"

#include <errno.h>
#include <string.h>

#include "bus-interface.h"
#include "name.h"
#include "nearest.h"
#include "status-report.h"

/* Among more jobs than that no other name is looked for on behalf of everybody: that takes too long
 * for what anybody may ask, over and over. */
#define NEAREST_OF_ALL_MAX 500

static const char *control_failure(int error, const char *no_room) {
        switch (error) {
        case -EBADMSG:
                return "the control node in ZooKeeper is damaged: the log of jobkeeperd says more";
        case -ENOSPC:
                return no_room;
        case -EACCES:
                return "ZooKeeper permits no change of the control node";
        case -EAGAIN:
                return "others change the control node in ZooKeeper all the time: try again";
        default:
                return "no reply from ZooKeeper: it may still be done; try again";
        }
}

int answer_control_admit(const View *view, sd_bus_error *error) {
        g_autofree char *sentence = NULL;

        if (node_is_ready(view->node) && session_state(view->node->session) == SESSION_CONNECTED)
                return 0;
        sentence = status_unusable(view);
        return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED, sentence);
}

/* Return: the name of a job that may be meant, borrowed, or NULL. */
static const char *control_nearest_job(const View *view, const char *job) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_null_terminated(0, NULL, TRUE);

        for (guint i = 0; i < jobset_size(view->jobset); i++)
                g_ptr_array_add(names, jobset_get(view->jobset, i)->name);
        return nearest_name(job, (const char *const *)names->pdata);
}

/* Return: the first other member that has an instance of the job of mode each-node, by what it says
 * of itself; borrowed until the loop runs, or NULL. */
static const Member *control_member_of_each(const View *view, const JobSpec *each) {
        const GPtrArray *members = members_list(view->members);

        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];

                if (strcmp(member->node, view->node->config->node_name) != 0 &&
                    job_spec_matches_node(each, member->node, member->labels))
                        return member;
        }
        return NULL;
}

/* The job of mode each-node has no instance here. Return: newly allocated. */
static char *control_not_here(const View *view, const JobSpec *each, const char *base) {
        const Member *member = control_member_of_each(view, each);
        g_autofree char *such =
            member ? g_strdup_printf(", as on %s for \"%s@%s\"", member->node, base, member->node)
                   : g_strdup("");

        return g_strdup_printf("job \"%s\" does not run on this node (\"nodes\" does not match "
                               "it): ask on one of those%s",
                               base, such);
}

/* Return: newly allocated (g_free), where a job is that the files have, and this node has not under
 * that name; NULL: it is not in the files, or of a node of which nothing is known. */
static char *control_elsewhere(const View *view, const char *job) {
        const char *own = view->node->config->node_name, *node = job_name_node(job);
        g_autofree char *base = job_name_base(job), *here = job_name_of_instance(base, own);
        const JobSpec *each = jobset_find_each(view->jobset, base);

        if (!each)
                return NULL;
        if (node && strcmp(node, own) != 0)
                return members_contains(view->members, node)
                           ? g_strdup_printf("job \"%s\" is one of %s, and this node knows too "
                                             "little of it: ask there",
                                             job, node)
                           : NULL;
        return jobset_find(view->jobset, here)
                   ? g_strdup_printf("job \"%s\" is of mode each-node, a job of its own on every "
                                     "node: write of which one, as in \"%s\"",
                                     job, here)
                   : control_not_here(view, each, base);
}

/* Return: newly allocated (g_free), ", and n9 is no member of the cluster at present" of a job that
 * would be that node's; "" of others. */
static char *control_no_member(const View *view, const char *job) {
        const char *node = job_name_node(job);

        return node && jobset_definition(view->jobset, job) &&
                       !members_contains(view->members, node)
                   ? g_strdup_printf(", and %s is no member of the cluster at present", node)
                   : g_strdup("");
}

/* Return: newly allocated (g_free), that it may stand in what was refused here; "" where nothing
 * was. */
static char *control_refused(const View *view, const char *job) {
        const char *const *files = jobset_unloaded(view->jobset);

        if (g_strv_contains(jobset_left_out(view->jobset), job))
                return g_strdup(
                    "; its definition was refused, which \"jobkeeper status\" tells of");
        if (!*files)
                return g_strdup("");
        return g_strdup_printf("; it may be in %s%s, refused for %s errors, which \"jobkeeper "
                               "status\" tells of",
                               *files, files[1] ? ", or another file" : "",
                               files[1] ? "their" : "its");
}

static int control_no_such_job(const View *view, sd_bus_error *error, const char *job,
                               const char *nearest) {
        g_autofree char *shown = name_shown(job), *elsewhere = NULL, *no_member = NULL,
                        *refused = NULL;

        elsewhere = job_name_is_valid(job) ? control_elsewhere(view, job) : NULL;
        if (elsewhere)
                return sd_bus_error_set(error, BUS_ERROR_JOB_ELSEWHERE, elsewhere);
        no_member = control_no_member(view, job);
        refused = control_refused(view, job);
        return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_JOB,
                                 "there is no job \"%s\" on this node%s%s%s%s%s", shown, no_member,
                                 nearest ? " (did you mean \"" : "", nearest ? nearest : "",
                                 nearest ? "\"?)" : "", refused);
}

void answer_control_no_job(Answer *answer, const char *more) {
        const View *view = answer_view(answer);
        g_autofree char *elsewhere = control_elsewhere(view, answer->job), *no_member = NULL,
                        *refused = NULL;

        if (elsewhere) {
                answer_error(answer, BUS_ERROR_JOB_ELSEWHERE, "%s", elsewhere);
                return;
        }
        no_member = control_no_member(view, answer->job);
        refused = control_refused(view, answer->job);
        answer_error(answer, BUS_ERROR_NO_SUCH_JOB, "there is no job \"%s\" on this node%s%s%s",
                     answer->job, no_member, more, refused);
}

int answer_control_no_such_job(const View *view, sd_bus_error *error, const char *job) {
        return control_no_such_job(view, error, job, control_nearest_job(view, job));
}

int answer_control_no_job_of_anybody(const Answers *owner, sd_bus_error *error, const char *job) {
        bool cheap = owner->privileged || jobset_size(owner->view->jobset) <= NEAREST_OF_ALL_MAX;

        return control_no_such_job(owner->view, error, job,
                                   cheap ? control_nearest_job(owner->view, job) : NULL);
}

const char *answer_control_nearest_node(const View *view, const char *node) {
        const GPtrArray *members = members_list(view->members);
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < members->len; i++)
                g_ptr_array_add(names, ((const Member *)members->pdata[i])->node);
        g_ptr_array_add(names, NULL);
        return nearest_name(node, (const char *const *)names->pdata);
}

void answer_control_failed(Answer *answer, int error, const char *no_room) {
        answer_error(answer, error == -ENOTCONN ? BUS_ERROR_NOT_CONNECTED : BUS_ERROR_FAILED, "%s",
                     control_failure(error, no_room));
}

char *answer_control_person(const View *view, const char *who) {
        return g_strdup_printf("%s on %s", *who ? who : "root", view->node->config->node_name);
}
