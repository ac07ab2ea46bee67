/* See job-service.h. */
#include "job-service.h"

typedef struct ServiceKey {
        const char *name, *instead;
} ServiceKey;

#define ALWAYS "a service is to run always, and has no times at which it comes due; leave it out"
#define AGAIN "a service is started again whatever its end was; see \"restart\""
#define ENDLESS                                                                                    \
        "a service is started again after each end, so that none is final; leave it out, and let " \
        "what tells of failures read the journal"

/* What is said of ticks, or of the ends of runs. */
static const ServiceKey keys_of_others[] = {
    {"schedule", ALWAYS},
    {"every", ALWAYS},
    {"after", "a service begins when its definition comes into force; leave it out"},
    {"dst", ALWAYS},
    {"except", ALWAYS},
    {"window", ALWAYS},
    {"random-delay", ALWAYS},
    {"start-deadline", "a service is never too late; leave it out"},
    {"lock-wait", "a service waits for its locks for as long as that takes; leave it out"},
    {"overlap", "of a service there is one run at a time; leave it out"},
    {"slots", "of a service there is one run at a time; leave it out"},
    {"max-failures", "that is for \"mode: each-node\"; leave it out"},
    {"rejoin-timeout", "that is for \"mode: each-node\"; leave it out"},
    {"reboot", "that is for \"mode: each-node\"; leave it out"},
    {"catch-up", ALWAYS},
    {"retries", AGAIN},
    {"no-retry", AGAIN},
    {"on-owner-lost", "a service is started again on another node; leave it out"},
    {"takeover-after", "a run that continues may still be there by then, and would be beside the "
                       "next one for ever; leave it out"},
    {"on-failure", ENDLESS},
    {"on-recovery", ENDLESS},
    {"expect-within", ENDLESS},
    {NULL},
};

static void service_check_keys(const YamlNode *job, Diagnostics *diagnostics) {
        for (const ServiceKey *key = keys_of_others; key->name; key++) {
                const YamlPair *pair = yaml_node_pair(job, key->name);

                if (pair)
                        diagnostics_add(diagnostics, &pair->key->mark,
                                        "\"%s\" and \"mode: service\" cannot be used together: %s",
                                        key->name, key->instead);
        }
}

/* Return: whether it has one that is for it. */
static bool service_check_timeout(const JobSpec *spec, const YamlNode *job,
                                  Diagnostics *diagnostics) {
        const YamlPair *timeout = yaml_node_pair(job, "timeout");
        bool notifies = spec->place.service.ready == JOB_READY_NOTIFY;

        if (timeout && !notifies)
                diagnostics_add(diagnostics, &timeout->key->mark,
                                "\"timeout\" and \"mode: service\" cannot be used together: a "
                                "service runs without end; leave it out (with \"ready: notify\" it "
                                "is how long that may take)");
        return timeout && notifies;
}

/* Two that hold the lock in another way could run at a time. */
static void service_check_lock(const JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *lock = yaml_node_pair(job, "lock");

        if (lock && spec->lock != JOB_LOCK_EXCLUSIVE)
                diagnostics_add(diagnostics, &lock->key->mark,
                                "\"lock: %s\" and \"mode: service\" cannot be used together: a "
                                "service runs once in the cluster, by its lock; leave it out",
                                lock->value->text);
}

void job_service_read(JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        service_check_keys(job, diagnostics);
        service_check_lock(spec, job, diagnostics);
        spec->lock = JOB_LOCK_EXCLUSIVE;
        spec->slots = 1;
        spec->lock_wait_set = false;
        spec->lock_wait = spec->start_deadline = USEC_INFINITY;
        if (!service_check_timeout(spec, job, diagnostics))
                spec->command.timeout = USEC_INFINITY;
        spec->takeover_after = USEC_INFINITY;
        spec->overlap = JOB_OVERLAP_SKIP;
        spec->catch_up = JOB_CATCH_UP_LATEST;
        spec->times.random_delay = 0;
        spec->place.roll = (JobRoll){0};
        spec->books.expect_within = USEC_INFINITY;
        g_clear_pointer(&spec->books.links.on_failure.job, g_free);
        g_clear_pointer(&spec->books.links.on_recovery.job, g_free);
}

void job_service_refuse_keys(JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *restart = yaml_node_pair(job, "restart"),
                       *ready = yaml_node_pair(job, "ready");

        if (restart)
                diagnostics_add(diagnostics, &restart->key->mark,
                                "\"restart\" needs \"mode: service\": a job that comes due at "
                                "times has \"retries\"");
        if (ready)
                diagnostics_add(diagnostics, &ready->key->mark,
                                "\"ready\" needs \"mode: service\": any other run is over when its "
                                "process is");
        spec->place.service.ready = JOB_READY_AT_START; /* that of "defaults" is not for it */
}
