/* A handle of libzookeeper_mt and its connection (zookeeper.c, addrvec.c of 3.8).
 *
 * The list of servers is shuffled once. A connection that fails, or a server that says nothing for
 * two thirds of the session's timeout, is given up: all that was asked is answered as lost, and the
 * next server is tried, or rather the one after the next, since both handle_error() and
 * zookeeper_interest() step on. Of an even number of servers half are therefore never tried. When
 * the end of the list is passed, the library waits for a sixtieth of the timeout.
 *
 * A ping is sent when nothing was sent for a third of the timeout and nothing waits for an answer.
 * Only a server says that a session has expired. After a connection was made, credentials go first,
 * then the watches, then what has waited.
 *
 * What arrives is read on the process's turn, when it has one: a process that is stopped reads all
 * at once when it goes on.
 */
#include "library-inside.h"

#include <string.h>

#include "trace.h"

/* Where no server is to be found for a moment. */
#define REFUSED_MIN (1 * USEC_PER_MSEC)
#define REFUSED_MAX (5 * USEC_PER_MSEC)

/* What is in the inbox where the server has hung up. */
static const char END;

static void library_connect(void *userdata);
static void library_on_time(void *userdata);

static usec_t library_now(const zhandle_t *handle) {
        return world_now(network_world(host_network(handle->host)));
}

static usec_t library_timeout(const zhandle_t *handle) {
        return (usec_t)handle->timeout_ms * USEC_PER_MSEC;
}

bool library_is_over(const zhandle_t *handle) {
        return handle->state == ZOO_EXPIRED_SESSION_STATE || handle->state == ZOO_AUTH_FAILED_STATE;
}

static void library_say(const zhandle_t *handle, const char *what) {
        if (trace_is_on())
                trace_write(host_name(handle->host), "zookeeper client: %s zk%u", what,
                            handle->server + 1);
}

static void inbox_drop(void *answer) {
        if (answer != &END)
                answer_free(answer);
}

static void library_hang_up(zhandle_t *handle) {
        g_queue_clear_full(&handle->inbox, inbox_drop);
        handle->io = process_task_free(handle->io);
        if (!handle->in)
                return;
        wire_ignore(handle->in);
        wire_close(handle->out);
        handle->in = handle->out = NULL;
}

/* ---- time ---- */

static void library_await(zhandle_t *handle, usec_t delay, WorldFunc func) {
        process_task_free(handle->timer);
        handle->timer = process_after(handle->process, delay, func, handle);
}

static usec_t library_silent_at(const zhandle_t *handle) {
        return handle->received + library_timeout(handle) * 2 / 3;
}

/* zookeeper_interest(): until when there is nothing to do but to read. */
static void library_await_time(zhandle_t *handle) {
        usec_t now = library_now(handle), until = library_silent_at(handle);

        if (handle->state == ZOO_CONNECTED_STATE) {
                usec_t ping = handle->sent_at + library_timeout(handle) / 3;

                until = MIN(until, ping > now ? ping : now + library_timeout(handle) / 3);
        }
        library_await(handle, usec_sub(until, now), library_on_time);
}

/* ---- sending ---- */

static void library_put(zhandle_t *handle, Request *request) {
        const EnsembleWatcher *watcher = ensemble_watcher(handle->ensemble);

        handle->sent_at = library_now(handle);
        if (watcher->asked)
                watcher->asked(host_name(handle->host), request, watcher->userdata);
        wire_send(handle->out, request);
}

void library_send(zhandle_t *handle, Request *request) {
        if (handle->state == ZOO_CONNECTED_STATE)
                library_put(handle, request);
        else
                g_queue_push_tail(&handle->unsent, request);
}

static void library_send_identity(zhandle_t *handle) {
        Request *request = request_new(REQUEST_AUTH, NULL);

        request->identity = g_strdup(handle->identity);
        library_put(handle, request);
}

void library_add_auth(zhandle_t *handle, const char *identity) {
        handle->identity = g_strdup(identity);
        if (handle->state == ZOO_CONNECTED_STATE)
                library_send_identity(handle);
}

/* ---- losing ---- */

static int addresses_next(zhandle_t *handle) {
        if (handle->next >= handle->n_servers)
                handle->next = 0;
        return (int)handle->servers[handle->next++];
}

/* handle_error(), cleanup(). */
static void library_lose(zhandle_t *handle, int error) {
        bool was_connected = handle->state == ZOO_CONNECTED_STATE;

        library_hang_up(handle);
        if (library_is_over(handle))
                handle->func(handle, handle->state, handle->userdata);
        else if (was_connected)
                handle->func(handle, ZOO_CONNECTING_STATE, handle->userdata);
        library_fail(handle, error);
        if (library_is_over(handle)) {
                handle->timer = process_task_free(handle->timer);
                return;
        }
        handle->state = 0;
        handle->delay = handle->next >= handle->n_servers;
        (void)addresses_next(handle);
        library_await(handle, handle->delay ? library_timeout(handle) / 60 : 0, library_connect);
}

static void library_on_refused(void *userdata) {
        zhandle_t *handle = userdata;

        handle->timer = NULL;
        library_lose(handle, ZCONNECTIONLOSS);
}

static void library_on_time(void *userdata) {
        zhandle_t *handle = userdata;
        usec_t now = library_now(handle);

        handle->timer = NULL;
        if (now >= library_silent_at(handle)) {
                library_say(handle, "gives up the silent");
                library_lose(handle, ZOPERATIONTIMEOUT);
                return;
        }
        if (handle->state == ZOO_CONNECTED_STATE && handle->completions.length == 0 &&
            now >= handle->sent_at + library_timeout(handle) / 3)
                library_put(handle, request_new(REQUEST_PING, NULL));
        library_await_time(handle);
}

/* ---- reading ---- */

/* Return: false: the session is over. */
static bool library_on_connected(zhandle_t *handle, const Answer *answer) {
        Request *request;

        if (handle->named && answer->session != handle->id.client_id) {
                library_say(handle, "session over, says");
                handle->state = ZOO_EXPIRED_SESSION_STATE;
                library_lose(handle, ZSESSIONEXPIRED);
                return false;
        }
        if (answer->session == 0) { /* a new session was refused: as good as a lost connection */
                library_lose(handle, ZCONNECTIONLOSS);
                return false;
        }
        library_say(handle, "connected to");
        if (ensemble_watcher(handle->ensemble)->connected)
                ensemble_watcher(handle->ensemble)
                    ->connected(host_name(handle->host), answer->session,
                                ensemble_watcher(handle->ensemble)->userdata);
        handle->named = true;
        handle->id.client_id = answer->session;
        memcpy(handle->id.passwd, answer->password, sizeof(handle->id.passwd));
        handle->timeout_ms = (int)(answer->timeout / USEC_PER_MSEC);
        handle->state = ZOO_CONNECTED_STATE;
        if (handle->identity)
                library_send_identity(handle);
        request = library_watches_request(handle);
        if (request)
                library_put(handle, request);
        handle->func(handle, handle->state, handle->userdata);
        while ((request = g_queue_pop_head(&handle->unsent)))
                library_put(handle, request);
        return true;
}

static void library_read_one(zhandle_t *handle, Answer *message) {
        _cleanup_(answer_freep) Answer *answer = message;

        handle->received = library_now(handle);
        switch (answer->type) {
        case ANSWER_CONNECTED:
                if (library_on_connected(handle, answer))
                        library_await_time(handle);
                break;
        case ANSWER_EVENT:
                library_fire(handle, answer);
                break;
        case ANSWER_REPLY:
                if (answer->xid != 0 && !library_answer(handle, g_steal_pointer(&answer)))
                        library_lose(handle, ZRUNTIMEINCONSISTENCY);
                break;
        }
}

static void library_on_io(void *userdata) {
        zhandle_t *handle = userdata;
        void *message;

        handle->io = NULL;
        while ((message = g_queue_pop_head(&handle->inbox))) {
                if (message == &END) {
                        library_say(handle, "lost");
                        library_lose(handle, ZCONNECTIONLOSS);
                        return;
                }
                library_read_one(handle, message);
        }
}

static void library_on_message(void *message, void *userdata) {
        zhandle_t *handle = userdata;

        g_queue_push_tail(&handle->inbox, message ? message : (void *)&END);
        if (!handle->io)
                handle->io = process_after(handle->process, 0, library_on_io, handle);
}

static void answer_drop(void *answer) {
        answer_free(answer);
}

/* ---- connecting ---- */

/* prime_connection(). */
static Request *library_handshake(const zhandle_t *handle) {
        Request *request = request_new(REQUEST_CONNECT, NULL);

        request->xid = library_next_xid();
        request->session = handle->named ? handle->id.client_id : 0;
        memcpy(request->password, handle->id.passwd, sizeof(request->password));
        request->timeout = library_timeout(handle);
        request->zxid = handle->zxid;
        return request;
}

static void library_connect(void *userdata) {
        zhandle_t *handle = userdata;

        handle->timer = NULL;
        handle->server = (unsigned)addresses_next(handle);
        handle->received = handle->sent_at = library_now(handle);
        handle->state = ZOO_CONNECTING_STATE;
        handle->in = wire_new(ensemble_host(handle->ensemble, handle->server), handle->host,
                              library_on_message, handle, answer_drop);
        handle->out = ensemble_connect(handle->ensemble, handle->server, handle->host, handle->in);
        if (!handle->out) { /* nobody listens there */
                wire_ignore(handle->in);
                wire_close(handle->in);
                handle->in = NULL;
                library_await(handle,
                              world_draw_between(machine_chance(process_machine(handle->process)),
                                                 REFUSED_MIN, REFUSED_MAX),
                              library_on_refused);
                return;
        }
        library_put(handle, library_handshake(handle));
        library_await_time(handle);
}

/* addrvec_shuffle(). */
static void library_shuffle(zhandle_t *handle) {
        WorldChance *chance = machine_chance(process_machine(handle->process));

        for (size_t i = handle->n_servers - 1; i > 0; i--) {
                size_t j = world_draw_between(chance, 0, i);
                unsigned server = handle->servers[i];

                handle->servers[i] = handle->servers[j];
                handle->servers[j] = server;
        }
}

zhandle_t *library_open(Ensemble *ensemble, const unsigned *servers, size_t n_servers,
                        int timeout_ms, const clientid_t *session, LibraryFunc func,
                        void *userdata) {
        zhandle_t *handle = g_new0(zhandle_t, 1);

        handle->process = process_turn();
        handle->ensemble = ensemble;
        handle->host = network_host(ensemble_network(ensemble),
                                    machine_name(process_machine(handle->process)));
        handle->func = func;
        handle->userdata = userdata;
        handle->servers = g_memdup2(servers, n_servers * sizeof(*servers));
        handle->n_servers = n_servers;
        handle->timeout_ms = timeout_ms;
        handle->id = *session;
        handle->named = session->client_id != 0;
        g_queue_init(&handle->inbox);
        g_queue_init(&handle->completions);
        g_queue_init(&handle->unsent);
        for (size_t i = 0; i < WATCH_KINDS; i++)
                handle->watches[i] = library_watches_new();
        library_shuffle(handle);
        library_await(handle, 0, library_connect);
        return handle;
}

/* ---- the end ---- */

void library_disconnect(zhandle_t *handle) {
        library_hang_up(handle);
        handle->timer = process_task_free(handle->timer);
        handle->state = 0;
        library_fail(handle, ZCONNECTIONLOSS);
}

void library_say_goodbye(zhandle_t *handle) {
        Request *request;

        if (handle->state != ZOO_CONNECTED_STATE)
                return;
        handle->saying_goodbye = true;
        request = request_new(REQUEST_CLOSE, NULL);
        request->xid = library_next_xid();
        library_put(handle, request);
}

bool library_is_through(const zhandle_t *handle) {
        return !handle->saying_goodbye || handle->state != ZOO_CONNECTED_STATE;
}

static void request_drop(void *request) {
        (void)request_unref(request);
}

zhandle_t *library_free(zhandle_t *handle) {
        if (!handle)
                return NULL;
        library_hang_up(handle);
        process_task_free(handle->timer);
        g_queue_clear_full(&handle->completions, completion_free);
        g_queue_clear_full(&handle->unsent, request_drop);
        for (size_t i = 0; i < WATCH_KINDS; i++)
                g_tree_unref(handle->watches[i]);
        g_free(handle->identity);
        g_free(handle->servers);
        g_free(handle);
        return NULL;
}

char *library_server(const zhandle_t *handle) {
        return g_strdup_printf("%s:2181",
                               host_name(ensemble_host(handle->ensemble, handle->server)));
}

int zoo_state(zhandle_t *zh) {
        return zh->state;
}

int is_unrecoverable(zhandle_t *zh) {
        return library_is_over(zh) ? ZINVALIDSTATE : ZOK;
}

const clientid_t *zoo_client_id(zhandle_t *zh) {
        return &zh->id;
}

int zoo_recv_timeout(zhandle_t *zh) {
        return zh->timeout_ms;
}
