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

#include "draw.h"
#include "session-beat.h"
#include "session-file.h"
#include "session-listen.h"
#include "session-probe.h"
#include "session-timer.h"
#include "state-file.h"

/* Nobody answered for so long: say so. */
#define SILENCE (3 * USEC_PER_SEC)
/* The same while there is a session to attach to, at first: with the defaults its runs are stopped
 * 8 s after its last heartbeat, so that several hosts can be tried. Doubled each time, or a process
 * that needs longer to connect would never get through. */
#define HURRY (1 * USEC_PER_SEC)
/* Nobody answered for so long: take a fresh handle, and with it a fresh look at the names. */
#define PATIENCE (30 * USEC_PER_SEC)
/* Between attempts where the library itself gave up: doubled each time, and shortened at random by
 * up to a half, so that the machines of a cluster do not come back in step. */
#define RETRY_FIRST (500 * USEC_PER_MSEC)
#define RETRY_MAX (10 * USEC_PER_SEC)
/* Closing tells the server, which may not answer. */
#define CLOSE_LIMIT (5 * USEC_PER_SEC)

typedef enum SessionEnding { ENDING_NOT, ENDING_CLOSE, ENDING_DETACH } SessionEnding;

struct Session {
        unsigned refs; /* the owner's, and one for each event that is being told */
        bool freed;
        sd_event *event;
        SessionOptions options; /* its strings are ours, `auth` is wiped when freed */
        SessionListeners listeners;
        GData *data;

        SessionState state;
        SessionEnding ending;
        Zk *zk;             /* being connected, or established */
        Zk *unwanted;       /* is being closed because its timeout leaves no room */
        bool established;   /* a heartbeat of this zk was good: session_zk() gives it */
        bool stopped;       /* STOP was reported, and no RESUMED since */
        ZkSessionId wanted; /* from the state file, until it is attached to or known to be gone; id
                               0: none */
        usec_t hurry;       /* so long the next attempt to attach may take */
        bool filed;         /* the state file is of the present session */
        bool unfiled;       /* it could not be written, which was said */
        usec_t tick_said;   /* the least timeout that the log has a line about */
        char *fault;
        usec_t retry_delay;
        sd_event_source *retry, *silence, *end;
        SessionBeat beat;
        SessionProbe probe;
};

static void session_connect(Session *session);

/* Telling */

static void session_unref(Session *session) {
        if (--session->refs > 0)
                return;
        session_listeners_clear(&session->listeners);
        g_free(session);
}

/* Return: false when the session was freed meanwhile; it must then not be touched any more. */
static bool session_emit(Session *session, SessionEvent event) {
        bool alive;

        session->refs++;
        session_listeners_tell(&session->listeners, event);
        if (!session->freed && session->listeners.func)
                session->listeners.func(session, event, session->listeners.userdata);
        alive = !session->freed;
        session_unref(session);
        return alive;
}

void session_say(Session *session, int priority, const char *message) {
        if (session->options.log)
                session->options.log(priority, message, session->listeners.userdata);
}

/* The library calls an error what it then mends; what its owner must know are our own lines. */
static void session_on_library_log(int priority, const char *message, void *userdata) {
        session_say(userdata, LOG_DEBUG, message);
}

/* Reports why there is no session, once a cause. Return: false when the session was freed
 * meanwhile. */
static bool session_report_fault(Session *session, const char *fault) {
        if (g_strcmp0(session->fault, fault) == 0)
                return true;
        g_free(session->fault);
        session->fault = g_strdup(fault);
        return session_emit(session, SESSION_EVENT_FAULT);
}

static void session_drop_zk(Session *session) {
        session_beat_end(&session->beat);
        session_probe_end(&session->probe);
        session->options.rule.least_timeout = 0;
        if (session->beat.until == 0) /* none of the process before us either */
                session->stopped = false;
        session->zk = zk_free(session->zk);
        session->silence = sd_event_source_disable_unref(session->silence);
        session->established = false;
}

static int session_on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        session_connect(userdata);
        return 0;
}

static void session_connect_later(Session *session) {
        usec_t delay = session->retry_delay;

        session->retry_delay = MIN(2 * delay, RETRY_MAX);
        session_timer_arm(session->event, &session->retry, CLOCK_MONOTONIC,
                          clock_monotonic() + draw_delay(delay), session_on_retry, session);
}

static int session_on_patience(sd_event_source *source, uint64_t usec, void *userdata) {
        session_drop_zk(userdata);
        session_connect(userdata);
        return 0;
}

/* Return: whether there is a session to attach to while it lasts. */
static bool session_is_attaching(const Session *session) {
        return session->wanted.id != 0 && session->beat.until > clock_boottime();
}

static int session_on_silence(sd_event_source *source, uint64_t usec, void *userdata) {
        Session *session = userdata;
        g_autofree char *fault =
            g_strdup_printf("no ZooKeeper server answers at %s", session->options.servers);

        session->silence = sd_event_source_disable_unref(session->silence);
        /* The library gives a host that says nothing two thirds of the session's timeout, which is
         * more than what is left; a fresh handle tries the servers in another order. */
        if (session_is_attaching(session) && zk_state(session->zk) != ZK_STATE_CONNECTED) {
                session_drop_zk(session);
                session_connect(session);
                return 0;
        }
        session_timer_arm(session->event, &session->silence, CLOCK_MONOTONIC,
                          clock_monotonic() + PATIENCE, session_on_patience, session);
        (void)session_report_fault(session, fault);
        return 0;
}

static void session_remove_file(Session *session) {
        int r = session->options.state_file ? session_file_remove(session->options.state_file) : 0;

        if (r < 0) {
                g_autofree char *message = g_strdup_printf(
                    "%s: cannot be removed: %s", session->options.state_file, g_strerror(-r));
                session_say(session, LOG_WARNING, message);
        }
}

/* Writes down what the next process needs; at every change of the deadline. */
static void session_file_it(Session *session) {
        const SessionFile file = {
            .session = zk_session_id(session->zk),
            .timeout = session->beat.timeout,
            .held_until = session->beat.until,
            .stop_at = session->beat.stop_at,
        };
        int r = -ENOENT;

        if (!session->options.state_file || !session->established)
                return;
        if (session->filed)
                r = session_file_renew(session->options.state_file, session->options.identity,
                                       &file);
        if (r < 0)
                r = session_file_save(session->options.state_file, session->options.identity,
                                      &file);
        session->filed = r >= 0;
        if (r < 0 && !session->unfiled) {
                g_autofree char *message =
                    g_strdup_printf("%s: cannot be written, so no job is started, and a restart "
                                    "will not find its locks: %s",
                                    session->options.state_file, g_strerror(-r));
                session_say(session, LOG_WARNING, message);
        }
        session->unfiled = r < 0;
}

/* Whoever guards what our locks protect comes before whoever relies on them. */
static void session_move(Session *session) {
        if (session->established && session->options.moved)
                session->options.moved(session->options.moved_userdata);
        session_file_it(session);
}

/* Nothing is wanted of the process before us any more. */
static void session_forget_predecessor(Session *session) {
        session->wanted = (ZkSessionId){0};
        session_beat_disinherit(&session->beat);
}

/* A heartbeat was good, and the servers' tick is known. */
static void session_establish(Session *session) {
        ZkSessionId id = zk_session_id(session->zk);
        bool attached = session->wanted.id != 0 && session->wanted.id == id.id;

        session->silence = sd_event_source_disable_unref(session->silence);
        session->established = true;
        session->state = SESSION_CONNECTED;
        session->retry_delay = RETRY_FIRST;
        session->stopped = false;
        session->filed = attached; /* then it is renewed in place, also where there is no room */
        session_forget_predecessor(session);
        g_clear_pointer(&session->fault, g_free);
        session_move(session);
        (void)session_emit(session, attached ? SESSION_EVENT_ATTACHED : SESSION_EVENT_CONNECTED);
}

/* Gives the session up and reports it. Return: false when it was freed meanwhile. */
static bool session_give_up(Session *session) {
        Zk *zk = g_steal_pointer(&session->zk);
        bool alive;

        session->retry = sd_event_source_disable_unref(session->retry);
        session_forget_predecessor(session);
        session_drop_zk(session);
        session->state = SESSION_CONNECTING;
        session_remove_file(session);
        alive = session_emit(session, SESSION_EVENT_LOST);
        (void)zk_free(zk);
        return alive;
}

static void session_lose(Session *session) {
        if (session_give_up(session) && session->ending == ENDING_NOT)
                session_connect(session);
}

/* The server grants a timeout that leaves no room for the deadline: without a session there are no
 * locks, but no false ones. */
static void session_refuse(Session *session, const char *fault) {
        if (session->established) {
                if (!session_give_up(session))
                        return;
        } else {
                /* A session of the process before us may still protect its jobs: that one is left
                 * alone. */
                if (session->wanted.id == 0 && !session->unwanted) {
                        session->unwanted = g_steal_pointer(&session->zk);
                        zk_close(session->unwanted);
                }
                session_drop_zk(session);
        }
        if (!session_report_fault(session, fault) || session->ending != ENDING_NOT)
                return;
        session_connect_later(session);
}

/* A new session every few seconds, as with servers that are refused, needs no line each. */
static void session_say_tick(Session *session) {
        const DeadlineRule *rule = &session->options.rule;
        g_autofree char *message = NULL;

        if (rule->least_timeout == 0)
                message = g_strdup_printf(
                    "the ZooKeeper server did not say its least session timeout: the configured "
                    "tick-time of %.3gs is taken on trust",
                    (double)rule->tick_time / USEC_PER_SEC);
        else if (deadline_tick(rule) > rule->tick_time &&
                 session->tick_said != rule->least_timeout) {
                g_autofree char *sum = deadline_explain(rule, zk_timeout(session->zk));

                session->tick_said = rule->least_timeout;
                message = g_strdup_printf(
                    "the least session timeout that the ZooKeeper servers grant is %.3gs, so their "
                    "tick is taken to be %.3gs, longer than the configured tick-time of %.3gs (%s)",
                    (double)rule->least_timeout / USEC_PER_SEC,
                    (double)deadline_tick(rule) / USEC_PER_SEC,
                    (double)rule->tick_time / USEC_PER_SEC, sum);
        }
        if (message)
                session_say(session, LOG_WARNING, message);
}

static void session_ask_tick(Session *session) {
        const char *server = zk_server(session->zk);
        usec_t now = clock_boottime(), left = usec_sub(session->beat.stop_at, now);
        int r;

        if (left == 0)
                left = usec_sub(session->beat.until, now);
        session_probe_end(&session->probe);
        r = session_probe_begin(&session->probe, *server ? server : session->options.servers,
                                session->options.auth, session->options.rule.tick_time, left);
        if (r < 0)
                session_say_tick(session);
}

static void session_on_connected(Session *session) {
        g_autofree char *fault = deadline_fault(&session->options.rule, zk_timeout(session->zk));

        if (fault) {
                session_refuse(session, fault);
                return;
        }
        session_ask_tick(session);
        session_beat_begin(&session->beat, session->zk);
        session_move(session);
}

/* What can be known of the servers' tick is known: begins or goes on, or refuses. */
static void session_on_probed(usec_t least_timeout, void *userdata) {
        Session *session = userdata;
        DeadlineRule *rule = &session->options.rule;
        g_autofree char *fault = NULL;

        rule->least_timeout = MAX(rule->least_timeout, least_timeout);
        session_say_tick(session);
        if (zk_state(session->zk) != ZK_STATE_CONNECTED)
                return; /* goes on with the next connection */
        fault = deadline_fault(rule, zk_timeout(session->zk));
        if (fault) {
                session_refuse(session, fault);
                return;
        }
        session_beat_recount(&session->beat);
        session_move(session);
        session_beat_now(&session->beat);
}

/* How much it is worth is not known before its server was asked. */
static void session_on_good(Session *session, usec_t sent) {
        if (session_probe_waits(&session->probe))
                return;
        session_beat_count(&session->beat, sent);
        if (!session->established) {
                session_establish(session);
                return;
        }
        session_move(session);
        if (session->state == SESSION_CONNECTED && !session->stopped)
                return;
        session->state = SESSION_CONNECTED;
        session->stopped = false;
        (void)session_emit(session, SESSION_EVENT_RESUMED);
}

/* There is somebody: nobody else is looked for meanwhile. */
static void session_on_late(Session *session) {
        session_say(
            session, LOG_NOTICE,
            "the ZooKeeper session was granted long after it was asked for: locks are taken "
            "once all servers have certainly heard of it");
        session_timer_arm(session->event, &session->silence, CLOCK_MONOTONIC,
                          clock_monotonic() + zk_timeout(session->zk) + PATIENCE,
                          session_on_patience, session);
}

static void session_on_beat(BeatNews news, usec_t sent, void *userdata) {
        Session *session = userdata;

        if (news == BEAT_GOOD) {
                session_on_good(session, sent);
        } else if (news == BEAT_LOST) {
                session_lose(session);
        } else if (news == BEAT_LATE) {
                session_drop_zk(session);
                session_connect(session);
        } else if (news == BEAT_LATE_AGAIN) {
                session_on_late(session);
        } else if (!session->stopped) {
                session->stopped = true;
                (void)session_emit(session, SESSION_EVENT_STOP);
        }
}

static void session_on_suspended(Session *session) {
        session_beat_suspend(&session->beat);
        session_probe_end(&session->probe);
        if (!session->established || session->state != SESSION_CONNECTED)
                return;
        session->state = SESSION_SUSPENDED;
        (void)session_emit(session, SESSION_EVENT_SUSPENDED);
}

static void session_on_expired(Session *session) {
        if (session->established || session->wanted.id != 0) {
                session_lose(session);
                return;
        }
        session_drop_zk(session);
        session_connect(session);
}

/* The handle is of no use any more. */
static void session_on_failed(Session *session, const char *fault) {
        g_autofree char *sentence = g_strdup(fault);

        if (session->established) {
                if (!session_give_up(session))
                        return;
        } else
                session_drop_zk(session);
        if (!session_report_fault(session, sentence) || session->ending != ENDING_NOT)
                return;
        session_connect_later(session);
}

static void session_finish(Session *session) {
        Zk *zk;

        session->end = sd_event_source_disable_unref(session->end);
        zk = g_steal_pointer(&session->zk);
        session_drop_zk(session);
        session->state = SESSION_CLOSED;
        (void)session_emit(session, SESSION_EVENT_CLOSED);
        (void)zk_free(zk);
}

static void session_on_zk_state(Zk *zk, ZkState state, void *userdata) {
        Session *session = userdata;

        if (zk == session->unwanted) {
                if (state == ZK_STATE_CLOSED)
                        session->unwanted = zk_free(session->unwanted);
                return;
        }
        switch (state) {
        case ZK_STATE_CONNECTED:
                session_on_connected(session);
                break;
        case ZK_STATE_SUSPENDED:
                session_on_suspended(session);
                break;
        case ZK_STATE_EXPIRED:
                session_on_expired(session);
                break;
        case ZK_STATE_AUTH_FAILED:
                session_on_failed(session, "the ZooKeeper server refuses our credentials");
                break;
        case ZK_STATE_FAILED:
                session_on_failed(session, zk_fault(zk));
                break;
        case ZK_STATE_CLOSED:
                session_finish(session);
                break;
        case ZK_STATE_CONNECTING:
                break;
        }
}

static int session_try_connect(Session *session) {
        return zk_connect(session->event,
                          &(ZkOptions){
                              .servers = session->options.servers,
                              .session_timeout = session->options.session_timeout,
                              .session = session->wanted.id ? &session->wanted : NULL,
                              .auth = session->options.auth,
                              .log = session->options.log ? session_on_library_log : NULL,
                              .state = session_on_zk_state,
                              .userdata = session,
                          },
                          &session->zk);
}

static void session_await_word(Session *session) {
        usec_t limit = SILENCE;

        if (session_is_attaching(session)) {
                limit = session->hurry;
                session->hurry = usec_add(session->hurry, session->hurry);
        }
        session_timer_arm(session->event, &session->silence, CLOCK_MONOTONIC,
                          clock_monotonic() + limit, session_on_silence, session);
}

static void session_connect(Session *session) {
        int r = session_try_connect(session);

        if (r < 0) { /* no descriptors or no threads: the machine's trouble, not the server's */
                g_autofree char *fault =
                    g_strdup_printf("cannot connect to ZooKeeper: %s", g_strerror(-r));

                if (session_report_fault(session, fault) && session->ending == ENDING_NOT)
                        session_connect_later(session);
                return;
        }
        session_await_word(session);
}

static void session_load_file(Session *session) {
        g_autofree char *message = NULL;
        SessionFile file = {0};
        int r = session->options.state_file ? session_file_load(session->options.state_file,
                                                                session->options.identity, &file)
                                            : -ENOENT;

        if (r >= 0) {
                session->wanted = file.session;
                session_beat_inherit(&session->beat, file.held_until, file.stop_at);
        } else if (r != -ENOENT && r != -ESTALE) {
                message = g_strdup_printf("%s: damaged, ignored: it %s; it is set aside",
                                          session->options.state_file, state_file_fault(r));
                (void)state_file_set_aside(session->options.state_file);
                session_say(session, LOG_WARNING, message);
        }
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
        session->options = *options;
        session->options.servers = g_strdup(options->servers);
        session->options.auth = g_strdup(options->auth);
        session->options.state_file = g_strdup(options->state_file);
        session->options.identity = g_strdup(options->identity);
        session_listeners_init(&session->listeners, session, func, userdata);
        session_beat_init(&session->beat, event, &session->options.rule, session_on_beat, session);
        session_probe_init(&session->probe, event, session_on_probed, session);
        session->retry_delay = RETRY_FIRST;
        session->hurry = HURRY;
        g_datalist_init(&session->data);

        session_load_file(session);
        r = session_try_connect(session);
        if (r < 0)
                return r;
        session_await_word(session);
        *ret_session = g_steal_pointer(&session);
        return 0;
}

static void session_free_options(SessionOptions *options) {
        if (options->auth)
                explicit_bzero((char *)options->auth, strlen(options->auth));
        g_free((char *)options->auth);
        g_free((char *)options->servers);
        g_free((char *)options->state_file);
        g_free((char *)options->identity);
        *options = (SessionOptions){0};
}

Session *session_free(Session *session) {
        if (!session)
                return NULL;
        session->freed = true;
        session->refs++;
        session->state = SESSION_CLOSED;
        session->established = false; /* whoever is told begins nothing new */
        session_beat_end(&session->beat);
        session_forget_predecessor(session);
        session_listeners_tell(&session->listeners, SESSION_EVENT_CLOSED);
        session_listeners_drop(&session->listeners);
        g_datalist_clear(&session->data);
        session_drop_zk(session);
        session->unwanted = zk_free(session->unwanted);
        session->retry = sd_event_source_disable_unref(session->retry);
        session->end = sd_event_source_disable_unref(session->end);
        session->event = sd_event_unref(session->event);
        session_free_options(&session->options);
        g_clear_pointer(&session->fault, g_free);
        session_unref(session);
        session_unref(session);
        return NULL;
}

void session_forsake(Session *session) {
        if (session->ending == ENDING_NOT && session->established)
                session_beat_forsake(&session->beat);
}

static int session_on_end(sd_event_source *source, uint64_t usec, void *userdata) {
        session_finish(userdata);
        return 0;
}

static void session_end(Session *session, SessionEnding ending) {
        if (session->ending != ENDING_NOT)
                return;
        session->ending = ending;
        session->retry = sd_event_source_disable_unref(session->retry);
        session->silence = sd_event_source_disable_unref(session->silence);
        session_forget_predecessor(session);
        session_beat_end(&session->beat);
        session_probe_end(&session->probe);
        if (session->zk && ending == ENDING_CLOSE)
                zk_close(session->zk);
        else if (session->zk)
                zk_abandon(session->zk);
        session_timer_arm(session->event, &session->end, CLOCK_MONOTONIC,
                          clock_monotonic() + (session->zk ? CLOSE_LIMIT : 0), session_on_end,
                          session);
}

void session_close(Session *session) {
        session_end(session, ENDING_CLOSE);
        if (session->ending == ENDING_CLOSE) /* else it was detached: the next process wants it */
                session_remove_file(session);
}

void session_detach(Session *session) {
        session_end(session, ENDING_DETACH);
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

bool session_is_filed(const Session *session) {
        return !session->unfiled;
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

usec_t session_held_until(const Session *session) {
        return session->beat.until;
}

usec_t session_stop_at(const Session *session) {
        return session->beat.stop_at;
}

usec_t session_heard(const Session *session) {
        return session->beat.good;
}

int session_listen(Session *session, SessionEventFunc func, void *userdata,
                   SessionListener **ret_listener) {
        return session_listeners_add(&session->listeners, func, userdata, ret_listener);
}
