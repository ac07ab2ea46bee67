/* units/unit-manager.h and systemd-job.h for a simulation: the daemon's side of the connection. */
#include "unit-manager.h"

#include <string.h>

#include "pid1-call.h"
#include "silence.h"
#include "timer.h"

/* How long a message takes, each way. */
#define TRAVEL_MIN 100
#define TRAVEL_MAX (3 * USEC_PER_MSEC)

/* What PID 1 does not tell now it tells later. */
#define LATER (50 * USEC_PER_MSEC)

/* News of a unit on its way. */
typedef struct News {
        UnitManager *manager;
        char *unit;
        const char *word;
        bool empty;
        ProcessTask *task;
        GList link;
} News;

/* A question for the daemon's job that may be given up. */
typedef struct Query {
        UnitManager *manager;
        SystemdJobFunc func;
        void *userdata;
        Pid1Call *call;
        sd_event_source *patience;
} Query;

struct UnitManager {
        sd_event *event;
        Process *process;
        Pid1 *pid1;
        GQueue calls, news;
        GPtrArray *listeners;     /* of ManagerListener */
        sd_event_source *pump;    /* tells one answer a turn */
        ProcessTask *returns;     /* the connection */
        unsigned connections;     /* that there were before this one */
        usec_t last_back;         /* when the answer that was sent last arrives */
        GPtrArray *queries;       /* of Query, not answered yet */
        GPtrArray *own_listeners; /* of UnitListener: of the daemon's unit */
        GPtrArray *forsaken;      /* of Unit */
        Silence *silence;
        Pid1Call *probe; /* of the silence */
        UnitManagerFunc silence_func;
        void *silence_userdata;
};

/* ---- does PID 1 answer: as in units/unit-manager.c ---- */

void unit_manager_on_silence(UnitManager *manager, UnitManagerFunc func, void *userdata) {
        manager->silence_func = func;
        manager->silence_userdata = userdata;
}

usec_t unit_manager_silence(const UnitManager *manager) {
        return silence_lasts(manager->silence);
}

static void manager_on_silence(bool silent, void *userdata) {
        UnitManager *manager = userdata;

        if (manager->silence_func)
                manager->silence_func(silent, manager->silence_userdata);
}

static void manager_ask(void *userdata) {
        UnitManager *manager = userdata;

        if (unit_manager_connected(manager))
                pid1_call_send(manager, PID1_CALL_PROBE, "", NULL, NULL, NULL, &manager->probe);
}

/* What a manager hears. */
typedef struct Heard {
        UnitManager *manager;
        Pid1CallNews news;
} Heard;

static void manager_hears(void *userdata) {
        const Heard *heard = userdata;
        UnitManager *manager = heard->manager;

        switch (heard->news) {
        case PID1_CALL_LEFT:
                silence_waits(manager->silence);
                return;
        case PID1_CALL_ANSWERED:
                silence_answered(manager->silence, pid1_call_oldest(manager));
                return;
        case PID1_CALL_MISSED:
                silence_missed(manager->silence, pid1_call_oldest(manager));
                return;
        case PID1_CALL_LET_GO:
                silence_let_go(manager->silence, pid1_call_oldest(manager));
                return;
        }
}

void manager_heard(UnitManager *manager, Pid1CallNews news) {
        Heard heard = {manager, news};

        if (unit_manager_connected(manager) && manager->silence)
                process_do(manager->process, manager_hears, &heard);
}

/* ---- the manager ---- */

static void manager_free_unit(void *unit) {
        (void)unit_free(unit);
}

GPtrArray *manager_forsaken(const UnitManager *manager) {
        return manager->forsaken;
}

static void query_free(void *data) {
        Query *query = data;

        pid1_call_let_go(&query->call);
        sd_event_source_disable_unref(query->patience);
        g_free(query);
}

static int manager_on_pump(sd_event_source *source, void *userdata) {
        if (pid1_call_deliver(userdata))
                return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        UnitManager *manager = g_new0(UnitManager, 1);
        const SilenceEvents events = {manager_ask, manager_on_silence, manager};

        manager->event = sd_event_ref(event);
        manager->process = process_turn();
        manager->pid1 = pid1_of(process_machine(manager->process));
        g_queue_init(&manager->calls);
        g_queue_init(&manager->news);
        manager->listeners = g_ptr_array_new();
        manager->own_listeners = g_ptr_array_new();
        manager->queries = g_ptr_array_new_with_free_func(query_free);
        (void)sd_event_add_defer(event, &manager->pump, manager_on_pump, manager);
        (void)sd_event_source_set_enabled(manager->pump, SD_EVENT_OFF);
        manager->forsaken = g_ptr_array_new_with_free_func(manager_free_unit);
        (void)silence_new(event, SILENCE_PATIENCE, &events, &manager->silence);
        pid1_listen(manager->pid1, manager);
        *ret_manager = manager;
        return 0;
}

static void news_free(News *news) {
        process_task_free(news->task);
        g_queue_unlink(&news->manager->news, &news->link);
        g_free(news->unit);
        g_free(news);
}

UnitManager *unit_manager_free(UnitManager *manager) {
        Pid1Call *call;

        if (!manager)
                return NULL;
        pid1_unlisten(manager->pid1, manager);
        g_ptr_array_unref(manager->queries);
        g_ptr_array_unref(manager->forsaken);
        pid1_call_let_go(&manager->probe);
        manager->silence = silence_free(manager->silence);
        while ((call = g_queue_peek_head(&manager->calls)))
                pid1_call_let_go(&call);
        while (!g_queue_is_empty(&manager->news))
                news_free(g_queue_peek_head(&manager->news));
        g_assert_cmpuint(manager->listeners->len, ==, 0);
        g_ptr_array_unref(manager->listeners);
        g_assert_cmpuint(manager->own_listeners->len, ==, 0);
        g_ptr_array_unref(manager->own_listeners);
        process_task_free(manager->returns);
        sd_event_source_disable_unref(manager->pump);
        sd_event_unref(manager->event);
        g_free(manager);
        return NULL;
}

bool unit_manager_connected(const UnitManager *manager) {
        return manager && !manager->returns;
}

bool unit_manager_busy(const UnitManager *manager) {
        return manager && manager->calls.length > 0;
}

unsigned manager_connection(const UnitManager *manager) {
        return unit_manager_connected(manager) ? manager->connections + 1 : 0;
}

const char *unit_manager_dropin_root(const UnitManager *manager) {
        return pid1_dropin_root(manager->pid1);
}

sd_event *manager_event(const UnitManager *manager) {
        return manager->event;
}

Pid1 *manager_pid1(const UnitManager *manager) {
        return manager->pid1;
}

Process *manager_process(const UnitManager *manager) {
        return manager->process;
}

GQueue *manager_calls(UnitManager *manager) {
        return &manager->calls;
}

void manager_arrived(UnitManager *manager) {
        (void)sd_event_source_set_enabled(manager->pump, SD_EVENT_ONESHOT);
}

usec_t manager_travel(UnitManager *manager, bool there) {
        Machine *machine = process_machine(manager->process);
        usec_t now = world_now(machine_world(machine)), slow = pid1_slowness(manager->pid1), at;

        at = now + world_draw_between(machine_chance(machine), TRAVEL_MIN, TRAVEL_MAX);
        if (there && slow > 0)
                at += world_draw_between(machine_chance(machine), 0, slow);
        if (there)
                return pid1_in_turn(manager->pid1, at) - now;
        manager->last_back = MAX(at, manager->last_back + 1);
        return manager->last_back - now;
}

/* ---- news ---- */

void manager_listen(UnitManager *manager, ManagerListener *listener) {
        g_ptr_array_add(manager->listeners, listener);
}

void manager_unlisten(UnitManager *manager, ManagerListener *listener) {
        (void)g_ptr_array_remove(manager->listeners, listener);
}

void unit_manager_listen(UnitManager *manager, UnitListener *listener) {
        g_ptr_array_add(manager->own_listeners, listener);
}

void unit_manager_unlisten(UnitManager *manager, UnitListener *listener) {
        (void)g_ptr_array_remove(manager->own_listeners, listener);
}

static void manager_tell_job(UnitManager *manager) {
        for (guint i = 0; i < manager->own_listeners->len; i++) {
                const UnitListener *listener = manager->own_listeners->pdata[i];

                listener->systemd_job_added(listener->userdata);
        }
}

/* Listeners ask PID 1 and note things; who is told of a unit is told from the loop later. */
static void manager_on_news(void *userdata) {
        News *news = userdata;
        UnitManager *manager = news->manager;

        news->task = NULL;
        if (pid1_hangs(manager->pid1) && !news->empty) {
                news->task = process_after(manager->process, LATER, manager_on_news, news);
                return;
        }
        if (strcmp(news->unit, DAEMON_UNIT) == 0 && unit_manager_connected(manager))
                manager_tell_job(manager);
        for (guint i = 0; i < manager->listeners->len; i++) {
                const ManagerListener *listener = manager->listeners->pdata[i];

                if (strcmp(listener->unit, news->unit) != 0)
                        continue;
                if (news->empty)
                        listener->empty(listener->userdata);
                if (unit_manager_connected(manager))
                        listener->changed(news->word, listener->userdata);
        }
        news_free(news);
}

void manager_tell(UnitManager *manager, const char *unit, const char *word, bool empty) {
        News *news;

        if (!empty && !unit_manager_connected(manager))
                return;
        news = g_new0(News, 1);
        *news = (News){.manager = manager, .unit = g_strdup(unit), .word = word, .empty = empty};
        news->link.data = news;
        g_queue_push_tail_link(&manager->news, &news->link);
        news->task =
            process_after(manager->process, manager_travel(manager, false), manager_on_news, news);
}

/* ---- the connection ---- */

static void manager_returns(void *userdata) {
        UnitManager *manager = userdata;

        manager->returns = NULL;
        silence_answered(manager->silence, 0);
        for (GList *link = manager->calls.head; link; link = link->next)
                pid1_call_go(link->data);
        for (guint i = 0; i < manager->listeners->len; i++) {
                const ManagerListener *listener = manager->listeners->pdata[i];

                listener->connected(listener->userdata);
        }
}

static void manager_is_cut(void *userdata) {
        silence_waits(((UnitManager *)userdata)->silence);
}

void manager_break(UnitManager *manager, usec_t after) {
        WorldChance *chance = machine_chance(process_machine(manager->process));

        if (manager->returns)
                return;
        manager->connections++;
        process_do(manager->process, manager_is_cut, manager);
        manager->returns = process_after(manager->process, after, manager_returns, manager);
        for (GList *link = manager->calls.head; link; link = link->next)
                pid1_call_is_lost(link->data, world_draw_once_in(chance, 2));
        manager_arrived(manager);
}

void manager_mend(UnitManager *manager) {
        if (!manager->returns)
                return;
        process_task_free(manager->returns);
        manager->returns = process_after(manager->process, 0, manager_returns, manager);
}

/* ---- the daemon's own job ---- */

static void query_over(Query *query, SystemdJob systemd_job) {
        SystemdJobFunc func = query->func;
        void *userdata = query->userdata;

        (void)g_ptr_array_remove(query->manager->queries, query);
        func(systemd_job, userdata);
}

static void query_on_answer(const Pid1Answer *answer, void *userdata) {
        query_over(userdata, answer->r < 0 ? SYSTEMD_JOB_UNKNOWN : answer->systemd_job);
}

static void query_waits_no_longer(void *userdata) {
        query_over(userdata, SYSTEMD_JOB_UNKNOWN);
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        Query *query = g_new0(Query, 1);

        *query = (Query){.manager = manager, .func = func, .userdata = userdata};
        g_ptr_array_add(manager->queries, query);
        pid1_call_send(manager, PID1_CALL_QUERY, unit, NULL, query_on_answer, query, &query->call);
        return timer_in(manager->event, &query->patience, timeout, query_waits_no_longer, query);
}
