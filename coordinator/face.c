/* See face.h. */
#include "face.h"

#include "control.h"
#include "fence-link.h"
#include "gate.h"
#include "job-explain.h"
#include "job-table.h"
#include "left-queues.h"
#include "leftovers.h"
#include "ranks.h"
#include "registration.h"
#include "requests.h"
#include "status-line.h"
#include "surface.h"
#include "time-sync.h"
#include "tree.h"

struct Face {
        View view;
        Surface *surface;
        StatusLine *line;
        TimeSync *clock;
};

static const char *face_fault(const void *userdata) {
        const Coordinator *coordinator = userdata;

        if (*tree_fault(coordinator->tree))
                return tree_fault(coordinator->tree);
        if (node_unfiled(coordinator->node))
                return node_unfiled(coordinator->node);
        if (systemd_fault_why(coordinator->node->systemd_fault))
                return systemd_fault_why(coordinator->node->systemd_fault);
        if (leftovers_busy(coordinator->left.leftovers))
                return leftovers_busy(coordinator->left.leftovers);
        if (fence_link_fault(coordinator->fence))
                return fence_link_fault(coordinator->fence);
        if (left_queues_busy(coordinator->left.queues))
                return left_queues_busy(coordinator->left.queues);
        return registration_fault(coordinator->registration);
}

/* ---- jobs ---- */

static const ScheduledJob *face_find(const Coordinator *coordinator, const char *name) {
        return job_table_find(coordinator->jobs, name);
}

static const JobSpec *face_job(const void *userdata, const char *name) {
        const ScheduledJob *job = face_find(userdata, name);

        return job ? scheduled_job_spec(job) : NULL;
}

static ScheduledJobState face_job_state(const void *userdata, const char *name) {
        return scheduled_job_state(face_find(userdata, name));
}

static char *face_job_why(const void *userdata, const char *name) {
        return scheduled_job_why(face_find(userdata, name));
}

static json_t *face_explain(const void *userdata, const JobSpec *spec, const Schedule *schedule,
                            const Ledger *ledger, int64_t tick) {
        const Coordinator *coordinator = userdata;
        const JobExplainParts parts = {coordinator->node, coordinator->tree, coordinator->ranks,
                                       coordinator->members};

        return job_explain(&parts, spec, schedule, ledger, tick);
}

static void face_look_again(void *userdata, const char *name) {
        scheduled_job_look_again(job_table_find(((Coordinator *)userdata)->jobs, name));
}

static bool face_can_run(const void *userdata, const char *name) {
        return !ranks_unfit(((const Coordinator *)userdata)->ranks, name);
}

static bool face_has_candidate(const void *userdata, const JobSpec *spec) {
        const Coordinator *coordinator = userdata;
        g_autoptr(GPtrArray) candidates = ranks_candidates(coordinator->ranks, spec);

        return candidates->len > 0 || ranks_is_undecided(coordinator->ranks, spec->name);
}

static char *face_node_why(const void *userdata, const JobSpec *spec, const char *node) {
        const Coordinator *coordinator = userdata;
        const JobExplainParts parts = {coordinator->node, coordinator->tree, coordinator->ranks,
                                       coordinator->members};

        return job_explain_node(&parts, spec, node);
}

static const char *face_outside(const void *userdata) {
        return gate_outside(((const Coordinator *)userdata)->gate);
}

/* Of ourselves we know it before the others can see it. */
static int64_t face_outside_until(const void *userdata, const char *node) {
        const Coordinator *coordinator = userdata;
        const GPtrArray *members = members_list(coordinator->members);

        if (g_str_equal(node, coordinator->config->node_name))
                return gate_outside_until(coordinator->gate);
        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];

                if (g_str_equal(member->node, node))
                        return member->outside;
        }
        return 0;
}

static bool face_is_drained(const Coordinator *coordinator, const char *node) {
        const json_t *control = drain_view_control(tree_drain_view(coordinator->tree));

        return control_is_drained(control, node, NULL);
}

static bool face_is_shut(const Coordinator *coordinator, const char *node) {
        return face_is_drained(coordinator, node) || face_outside_until(coordinator, node) != 0;
}

/* Return: whether there are nodes that can run the job, and all are so. */
static bool face_are_all(const Coordinator *coordinator, const JobSpec *spec,
                         bool (*are)(const Coordinator *coordinator, const char *node)) {
        g_autoptr(GPtrArray) candidates = ranks_candidates(coordinator->ranks, spec);

        for (guint i = 0; i < candidates->len; i++)
                if (!are(coordinator, candidates->pdata[i]))
                        return false;
        return candidates->len > 0;
}

static bool face_all_drained(const void *userdata, const JobSpec *spec) {
        return face_are_all(userdata, spec, face_is_drained);
}

static bool face_all_shut(const void *userdata, const JobSpec *spec) {
        return face_are_all(userdata, spec, face_is_shut);
}

static int face_request(void *userdata, const Requested *wish, ViewRequestFunc func,
                        void *func_userdata, RequestCall **ret_call) {
        return requests_submit(((Coordinator *)userdata)->requests, wish, func, func_userdata,
                               ret_call);
}

static int face_stop(void *userdata, const Requested *wish, ViewRequestFunc func,
                     void *func_userdata, RequestCall **ret_call) {
        return requests_submit_stop(((Coordinator *)userdata)->requests, wish, func, func_userdata,
                                    ret_call);
}

/* ---- the whole ---- */

static const ViewCalls face_calls = {
    .fault = face_fault,
    .job = face_job,
    .job_state = face_job_state,
    .job_why = face_job_why,
    .explain = face_explain,
    .look_again = face_look_again,
    .can_run = face_can_run,
    .has_candidate = face_has_candidate,
    .all_drained = face_all_drained,
    .all_shut = face_all_shut,
    .outside = face_outside,
    .outside_until = face_outside_until,
    .node_why = face_node_why,
    .request = face_request,
    .stop = face_stop,
    .forget_request = request_call_free,
};

int face_new(Coordinator *coordinator, Face **ret_face) {
        _cleanup_(face_freep) Face *face = g_new0(Face, 1);
        int r;

        face->view = (View){
            .node = coordinator->node,
            .jobset = coordinator->jobset,
            .tree = coordinator->tree,
            .digests = coordinator->digests,
            .members = coordinator->members,
            .runs = coordinator->runs,
            .settler = &coordinator->store.settler,
            .locks = coordinator->command_locks,
            .request_lifetime = REQUEST_LIFETIME,
            .calls = &face_calls,
            .userdata = coordinator,
        };
        if ((r = surface_new(&face->view, &face->surface)) < 0 ||
            (r = status_line_new(&face->view, &face->line)) < 0)
                return r;
        face->clock = time_sync_new(coordinator->node, TIME_SYNC_CONTAINER);
        *ret_face = g_steal_pointer(&face);
        return 0;
}

Face *face_free(Face *face) {
        if (!face)
                return NULL;
        time_sync_free(face->clock);
        status_line_free(face->line);
        surface_free(face->surface);
        g_free(face);
        return NULL;
}
