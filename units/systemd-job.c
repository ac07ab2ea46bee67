/* Which job has PID 1 queued for a unit? Two reads (the unit's Job, then that job's type) under one
 * time limit: the asker is about to decide whether its own end is a restart, and no answer is an
 * answer too. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "unit-manager.h"

typedef struct SystemdJobQuery {
        Errand errand;
        UnitManager *manager; /* weak: owns us */
        char *path;           /* of the unit, then of its job */
        BusCall *call;
        sd_event_source *timer;
        SystemdJobFunc func;
        void *userdata;
} SystemdJobQuery;

static SystemdJobQuery *systemd_job_query_free(SystemdJobQuery *query) {
        if (!query)
                return NULL;
        unit_manager_disown(query->manager, &query->errand);
        bus_call_free(query->call);
        sd_event_source_disable_unref(query->timer);
        g_free(query->path);
        g_free(query);
        return NULL;
}
DEFINE_CLEANUP(SystemdJobQuery, systemd_job_query_free);

static void systemd_job_query_destroy(Errand *errand) {
        systemd_job_query_free((SystemdJobQuery *)errand);
}

static void query_answer(SystemdJobQuery *query, SystemdJob systemd_job) {
        SystemdJobFunc func = query->func;
        void *userdata = query->userdata;

        systemd_job_query_free(query);
        func(systemd_job, userdata);
}

static int build_get(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, path, DBUS_PROPERTIES,
                                           "Get");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", interface, property);
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}

static int build_get_systemd_job(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        SystemdJobQuery *query = userdata;

        return build_get(bus, query->path, SYSTEMD_SERVICE ".Unit", "Job", ret_message);
}

static int build_get_type(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        SystemdJobQuery *query = userdata;

        return build_get(bus, query->path, SYSTEMD_SERVICE ".Job", "JobType", ret_message);
}

static SystemdJob systemd_job_from_string(const char *type) {
        if (strcmp(type, "stop") == 0)
                return SYSTEMD_JOB_STOP;
        if (strcmp(type, "restart") == 0 || strcmp(type, "try-restart") == 0)
                return SYSTEMD_JOB_RESTART;
        return SYSTEMD_JOB_OTHER;
}

static void on_type(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        const char *type;

        if (reply && sd_bus_message_read(reply, "v", "s", &type) >= 0)
                query_answer(userdata, systemd_job_from_string(type));
        else
                query_answer(userdata, SYSTEMD_JOB_UNKNOWN);
}

static void on_systemd_job(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        SystemdJobQuery *query = userdata;
        const char *path;
        uint32_t id;

        if (!reply || sd_bus_message_read(reply, "v", "(uo)", &id, &path) < 0) {
                query_answer(query, SYSTEMD_JOB_UNKNOWN);
                return;
        }
        if (id == 0) {
                query_answer(query, SYSTEMD_JOB_NONE);
                return;
        }
        g_free(query->path);
        query->path = g_strdup(path);
        query->call = bus_call_free(query->call);
        query->call = bus_call_new(unit_manager_queue(query->manager), build_get_type, on_type,
                                   query, SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        query_answer(userdata, SYSTEMD_JOB_UNKNOWN);
        return 0;
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        _cleanup_(systemd_job_query_freep) SystemdJobQuery *query = g_new0(SystemdJobQuery, 1);
        int r;

        query->errand.destroy = systemd_job_query_destroy;
        query->manager = manager;
        query->func = func;
        query->userdata = userdata;
        r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, unit, &query->path);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(unit_manager_event(manager), &query->timer, CLOCK_MONOTONIC,
                                       timeout, USEC_PER_MSEC, on_timeout, query);
        if (r < 0)
                return r;
        query->call = bus_call_new(unit_manager_queue(manager), build_get_systemd_job,
                                   on_systemd_job, query, SYSTEMD_CALL_TIMEOUT, BUS_CALL_URGENT);
        unit_manager_own(manager, &g_steal_pointer(&query)->errand);
        return 0;
}
