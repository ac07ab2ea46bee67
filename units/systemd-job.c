/* See systemd-job.h. Up to three reads (the unit's Job, that job's type, and where it is a stop
 * what PID 1 is about) under one time limit, because no answer is an answer too. */
#include "systemd-job.h"

#include <glib.h>

#include "timer.h"

typedef struct SystemdJobQuery {
        Errand errand;
        UnitManager *manager; /* weak: owns us */
        char *path;           /* of the unit, then of its job */
        bool of_unit;
        SystemdJob known; /* what to answer where no more is said */
        BusCall *call;
        sd_event_source *timer;
        SystemdJobFunc func;
        void *userdata;
} SystemdJobQuery;

static void query_destroy(Errand *errand) {
        SystemdJobQuery *query = (SystemdJobQuery *)errand;

        unit_manager_disown(query->manager, errand);
        bus_call_free(query->call);
        sd_event_source_disable_unref(query->timer);
        g_free(query->path);
        g_free(query);
}

static void query_answer(SystemdJobQuery *query, SystemdJob systemd_job) {
        SystemdJobFunc func = query->func;
        void *userdata = query->userdata;

        query_destroy(&query->errand);
        func(systemd_job, userdata);
}

static int query_build(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        const SystemdJobQuery *query = userdata;

        return query->of_unit
                   ? systemd_get(bus, ret_message, query->path, SYSTEMD_SERVICE ".Unit", "Job")
                   : systemd_get(bus, ret_message, query->path, SYSTEMD_SERVICE ".Job", "JobType");
}

static int query_build_state(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        return systemd_get(bus, ret_message, SYSTEMD_PATH, SYSTEMD_MANAGER, "SystemState");
}

static SystemdJob systemd_job_from_string(const char *type) {
        if (g_str_equal(type, "stop"))
                return SYSTEMD_JOB_STOP;
        if (g_str_equal(type, "restart") || g_str_equal(type, "try-restart"))
                return SYSTEMD_JOB_RESTART;
        return SYSTEMD_JOB_OTHER;
}

static void query_ask(SystemdJobQuery *query, BusCallBuild build, BusCallFunc func) {
        unit_manager_call(query->manager, &query->call, build, func, query, BUS_CALL_URGENT);
}

static void query_on_state(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        SystemdJobQuery *query = userdata;
        const char *state;

        if (reply && sd_bus_message_read(reply, "v", "s", &state) >= 0 &&
            g_str_equal(state, "stopping"))
                query->known = SYSTEMD_JOB_SHUTDOWN;
        query_answer(query, query->known);
}

static void query_on_type(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        SystemdJobQuery *query = userdata;
        const char *type;

        if (reply && sd_bus_message_read(reply, "v", "s", &type) >= 0)
                query->known = systemd_job_from_string(type);
        if (query->known == SYSTEMD_JOB_STOP)
                query_ask(query, query_build_state, query_on_state);
        else
                query_answer(query, query->known);
}

static void query_on_job(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        SystemdJobQuery *query = userdata;
        const char *path;
        uint32_t id;

        if (!reply || sd_bus_message_read(reply, "v", "(uo)", &id, &path) < 0)
                query_answer(query, SYSTEMD_JOB_UNKNOWN);
        else if (id == 0)
                query_answer(query, SYSTEMD_JOB_NONE);
        else {
                g_free(query->path);
                query->path = g_strdup(path);
                query->of_unit = false;
                query_ask(query, query_build, query_on_type);
        }
}

static void query_on_timeout(void *userdata) {
        SystemdJobQuery *query = userdata;

        query_answer(query, query->known);
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        SystemdJobQuery *query = g_new0(SystemdJobQuery, 1);
        int r;

        *query = (SystemdJobQuery){.errand.destroy = query_destroy,
                                   .manager = manager,
                                   .of_unit = true,
                                   .known = SYSTEMD_JOB_UNKNOWN,
                                   .func = func,
                                   .userdata = userdata};
        unit_manager_own(manager, &query->errand);
        r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, unit, &query->path);
        if (r >= 0)
                r = timer_in(unit_manager_event(manager), &query->timer, timeout, query_on_timeout,
                             query);
        if (r >= 0)
                query_ask(query, query_build, query_on_job);
        else
                query_destroy(&query->errand);
        return r;
}
