/* See start-job.h. */
#include "start-job.h"

#include <glib.h>

#define ASK_TIMEOUT (2 * USEC_PER_SEC)

void start_job_init(StartJob *job, UnitManager *manager, void (*answered)(void *userdata),
                    void *userdata) {
        *job = (StartJob){.manager = manager, .answered = answered, .userdata = userdata};
        fence_end_init(&job->fence, manager, answered, userdata);
}

void start_job_clear(StartJob *job) {
        job->ask = bus_call_free(job->ask);
        fence_end_clear(&job->fence);
        g_clear_pointer(&job->path, g_free);
        g_clear_pointer(&job->word, g_free);
}

void start_job_found(StartJob *job, const char *path) {
        if (!job->path)
                job->path = g_strdup(path);
}

static int start_job_build_ask(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        return systemd_get(bus, ret_message, SYSTEMD_PATH, SYSTEMD_MANAGER, "SystemState");
}

static void start_job_on_answer(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        StartJob *job = userdata;
        const char *state;

        if (reply && sd_bus_message_read(reply, "v", "s", &state) >= 0 &&
            g_str_equal(state, "stopping"))
                job->stopper = UNIT_STOP_SHUTDOWN;
        job->answered(job->userdata);
}

void start_job_ask_who(StartJob *job) {
        job->stopper = UNIT_STOP_OTHER;
        bus_call_free(job->ask);
        job->ask = bus_call_new(unit_manager_queue(job->manager), start_job_build_ask,
                                start_job_on_answer, job, ASK_TIMEOUT, BUS_CALL_URGENT);
}

void start_job_removed(StartJob *job, const char *path, const char *word, bool by_owner) {
        if (g_strcmp0(job->path, path) != 0)
                return;
        g_free(job->word);
        job->word = g_strdup(word);
        if (!by_owner && start_job_ended_as(job, "canceled"))
                start_job_ask_who(job);
}

void start_job_was_only_cancelled(StartJob *job) {
        if (start_job_ended_as(job, "canceled"))
                g_clear_pointer(&job->word, g_free);
        job->stopper = UNIT_STOP_NONE;
}

void start_job_was_outlived(StartJob *job) {
        job->outlived = true;
        g_clear_pointer(&job->word, g_free);
        job->stopper = UNIT_STOP_NONE;
}

bool start_job_ended_as(const StartJob *job, const char *word) {
        return g_strcmp0(job->word, word) == 0;
}

bool start_job_asks(const StartJob *job) {
        return (job->ask && !bus_call_done(job->ask)) || fence_end_asks(&job->fence);
}
