/* See service-manager.h. */
#include "service-manager.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <string.h>

#include "clearing.h"
#include "launch-dropin.h"
#include "service-scopes.h"

#define LOOK (10 * USEC_PER_MSEC)

ServiceManager service_manager;
GPtrArray *started;

struct UnitManager {
        sd_event_source *query;
        SystemdJobFunc func;
        void *userdata;
        const UnitListener *listener; /* of the daemon's own unit */
        UnitManagerFunc silence_func;
        void *silence_userdata;
        GPtrArray *forsaken; /* of Unit */
};

static UnitManager *the_manager;

struct Unit {
        char *name;
        Service *service; /* NULL: there is none */
        UnitFunc func;
        void *userdata;
        UnitResult result;
        usec_t asked;    /* to end, first; USEC_INFINITY: never */
        unsigned events; /* bits of UnitEvent still to be told */
        sd_event_source *teller;
};

static void service_free(gpointer data) {
        Service *service = data;

        g_free(service->name);
        g_free(service->nonce);
        g_free(service->slice);
        g_free(service->command);
        g_strfreev(service->environment);
        g_free(service);
}

void service_manager_begin(sd_event *event) {
        started = g_ptr_array_new_with_free_func(g_free);
        service_manager = (ServiceManager){.event = event,
                                           .services = g_ptr_array_new_with_free_func(service_free),
                                           .query_error = -ENOTCONN,
                                           .patience = CLEARING_PATIENCE};
        service_scopes_begin();
}

void service_manager_end(void) {
        service_scopes_end();
        g_clear_pointer(&service_manager.services, g_ptr_array_unref);
        g_clear_pointer(&started, g_ptr_array_unref);
}

/* ---- services ---- */

Service *service_newest(void) {
        guint n = service_manager.services->len;

        return n > 0 ? service_manager.services->pdata[n - 1] : NULL;
}

Service *service_find(const char *name) {
        for (guint i = service_manager.services->len; i > 0; i--) {
                Service *service = service_manager.services->pdata[i - 1];
                if (service->state != SERVICE_FORGOTTEN && strcmp(service->name, name) == 0)
                        return service;
        }
        return NULL;
}

bool service_is_alive(const Service *service) {
        return service->state == SERVICE_RUNNING || service->state == SERVICE_LINGERING;
}

unsigned services_alive(void) {
        unsigned n = 0;

        for (guint i = 0; i < service_manager.services->len; i++)
                n += service_is_alive(service_manager.services->pdata[i]);
        return n;
}

Service *service_add(const char *name, const char *nonce, const char *slice) {
        Service *service = g_new0(Service, 1);

        service->name = g_strdup(name);
        service->nonce = g_strdup(nonce);
        service->slice = g_strdup(slice);
        service->state = SERVICE_RUNNING;
        service->result = (UnitResult){.started = clock_realtime(), .cpu = USEC_INFINITY};
        g_strlcpy(service->result.invocation_id, "0123456789abcdef0123456789abcdef",
                  sizeof(service->result.invocation_id));
        g_ptr_array_add(service_manager.services, service);
        return service;
}

/* ---- what whoever watches is told, one event a round of the loop ---- */

static int unit_on_teller(sd_event_source *source, void *userdata) {
        Unit *unit = userdata;
        unsigned event = 0;

        (void)source;
        while (!(unit->events & 1U << event))
                event++;
        unit->events &= ~(1U << event);
        if (unit->service)
                unit->result = unit->service->result;
        if (unit->events == 0)
                unit->teller = sd_event_source_disable_unref(unit->teller);
        unit->func(unit, (UnitEvent)event, unit->userdata);
        return 0;
}

static void unit_tell(Unit *unit, UnitEvent event) {
        if (!unit)
                return;
        unit->events |= 1U << event;
        if (unit->teller)
                return;
        cr_assert_geq(
            sd_event_add_defer(service_manager.event, &unit->teller, unit_on_teller, unit), 0);
        cr_assert_geq(sd_event_source_set_enabled(unit->teller, SD_EVENT_ON), 0);
}

void service_begin(Service *service) {
        cr_assert_eq(service->state, SERVICE_ASKED);
        service->state = SERVICE_RUNNING;
        service->result.started = clock_realtime();
        unit_tell(service->unit, UNIT_EVENT_STARTED);
        service_obey(service);
}

void service_empty(Service *service) {
        cr_assert_eq(service->state, SERVICE_LINGERING);
        service->state = SERVICE_OVER;
        unit_tell(service->unit, UNIT_EVENT_ENDED);
}

void service_end(Service *service, UnitOutcome outcome, int status, const char *detail) {
        cr_assert_eq(service->state, SERVICE_RUNNING);
        service->state = SERVICE_LINGERING;
        service->result.outcome = outcome;
        service->result.exit_status = status;
        service->result.stop = service->stops + service->kills > 0 ? UNIT_STOP_OWNER
                               : service_manager.shuts_down        ? UNIT_STOP_SHUTDOWN
                                                                   : UNIT_STOP_NONE;
        service->result.left = service->lingers;
        service->result.ended = clock_realtime();
        g_strlcpy(service->result.detail, detail, sizeof(service->result.detail));
        unit_tell(service->unit, UNIT_EVENT_EXITED);
        if (!service->lingers)
                service_empty(service);
}

void service_exit(Service *service, int status) {
        service_end(service, status ? UNIT_OUTCOME_EXIT_CODE : UNIT_OUTCOME_SUCCESS, status,
                    status ? "exit-code" : "");
}

void service_die(Service *service, int signal) {
        service_end(service, UNIT_OUTCOME_SIGNAL, signal, "signal");
}

void service_obey(Service *service) {
        if (service->state == SERVICE_RUNNING && service->stops + service->kills > 0)
                service_die(service, service->kills > 0 ? SIGKILL : SIGTERM);
        if (service->state == SERVICE_LINGERING && service->kills > 0)
                service_empty(service);
}

void service_vanish(Service *service) {
        if (service->state < SERVICE_OVER) {
                service->result.outcome = UNIT_OUTCOME_UNKNOWN;
                service->result.stop =
                    service->stops + service->kills > 0 ? UNIT_STOP_OWNER : UNIT_STOP_NONE;
                unit_tell(service->unit, UNIT_EVENT_ENDED);
        }
        service->state = SERVICE_FORGOTTEN;
}

static void service_stop(Service *service) {
        service->stops++;
        if (!service_manager.deaf)
                service_obey(service);
}

static void service_kill(Service *service) {
        service->kills++;
        if (!service_manager.deaf)
                service_obey(service);
}

/* ---- units ---- */

static int unit_new(const char *name, UnitFunc func, void *userdata, Unit **ret_unit) {
        Unit *unit;

        if (service_manager.start_error < 0)
                return service_manager.start_error;
        unit = g_new0(Unit, 1);
        unit->name = g_strdup(name);
        unit->func = func;
        unit->userdata = userdata;
        unit->asked = USEC_INFINITY;
        *ret_unit = unit;
        return 0;
}

/* Says where the service has got to by now. */
static void unit_watch(Unit *unit, Service *service, bool adopted) {
        unit->service = service;
        service->unit = unit;
        if (service->state == SERVICE_RUNNING || (service->state != SERVICE_ASKED && !adopted))
                unit_tell(unit, UNIT_EVENT_STARTED);
        if (service->state > SERVICE_RUNNING)
                unit_tell(unit, UNIT_EVENT_EXITED);
        if (service->state > SERVICE_LINGERING)
                unit_tell(unit, UNIT_EVENT_ENDED);
}

static void unit_refuse(Unit *unit, const char *detail) {
        unit->result.outcome =
            service_manager.no_room ? UNIT_OUTCOME_NO_ROOM : UNIT_OUTCOME_START_FAILED;
        unit->result.cpu = USEC_INFINITY;
        g_strlcpy(unit->result.detail, detail, sizeof(unit->result.detail));
        unit_tell(unit, UNIT_EVENT_ENDED);
}

int unit_start(UnitManager *manager, const UnitSpec *spec, UnitFunc func, void *userdata,
               Unit **ret_unit) {
        Service *service = service_find(spec->name);
        int r;

        (void)manager;
        if (service_manager.dropin_root &&
            (r = launch_dropin_write(service_manager.dropin_root, spec)) < 0)
                return r;
        if ((r = unit_new(spec->name, func, userdata, ret_unit)) < 0)
                return r;
        if (service_manager.refuses || (service && strcmp(service->nonce, spec->nonce) != 0)) {
                unit_refuse(*ret_unit, service ? "a unit of that name exists" : "refused");
                return 0;
        }
        if (!service) {
                service = service_add(spec->name, spec->nonce, spec->slice);
                service->command = g_strjoinv(" ", (char **)spec->argv);
                service->environment = g_strdupv((char **)spec->environment);
                g_ptr_array_add(started, g_strdup(service->command));
                if (service_manager.hold_starts) {
                        service->state = SERVICE_ASKED;
                        service->result.started = 0;
                }
        }
        unit_watch(*ret_unit, service, false);
        return 0;
}

static void unit_is_absent(Unit *unit) {
        unit->result.fence_left = service_manager.fence_left;
        unit_tell(unit, UNIT_EVENT_ABSENT);
}

int unit_adopt(UnitManager *manager, const char *name, const char *nonce, UnitFunc func,
               void *userdata, Unit **ret_unit) {
        Service *service = service_find(name);
        int r;

        (void)manager;
        if (!nonce)
                return -EINVAL;
        if ((r = unit_new(name, func, userdata, ret_unit)) < 0)
                return r;
        if (service && g_strcmp0(service->nonce, nonce) == 0)
                unit_watch(*ret_unit, service, true);
        else
                unit_is_absent(*ret_unit);
        return 0;
}

void unit_stop(Unit *unit) {
        unit->asked = MIN(unit->asked, clock_monotonic());
        if (unit->service)
                service_stop(unit->service);
}

void unit_was_ordered(Unit *unit, usec_t when) {
        unit->asked = when;
}

usec_t unit_asked(const Unit *unit) {
        return unit->asked;
}

void unit_kill(Unit *unit) {
        unit->asked = MIN(unit->asked, clock_monotonic());
        if (unit->service)
                service_kill(unit->service);
}

void unit_discard(Unit *unit) {
        if (unit->service && unit->service->state == SERVICE_OVER)
                unit->service->state = SERVICE_FORGOTTEN;
}

/* Its end is told to nobody. */
static void unit_on_forsaken(Unit *unit, UnitEvent event, void *userdata) {
        (void)userdata;
        if (event == UNIT_EVENT_ENDED || event == UNIT_EVENT_ABSENT)
                unit_discard(unit);
}

void unit_forsake(Unit *unit) {
        unit->func = unit_on_forsaken;
        g_ptr_array_add(the_manager->forsaken, unit);
        unit_stop(unit);
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        sd_event_source_disable_unref(unit->teller);
        if (unit->service && unit->service->unit == unit)
                unit->service->unit = NULL;
        g_free(unit->name);
        g_free(unit);
        return NULL;
}

const UnitResult *unit_result(const Unit *unit) {
        return &unit->result;
}

bool unit_is_populated(const UnitManager *manager, const char *const *slices, const char *unit) {
        const Service *service = service_find(unit);

        (void)manager;
        return service && service_is_alive(service) && g_strv_contains(slices, service->slice);
}

/* ---- the connection to PID 1 ---- */

static void unit_destroy(gpointer unit) {
        (void)unit_free(unit);
}

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        (void)event;
        *ret_manager = the_manager = g_new0(UnitManager, 1);
        the_manager->forsaken = g_ptr_array_new_with_free_func(unit_destroy);
        return 0;
}

void unit_manager_listen(UnitManager *manager, UnitListener *listener) {
        cr_assert_null(manager->listener);
        manager->listener = listener;
}

void unit_manager_unlisten(UnitManager *manager, UnitListener *listener) {
        cr_assert_eq(manager->listener, listener);
        manager->listener = NULL;
}

void service_manager_has_a_job(SystemdJob systemd_job) {
        service_manager.query_error = 0;
        service_manager.systemd_job = systemd_job;
        the_manager->listener->systemd_job_added(the_manager->listener->userdata);
}

UnitManager *unit_manager_free(UnitManager *manager) {
        if (manager) {
                sd_event_source_disable_unref(manager->query);
                g_ptr_array_unref(manager->forsaken);
        }
        if (manager == the_manager)
                the_manager = NULL;
        g_free(manager);
        return NULL;
}

void unit_manager_on_silence(UnitManager *manager, UnitManagerFunc func, void *userdata) {
        manager->silence_func = func;
        manager->silence_userdata = userdata;
}

usec_t unit_manager_silence(const UnitManager *manager) {
        return manager ? service_manager.silence : 0;
}

void service_manager_falls_silent(usec_t silence) {
        service_manager.silence = silence;
        the_manager->silence_func(silence > 0, the_manager->silence_userdata);
}

const char *unit_manager_dropin_root(const UnitManager *manager) {
        (void)manager;
        return service_manager.dropin_root ? service_manager.dropin_root : "/nonexistent";
}

bool unit_manager_connected(const UnitManager *manager) {
        return manager && !service_manager.disconnected;
}

bool unit_manager_busy(const UnitManager *manager) {
        return manager && service_manager.busy;
}

static int manager_on_query(sd_event_source *source, void *userdata) {
        UnitManager *manager = userdata;

        (void)source;
        manager->query = sd_event_source_disable_unref(manager->query);
        manager->func(service_manager.systemd_job, manager->userdata);
        return 0;
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        (void)unit;
        (void)timeout;
        if (service_manager.query_error < 0)
                return service_manager.query_error;
        manager->func = func;
        manager->userdata = userdata;
        manager->query = sd_event_source_disable_unref(manager->query);
        return sd_event_add_defer(service_manager.event, &manager->query, manager_on_query,
                                  manager);
}

/* ---- clearing ---- */

struct Clearing {
        ClearingOptions options;
        GHashTable *told; /* a set of names */
        bool kills;
        usec_t since; /* CLOCK_MONOTONIC */
        sd_event_source *timer;
};

static bool clearing_names(const Clearing *clearing, const char *name) {
        for (const char *const *pattern = clearing->options.patterns; *pattern; pattern++)
                if (fnmatch(*pattern, name, 0) == 0)
                        return true;
        return false;
}

static bool clearing_concerns(const Clearing *clearing, const Service *service) {
        return g_strv_contains(clearing->options.slices, service->slice) &&
               clearing_names(clearing, service->name) &&
               !clearing->options.spare(service->name, clearing->options.userdata);
}

/* Return: whether it is one of those that are to end. */
static bool clearing_wants(const Clearing *clearing, const Service *service) {
        return service->state <= SERVICE_LINGERING && clearing_concerns(clearing, service);
}

static void clearing_end(Clearing *clearing, Service *service) {
        if (g_hash_table_add(clearing->told, g_strdup(service->name)))
                clearing->options.found(service->name,
                                        service->state == SERVICE_LINGERING &&
                                            service->result.outcome == UNIT_OUTCOME_SUCCESS,
                                        clearing->options.userdata);
        if (clearing->kills)
                service_kill(service);
        else if (service->stops == 0)
                service_stop(service);
}

static void clearing_tell_stuck(const Clearing *clearing) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < service_manager.services->len; i++) {
                Service *service = service_manager.services->pdata[i];
                if (clearing_wants(clearing, service))
                        g_ptr_array_add(names, service->name);
        }
        g_ptr_array_add(names, NULL);
        clearing->options.stuck((const char *const *)names->pdata, clearing->options.userdata);
}

static int clearing_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Clearing *clearing = userdata;
        const ClearingOptions options = clearing->options;
        unsigned left = 0;

        (void)usec;
        for (guint i = 0; !service_manager.disconnected && i < service_manager.services->len; i++) {
                Service *service = service_manager.services->pdata[i];
                if (options.over && service->state == SERVICE_OVER &&
                    clearing_concerns(clearing, service))
                        options.over(service->name, options.userdata);
                if (!clearing_wants(clearing, service))
                        continue;
                left++;
                clearing_end(clearing, service);
        }
        if (left > 0 && options.stuck &&
            clock_monotonic() >= clearing->since + service_manager.patience)
                clearing_tell_stuck(clearing);
        if (left > 0 || service_manager.disconnected)
                return sd_event_source_set_time_relative(source, LOOK);
        options.gone(options.userdata);
        return 0;
}

int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing) {
        Clearing *clearing = g_new0(Clearing, 1);

        (void)manager;
        clearing->options = *options;
        clearing->since = clock_monotonic();
        clearing->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        cr_assert_geq(sd_event_add_time_relative(service_manager.event, &clearing->timer,
                                                 CLOCK_MONOTONIC, 0, 1, clearing_on_timer,
                                                 clearing),
                      0);
        cr_assert_geq(sd_event_source_set_enabled(clearing->timer, SD_EVENT_ON), 0);
        *ret_clearing = clearing;
        return 0;
}

void clearing_look_anew(Clearing *clearing) {
        (void)sd_event_source_set_time_relative(clearing->timer, 0);
}

void clearing_kill(Clearing *clearing) {
        clearing->kills = true;
        clearing_look_anew(clearing);
}

Clearing *clearing_free(Clearing *clearing) {
        if (!clearing)
                return NULL;
        sd_event_source_disable_unref(clearing->timer);
        g_hash_table_unref(clearing->told);
        g_free(clearing);
        return NULL;
}
