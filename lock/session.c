/* The life of a session: connect, prove, live, lose, and again. The heartbeat is in session-beat.c,
 * the question for the servers' tick in session-probe.c.
 *
 *   connecting --CONNECTED, good heartbeat--> connected <--good heartbeat-- suspended
 *       ^                                        |  \----connection lost----^  |
 *       '--------------- D passed, or a server said "expired" ----------------'
 *
 * A session is reported only once its first heartbeat was answered and the servers' tick is known:
 * before that there is no deadline, so nothing could be held. What goes wrong before that is a
 * fault to be reported and retried; what goes wrong after is a loss.
 *
 * The library itself goes from server to server while it looks for one. Beyond that, this file
 * takes a fresh handle where the library has given up (with growing pauses), and where it has found
 * nobody for long: the names may mean other addresses by now.
 */
#include "session.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "session-file.h"
#include "session-private.h"

static void connect_now(Session *session);

void session_say(Session *session, int priority, const char *message) {
        if (session->log)
                session->log(priority, message, session->userdata);
}

/* The library calls an error what it then mends; what its owner must know are our own lines. */
static void on_log(int priority, const char *message, void *userdata) {
        (void)priority;
        session_say(userdata, LOG_DEBUG, message);
}

/* Reports why there is no session, once a cause. Return: false when the session was freed
 * meanwhile. */
static bool report_fault(Session *session, const char *fault) {
        if (g_strcmp0(session->fault, fault) == 0)
                return true;
        g_free(session->fault);
        session->fault = g_strdup(fault);
        return session_emit(session, SESSION_EVENT_FAULT);
}

static void drop_zk(Session *session) {
        session_beat_end(session);
        session_probe_end(session);
        session->zk = zk_free(session->zk);
        session->silence = sd_event_source_disable_unref(session->silence);
        session->established = false;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        connect_now(userdata);
        return 0;
}

static void connect_later(Session *session) {
        usec_t delay = session->retry_delay;

        session->retry_delay = MIN(2 * delay, SESSION_RETRY_MAX);
        delay = (usec_t)((double)delay * g_random_double_range(0.5, 1.0));
        session_arm(session, &session->retry, CLOCK_MONOTONIC, clock_monotonic() + delay, on_retry);
}

static int on_patience(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        drop_zk(userdata);
        connect_now(userdata);
        return 0;
}

/* Return: whether there is a session to attach to while it lasts. */
static bool is_attaching(const Session *session) {
        return session->wanted.id != 0 && session->inherited_until > clock_boottime();
}

static int on_silence(sd_event_source *source, uint64_t usec, void *userdata) {
        Session *session = userdata;
        g_autofree char *fault =
            g_strdup_printf("no ZooKeeper server answers at %s", session->servers);

        (void)source;
        (void)usec;
        session->silence = sd_event_source_disable_unref(session->silence);
        /* The library gives a host that says nothing two thirds of the session's timeout, which is
         * more than what is left; a fresh handle tries the servers in another order. */
        if (is_attaching(session) && zk_state(session->zk) != ZK_STATE_CONNECTED) {
                drop_zk(session);
                connect_now(session);
                return 0;
        }
        session_arm(session, &session->silence, CLOCK_MONOTONIC,
                    clock_monotonic() + SESSION_PATIENCE, on_patience);
        (void)report_fault(session, fault);
        return 0;
}

static void remove_file(Session *session) {
        int r = session->state_file ? session_file_remove(session->state_file) : 0;

        if (r < 0) {
                g_autofree char *message = g_strdup_printf("%s: cannot be removed: %s",
                                                           session->state_file, g_strerror(-r));
                session_say(session, LOG_WARNING, message);
        }
}

void session_file_it(Session *session) {
        const SessionFile file = {
            .session = zk_session_id(session->zk),
            .timeout = session->timeout,
            .held_until = session_held_until(session),
            .stop_at = session_stop_at(session),
        };
        int r = -ENOENT;

        if (!session->state_file)
                return;
        if (session->filed)
                r = session_file_renew(session->state_file, session->identity, &file);
        if (r < 0)
                r = session_file_save(session->state_file, session->identity, &file);
        session->filed = r >= 0;
        if (r < 0 && !session->unfiled) {
                g_autofree char *message = g_strdup_printf(
                    "%s: cannot be written, so a restart will not find its locks: %s",
                    session->state_file, g_strerror(-r));
                session_say(session, LOG_WARNING, message);
        }
        session->unfiled = r < 0;
}

/* Nothing is wanted of the process before us any more. */
static void forget_predecessor(Session *session) {
        session->wanted = (ZkSessionId){0};
        session->inherited_until = session->inherited_stop_at = 0;
}

/* A heartbeat was good, and the servers' tick is known. */
void session_established(Session *session) {
        ZkSessionId id = zk_session_id(session->zk);
        bool attached = session->wanted.id != 0 && session->wanted.id == id.id;

        session->silence = sd_event_source_disable_unref(session->silence);
        session->established = true;
        session->state = SESSION_CONNECTED;
        session->retry_delay = SESSION_RETRY_FIRST;
        session->stopped = false;
        session->filed = attached; /* then it is renewed in place, also where there is no room */
        forget_predecessor(session);
        g_clear_pointer(&session->fault, g_free);
        session_beat_arm(session);
        (void)session_emit(session, attached ? SESSION_EVENT_ATTACHED : SESSION_EVENT_CONNECTED);
}

/* Gives the session up and reports it. Return: false when it was freed meanwhile. */
static bool lose(Session *session) {
        Zk *zk = g_steal_pointer(&session->zk);
        bool alive;

        session->retry = sd_event_source_disable_unref(session->retry);
        forget_predecessor(session);
        drop_zk(session);
        session->state = SESSION_CONNECTING;
        remove_file(session);
        alive = session_emit(session, SESSION_EVENT_LOST);
        (void)zk_free(zk);
        return alive;
}

void session_lose(Session *session) {
        if (lose(session) && session->ending == ENDING_NOT)
                connect_now(session);
}

/* The server grants a timeout that leaves no room for the deadline: without a session there are no
 * locks, but no false ones. */
static void refuse(Session *session, const char *fault) {
        if (session->established) {
                if (!lose(session))
                        return;
        } else {
                /* A session of the process before us may still protect its jobs: that one is left
                 * alone. */
                if (session->wanted.id == 0 && !session->unwanted) {
                        session->unwanted = g_steal_pointer(&session->zk);
                        zk_close(session->unwanted);
                }
                drop_zk(session);
        }
        if (!report_fault(session, fault) || session->ending != ENDING_NOT)
                return;
        connect_later(session);
}

static void on_connected(Session *session) {
        g_autofree char *fault = deadline_fault(&session->rule, zk_timeout(session->zk));

        if (fault) {
                refuse(session, fault);
                return;
        }
        session_probe_begin(session);
        session_beat_begin(session);
}

void session_probed(Session *session) {
        g_autofree char *fault = NULL;

        if (zk_state(session->zk) != ZK_STATE_CONNECTED)
                return; /* goes on with the next connection */
        fault = deadline_fault(&session->rule, zk_timeout(session->zk));
        if (fault) {
                refuse(session, fault);
                return;
        }
        if (session->established)
                session_beat_recount(session);
        session_beat_now(session);
}

static void on_suspended(Session *session) {
        session_beat_suspend(session);
        session_probe_suspend(session);
        if (!session->established || session->state != SESSION_CONNECTED)
                return;
        session->state = SESSION_SUSPENDED;
        (void)session_emit(session, SESSION_EVENT_SUSPENDED);
}

static void on_expired(Session *session) {
        if (session->established || session->wanted.id != 0) {
                session_lose(session);
                return;
        }
        drop_zk(session);
        connect_now(session);
}

/* The handle is of no use any more. */
static void on_failed(Session *session, const char *fault) {
        g_autofree char *sentence = g_strdup(fault);

        if (session->established) {
                if (!lose(session))
                        return;
        } else
                drop_zk(session);
        if (!report_fault(session, sentence) || session->ending != ENDING_NOT)
                return;
        connect_later(session);
}

static void finish(Session *session) {
        Zk *zk;

        session->end = sd_event_source_disable_unref(session->end);
        zk = g_steal_pointer(&session->zk);
        drop_zk(session);
        session->state = SESSION_CLOSED;
        (void)session_emit(session, SESSION_EVENT_CLOSED);
        (void)zk_free(zk);
}

static void on_zk_state(Zk *zk, ZkState state, void *userdata) {
        Session *session = userdata;

        if (zk == session->unwanted) {
                if (state == ZK_STATE_CLOSED)
                        session->unwanted = zk_free(session->unwanted);
                return;
        }
        switch (state) {
        case ZK_STATE_CONNECTED:
                on_connected(session);
                break;
        case ZK_STATE_SUSPENDED:
                on_suspended(session);
                break;
        case ZK_STATE_EXPIRED:
                on_expired(session);
                break;
        case ZK_STATE_AUTH_FAILED:
                on_failed(session, "the ZooKeeper server refuses our credentials");
                break;
        case ZK_STATE_FAILED:
                on_failed(session, zk_fault(zk));
                break;
        case ZK_STATE_CLOSED:
                finish(session);
                break;
        case ZK_STATE_CONNECTING:
                break;
        }
}

static int try_connect(Session *session) {
        return zk_connect(session->event,
                          &(ZkOptions){
                              .servers = session->servers,
                              .session_timeout = session->session_timeout,
                              .session = session->wanted.id ? &session->wanted : NULL,
                              .auth = session->auth,
                              .log = session->log ? on_log : NULL,
                              .state = on_zk_state,
                              .userdata = session,
                          },
                          &session->zk);
}

static void await_word(Session *session) {
        usec_t limit = SESSION_SILENCE;

        if (is_attaching(session)) {
                limit = session->hurry;
                session->hurry = usec_add(session->hurry, session->hurry);
        }
        session_arm(session, &session->silence, CLOCK_MONOTONIC, clock_monotonic() + limit,
                    on_silence);
}

static void connect_now(Session *session) {
        int r = try_connect(session);

        if (r < 0) { /* no descriptors or no threads: the machine's trouble, not the server's */
                g_autofree char *fault =
                    g_strdup_printf("cannot connect to ZooKeeper: %s", g_strerror(-r));

                if (report_fault(session, fault) && session->ending == ENDING_NOT)
                        connect_later(session);
                return;
        }
        await_word(session);
}

static void load_file(Session *session) {
        g_autofree char *message = NULL;
        SessionFile file = {0};
        int r = session->state_file
                    ? session_file_load(session->state_file, session->identity, &file)
                    : -ENOENT;

        if (r >= 0) {
                session->wanted = file.session;
                session->inherited_until = file.held_until;
                session->inherited_stop_at = file.stop_at;
                session_beat_arm(session);
        } else if (r == -EBADMSG)
                message = g_strdup_printf("%s: damaged, ignored", session->state_file);
        else if (r != -ENOENT && r != -ESTALE)
                message =
                    g_strdup_printf("%s: cannot be read: %s", session->state_file, g_strerror(-r));
        if (message)
                session_say(session, LOG_WARNING, message);
}

int session_new(sd_event *event, const SessionOptions *options, SessionEventFunc func,
                void *userdata, Session **ret_session) {
        _cleanup_(session_freep) Session *session = NULL;
        int r;

        if (options->rule.heartbeat == 0 || options->rule.tick_time == 0)
                return -EINVAL;
        session = g_new0(Session, 1);
        session->refs = 1;
        session->event = sd_event_ref(event);
        session->servers = g_strdup(options->servers);
        session->auth = g_strdup(options->auth);
        session->session_timeout = options->session_timeout;
        session->rule = options->rule;
        session->state_file = g_strdup(options->state_file);
        session->identity = g_strdup(options->identity);
        session->log = options->log;
        session->func = func;
        session->userdata = userdata;
        session->listeners = g_ptr_array_new();
        session->retry_delay = SESSION_RETRY_FIRST;
        session->hurry = SESSION_HURRY;
        g_datalist_init(&session->data);

        load_file(session);
        r = try_connect(session);
        if (r < 0)
                return r;
        await_word(session);
        *ret_session = g_steal_pointer(&session);
        return 0;
}

Session *session_free(Session *session) {
        if (!session)
                return NULL;
        session->freed = true;
        session->refs++;
        session->state = SESSION_CLOSED;
        session->established = false; /* whoever is told begins nothing new */
        forget_predecessor(session);
        session_emit_to_listeners(session, SESSION_EVENT_CLOSED);
        session_listeners_free(session);
        g_datalist_clear(&session->data);
        drop_zk(session);
        session->unwanted = zk_free(session->unwanted);
        session->retry = sd_event_source_disable_unref(session->retry);
        session->end = sd_event_source_disable_unref(session->end);
        session->event = sd_event_unref(session->event);
        g_clear_pointer(&session->servers, g_free);
        if (session->auth)
                explicit_bzero(session->auth, strlen(session->auth));
        g_clear_pointer(&session->auth, g_free);
        g_clear_pointer(&session->state_file, g_free);
        g_clear_pointer(&session->identity, g_free);
        g_clear_pointer(&session->fault, g_free);
        session_unref(session);
        session_unref(session);
        return NULL;
}

static int on_end(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        finish(userdata);
        return 0;
}

static void end(Session *session, SessionEnding ending) {
        if (session->ending != ENDING_NOT)
                return;
        session->ending = ending;
        session->retry = sd_event_source_disable_unref(session->retry);
        session->silence = sd_event_source_disable_unref(session->silence);
        forget_predecessor(session);
        session_beat_end(session);
        session_probe_end(session);
        if (session->zk && ending == ENDING_CLOSE)
                zk_close(session->zk);
        else if (session->zk)
                zk_abandon(session->zk);
        session_arm(session, &session->end, CLOCK_MONOTONIC,
                    clock_monotonic() + (session->zk ? SESSION_CLOSE_LIMIT : 0), on_end);
}

void session_close(Session *session) {
        end(session, ENDING_CLOSE);
        if (session->ending == ENDING_CLOSE) /* else it was detached: the next process wants it */
                remove_file(session);
}

void session_detach(Session *session) {
        end(session, ENDING_DETACH);
}

SessionState session_state(const Session *session) {
        return session->state;
}

Zk *session_zk(const Session *session) {
        return session->established ? session->zk : NULL;
}

int64_t session_id(const Session *session) {
        return session->established ? zk_session_id(session->zk).id : 0;
}

const char *session_fault(const Session *session) {
        return session->fault ? session->fault : "";
}

sd_event *session_event_loop(const Session *session) {
        return session->event;
}

GData **session_data(Session *session) {
        return &session->data;
}
