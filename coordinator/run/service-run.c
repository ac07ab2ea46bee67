/* See service-run.h. */
#include "service-run.h"

#include "log.h"
#include "message-id.h"

/* `spec`: what our files have of the job now, under another name since it may be; or NULL. `whole`:
 * nothing in them is broken. Return: why the service is not to run here, constant; NULL: it may. */
static const char *service_run_why_not(const JobSpec *spec, const char *job, bool whole,
                                       const DaemonConfig *config) {
        if (!spec)
                return whole ? "its job is not in this node's job files any more" : NULL;
        if (spec->place.mode != JOB_MODE_SERVICE)
                return "its job is no service any more";
        /* The new name begins when nothing runs by the old one. */
        if (!g_str_equal(spec->name, job))
                return "its job has another name";
        return job_spec_matches_node(spec, config->node_name, config->labels)
                   ? NULL
                   : "its job is not for this node any more";
}

void service_run_end(Run *run, const char *why) {
        const RunRecord *record = run->record;
        const LogAbout about = {.message_id = MESSAGE_SERVICE_LEAVES,
                                .job = record->job,
                                .run = record->run,
                                .tick = record->tick};

        if (!record->terms.service || run->phase >= RUN_PHASE_STOPPING)
                return;
        log_info(&about, "ending run %s of the service: %s", record->run, why);
        run_stop(run, true, why);
}

void service_run_judge(Run *run, const JobSet *jobset) {
        const char *const *errors = NULL;
        const char *why = NULL;

        if (!run->record->terms.service)
                return;
        errors = jobset_errors(jobset);
        why = service_run_why_not(jobset_find_of_run(jobset, run->record->job), run->record->job,
                                  !errors || !*errors, run->parts->node->config);
        if (why)
                service_run_end(run, why);
}
