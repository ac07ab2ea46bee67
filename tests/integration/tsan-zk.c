/* The port under load from several loops at once, with the server killed in between: for
 * ThreadSanitizer, under which Criterion does not start, and for LeakSanitizer, whose report
 * Criterion swallows. A plain program: exit status 0 and no report is success.
 *
 * Each thread has a loop and, one after another, several sessions, which it ends in every way there
 * is: closed, abandoned, freed with requests on their way, freed while connecting.
 * tsan-zk.suppressions names what is the library's own.
 */
#include <glib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "helper-zookeeper.h"
#include "zk-request.h"

#define THREADS 4
#define ROUNDS 10
#define FLIGHT (ZK_REQUESTS_MAX + 300) /* some of them wait */
#define LIMIT (30 * USEC_PER_SEC)

#define CHECK(condition)                                                                           \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
                        abort();                                                                   \
                }                                                                                  \
        } while (false)

typedef struct Worker {
        pthread_t thread;
        unsigned number;
        const char *servers;
        sd_event *event;
        Zk *zk;
        ZkState state;
        unsigned answers, fired, log_lines;
} Worker;

static void on_state(Zk *zk, ZkState state, void *userdata) {
        (void)zk;
        ((Worker *)userdata)->state = state;
}

static void on_log(int priority, const char *message, void *userdata) {
        (void)priority;
        (void)message;
        ((Worker *)userdata)->log_lines++;
}

static void on_reply(const ZkReply *reply, void *userdata) {
        (void)reply;
        ((Worker *)userdata)->answers++;
}

static void on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        (void)event;
        (void)path;
        ((Worker *)userdata)->fired++;
}

static bool is_connected(void *userdata) {
        return ((Worker *)userdata)->state == ZK_STATE_CONNECTED;
}

static bool is_closed(void *userdata) {
        return ((Worker *)userdata)->state == ZK_STATE_CLOSED;
}

static bool is_answered(void *userdata) {
        return ((Worker *)userdata)->answers >= FLIGHT;
}

static bool has_fired(void *userdata) {
        return ((Worker *)userdata)->fired > 0;
}

static void start(Worker *worker) {
        worker->state = ZK_STATE_CONNECTING;
        worker->answers = worker->fired = 0;
        CHECK(zk_connect(worker->event,
                         &(ZkOptions){
                             .servers = worker->servers,
                             .session_timeout = 10 * USEC_PER_SEC,
                             .log = on_log,
                             .state = on_state,
                             .userdata = worker,
                         },
                         &worker->zk) == 0);
}

/* A watch on a path of our own, and a flight of creates, the first of which fires it. */
static ZkWatch *send_flight(Worker *worker) {
        g_autofree char *path = g_strdup_printf("/w%u-%" G_GINT64_MODIFIER "x", worker->number,
                                                zk_session_id(worker->zk).id);
        ZkWatch *watch = NULL;

        CHECK(zk_exists(worker->zk, path, NULL, NULL, NULL, on_watch, worker, &watch) == 0);
        for (unsigned i = 0; i < FLIGHT; i++)
                CHECK(zk_create(worker->zk, path, "data", ZK_CREATE_EPHEMERAL, on_reply, worker,
                                NULL) == 0);
        CHECK(zk_heartbeat(worker->zk, true, NULL, NULL, NULL) == 0);
        return watch;
}

static void end(Worker *worker, unsigned round) {
        switch (round % 5) {
        case 0:
                CHECK(loop_until(worker->event, is_answered, worker, LIMIT));
                CHECK(loop_until(worker->event, has_fired, worker, LIMIT));
                zk_close(worker->zk);
                CHECK(loop_until(worker->event, is_closed, worker, LIMIT));
                break;
        case 1:
                zk_abandon(worker->zk);
                CHECK(loop_until(worker->event, is_closed, worker, LIMIT));
                CHECK(worker->answers == FLIGHT);
                break;
        case 2: /* in the middle of it */
                (void)loop_until(worker->event, has_fired, worker, LIMIT);
                break;
        case 3: /* with all of it on its way or waiting */
                zk_close(worker->zk);
                CHECK(loop_until(worker->event, is_closed, worker, LIMIT));
                CHECK(worker->answers == FLIGHT);
                break;
        default:
                break;
        }
        worker->zk = zk_free(worker->zk);
}

static void *worker_main(void *userdata) {
        Worker *worker = userdata;

        CHECK(sd_event_new(&worker->event) >= 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
                ZkWatch *watch = NULL;

                start(worker);
                if (round % 5 != 4) {
                        CHECK(loop_until(worker->event, is_connected, worker, LIMIT));
                        watch = send_flight(worker);
                }
                end(worker, round);
                (void)zk_watch_free(watch);
        }
        worker->event = sd_event_unref(worker->event);
        return NULL;
}

static void run_workers(const char *servers) {
        Worker workers[THREADS] = {0};

        for (unsigned i = 0; i < THREADS; i++) {
                workers[i].number = i;
                workers[i].servers = servers;
                CHECK(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) == 0);
        }
        for (unsigned i = 0; i < THREADS; i++)
                CHECK(pthread_join(workers[i].thread, NULL) == 0);
}

static bool is_suspended(void *userdata) {
        return ((Worker *)userdata)->state == ZK_STATE_SUSPENDED;
}

/* One session over a server's death: all in flight is answered, and the watch is set again. */
static void survive(ZooKeeperServer *server) {
        Worker worker = {.number = THREADS, .servers = zookeeper_server_address(server)};
        ZkWatch *watch;

        CHECK(sd_event_new(&worker.event) >= 0);
        start(&worker);
        CHECK(loop_until(worker.event, is_connected, &worker, LIMIT));
        zookeeper_server_freeze(server);
        watch = send_flight(&worker);
        zookeeper_server_kill(server);
        CHECK(loop_until(worker.event, is_suspended, &worker, LIMIT));
        CHECK(loop_until(worker.event, is_answered, &worker, LIMIT));
        zookeeper_server_start(server);
        CHECK(loop_until(worker.event, is_connected, &worker, LIMIT));
        (void)zk_watch_free(watch);
        zk_close(worker.zk);
        CHECK(loop_until(worker.event, is_closed, &worker, LIMIT));
        worker.zk = zk_free(worker.zk);
        worker.event = sd_event_unref(worker.event);
}

int main(void) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        unsigned descriptors = count_descriptors();

        run_workers(zookeeper_server_address(server));
        survive(server);
        CHECK(await_descriptors(descriptors));
        (void)zookeeper_server_free(server);
        return EXIT_SUCCESS;
}
