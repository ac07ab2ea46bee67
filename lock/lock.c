/* Locks over ZooKeeper: the recipe.
 *
 * A resource is a directory. Whoever wants it creates a contender in it: a child that is ephemeral
 * (it goes when its session goes) and sequential (the server appends a number that only grows). The
 * numbers are a queue, the same for everybody who looks. An exclusive contender holds the lock when
 * nobody is before it, a shared one when no exclusive one is. This file keeps the LockSet: several
 * such places taken one after another, in the order of their paths so that two sets never wait for
 * each other, under one overall wait.
 *
 * GETTING IN (lock-queue.c) is one flight. A server serves the requests of a session in their
 * order, so create and list leave together and the list is sure to show our contender and all that
 * come before it. Nobody can come before us later: the list tells once and for all whom to wait
 * for, and it is the only list we ask for (but for twins, below, where an answer was lost, and
 * where a contender before us must not be read: lock-relist.c). If the directory is missing, it is
 * made in the same flight as the next attempt.
 *
 * WAITING (lock-watch.c). If all waiters watched the directory, each release would wake everybody
 * to list everything. So each watches only the contender immediately before it (a shared one: the
 * last exclusive one before it): one deletion, one event, one waiter woken. That event need not
 * mean our turn. The one before us may have given up while others before him still wait, or hold.
 * So we remember all that the list showed, and strike out whoever is known to be gone. When nobody
 * is left, the lock is ours: then the DELETED event alone grants it, without asking the server
 * anything. To make that the rule, a waiter watches two deep. When the holder goes, his successor
 * learns it and holds; the next in line learns it too, and asks at leisure about those of whom it
 * is not sure, so that when its turn comes, it knows already that nobody else is before it. Mostly
 * one read tells: who has held the lock exclusively, and waited for it, leaves a mark in the
 * directory as he goes, up to which number everybody is through (lock-directory.c). So a handover
 * costs the same number of requests, however long the queue. A deletion is final, because a name
 * with its number and uuid never comes again; so names seen deleted are kept as tombstones, for
 * another server may be behind and still list them.
 *
 * We watch our own contender as well. Somebody may delete it, and who holds nothing must not
 * believe that he does, nor be granted anything by the events of others. The list has shown it, and
 * its watch is set a moment later: whoever is through by then needs none. After a reconnection it
 * is asked for again before a grant by event.
 *
 * SLOTS. With N of them the lock is ours when fewer than N are before us, and a waiter watches the
 * nearest N + 1. How many there are is written in the directory, which all who wait watch.
 *
 * TWINS (contender.h, lock-hold.c). A holder may step down from exclusive to shared: then a
 * reader's contender with his number takes the place of his writer's, before everybody who waits. A
 * writer who waits for one that may do so does not take his deletion for the grant, but looks once
 * more, as after a lost creation. Contenders say in their name whether they may.
 *
 * PROTECTED CREATE. When the connection breaks after the create was sent, the contender exists or
 * it does not. Creating again blindly may leave a contender that nobody knows and that blocks the
 * queue while the session lives. So the name carries a uuid, new for every attempt to acquire. Once
 * connected again, a list tells the truth, with a write before it in the same flight that makes it
 * current (lock-barrier.c says why a sync is not enough): found, it is adopted, with its czxid read
 * from its stat; not found, created again. It must belong to this session: one of a dying session
 * would be no lock at all.
 *
 * GUARANTEED DELETE (lock-delete.c). Releasing, timing out and giving up delete the contender. That
 * request may be lost as well, so it is repeated until the answer is "deleted" or "no such node",
 * by an object that belongs to the session and outlives the LockSet.
 *
 * WHAT CAN GO WRONG
 * - The session is suspended: no server is reachable. Nothing changes hands on our side: requests
 *   that were lost are sent again at SESSION_EVENT_RESUMED. The client library sets its watches
 *   again by itself, but a watch whose request was lost never was one.
 * - The session is lost: the server has deleted, or is about to delete, all contenders. LOST, at
 *   the deadline that session.h computes, without waiting for anybody to say so. Therefore "held"
 *   is a question about time, lock_set_held_until(), and not a flag.
 * - Somebody deletes a contender or the directory: LOST as soon as the watch tells. Until then two
 *   may believe that they hold.
 * - Somebody queues in a way that cannot see us (another naming, or slots): FAILED, naming him,
 *   rather than a lock that is none.
 * - The numbers wrap at 2^31 in the server. Far before that: FAILED, and the directory is deleted
 *   as soon as nobody is in it, which starts them again.
 * - A holder is paused, for longer than its session lives, and wakes up believing. No lock service
 *   can prevent this. The remedy is the FENCING TOKEN (lock-token.c), a zxid: these grow with
 *   everything the ensemble ever does, so whoever acquires later has a larger one, also after the
 *   directory was deleted and made again, which resets the sequence numbers. A resource that
 *   remembers the largest token it saw can refuse the sleeper's writes.
 *
 * Programs that do not queue at all but create one node of a fixed name are met by lock-single.c.
 */
#include "lock-private.h"

#include <errno.h>
#include <string.h>

#define BACKOFF_MIN (50 * USEC_PER_MSEC)
#define BACKOFF_MAX (5 * USEC_PER_SEC)
#define BACKOFF_DOUBLINGS 7

/* Who waits and holds for less is spared the watch on his own contender. */
#define WATCH_LATER (20 * USEC_PER_MSEC)

usec_t lock_backoff(unsigned failures) {
        usec_t pause = MIN(BACKOFF_MIN << MIN(failures, BACKOFF_DOUBLINGS), BACKOFF_MAX);

        return pause / 2 + (usec_t)g_random_int_range(0, (gint32)(pause / 2));
}

/* Outcomes */

/* Contenders are kept where they are: who loses one of several locks is to stop what all of them
 * protect before he lets go. */
static void set_leave_session(LockSet *set) {
        if (!set->session)
                return;
        for (guint i = 0; i < set->places->len; i++)
                place_cancel(set->places->pdata[i]);
        set->token_call = zk_call_free(set->token_call);
        live_set_remove(set);
        set->listener = session_unlisten(set->listener);
        set->session = NULL;
}

static void set_release(LockSet *set) {
        for (guint i = set->places->len; i-- > 0;)
                place_release(set->places->pdata[i]);
        set_refresh_paths(set);
}

/* An outcome after which nothing else comes first; what goes on is told in its order. */
static const LockEvent delivery_order[] = {
    LOCK_EVENT_LOST, LOCK_EVENT_FAILED,     LOCK_EVENT_TIMEOUT,
    LOCK_EVENT_HELD, LOCK_EVENT_DOWNGRADED, LOCK_EVENT_REVOKED,
};

static bool is_final(LockEvent event) {
        return event == LOCK_EVENT_LOST || event == LOCK_EVENT_FAILED ||
               event == LOCK_EVENT_TIMEOUT;
}

/* Takes the next event that may be told now. Return: whether there is one. */
static bool take_pending(LockSet *set, LockEvent *ret_event) {
        for (size_t i = 0; i < G_N_ELEMENTS(delivery_order); i++) {
                LockEvent event = delivery_order[i];

                if (!(set->pending & (1U << event)) || (!is_final(event) && !set->held))
                        continue;
                set->pending = is_final(event) ? 0 : set->pending & ~(1U << event);
                *ret_event = event;
                return true;
        }
        return false;
}

static int on_deliver(sd_event_source *source, void *userdata) {
        LockSet *set = userdata;
        LockEvent event;

        /* Past the deadline nothing is held: the session is about to say so. */
        if (set->held && lock_set_held_until(set) <= clock_boottime())
                return 0;
        if (!take_pending(set, &event))
                return 0;
        if (set->pending != 0)
                (void)sd_event_source_set_enabled(set->deliver, SD_EVENT_ONESHOT);
        if (is_final(event) && event != LOCK_EVENT_LOST)
                set_release(set);
        set->func(set, event, set->userdata);
        return 0;
}

static void set_end(LockSet *set) {
        set->held = false;
        set->over = true;
        set->timeout = sd_event_source_disable_unref(set->timeout);
        set->retry = sd_event_source_disable_unref(set->retry);
        set->watch_later = sd_event_source_disable_unref(set->watch_later);
}

void set_announce(LockSet *set, LockEvent event) {
        if (set->over)
                return;
        /* What was held before us may be in use still: its contenders stay until lock_set_free().
         */
        if (set->adopting && event == LOCK_EVENT_FAILED)
                event = LOCK_EVENT_LOST;
        set->pending |= 1U << event;
        if (is_final(event)) {
                set_end(set);
        } else if (event == LOCK_EVENT_HELD) {
                set->held = true;
                set->timeout = sd_event_source_disable_unref(set->timeout);
        }
        (void)sd_event_source_set_enabled(set->deliver, SD_EVENT_ONESHOT);
}

static void set_end_for(LockSet *set, LockEvent event, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
static void set_end_for(LockSet *set, LockEvent event, const char *format, va_list arguments) {
        if (set->over)
                return;
        set->fault = g_strdup_vprintf(format, arguments);
        set_announce(set, event);
}

void set_fail(LockSet *set, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        set_end_for(set, LOCK_EVENT_FAILED, format, arguments);
        va_end(arguments);
}

void set_lose(LockSet *set, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        set_end_for(set, LOCK_EVENT_LOST, format, arguments);
        va_end(arguments);
}

void set_on_place_held(LockSet *set) {
        int r;

        set->n_held++;
        if (set->n_held == set->places->len) {
                set_draw_token(set);
                return;
        }
        r = place_begin(set->places->pdata[set->n_held]);
        if (r < 0 && r != -ENOTCONN)
                set_fail(set, "cannot queue: %s", g_strerror(-r));
}

static void set_retry(LockSet *set) {
        set->retry = sd_event_source_disable_unref(set->retry);
        for (guint i = 0; i < set->places->len && !set->over; i++)
                place_retry(set->places->pdata[i]);
        if (set->n_held == set->places->len && !set->held && !set->over && !set->token_call)
                set_draw_token(set);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        LockSet *set = userdata;

        set->retry = sd_event_source_disable_unref(set->retry);
        if (set->session && session_state(set->session) == SESSION_CONNECTED)
                set_retry(set);
        return 0;
}

void set_stall(LockSet *set) {
        usec_t then = usec_add(clock_monotonic(), lock_backoff(set->failures));

        if (set->retry || set->over)
                return;
        set->failures++;
        (void)sd_event_add_time(session_event_loop(set->session), &set->retry, CLOCK_MONOTONIC,
                                then, USEC_PER_MSEC, on_retry, set);
}

static int on_watch_later(sd_event_source *source, uint64_t usec, void *userdata) {
        LockSet *set = userdata;

        set->watch_later = sd_event_source_disable_unref(set->watch_later);
        for (guint i = 0; i < set->places->len && !set->over; i++) {
                Place *place = set->places->pdata[i];

                /* The other strategies see it in their lists. */
                bool waits = place->state == PLACE_WAITING && place->contender &&
                             set->strategy == LOCK_STRATEGY_PREDECESSOR;

                if ((place->state == PLACE_HELD || waits) && !place->self && !place->stepping)
                        place_watch_self(place);
        }
        return 0;
}

void set_watch_later(LockSet *set) {
        if (set->watch_later || set->over)
                return;
        if (sd_event_add_time_relative(session_event_loop(set->session), &set->watch_later,
                                       CLOCK_MONOTONIC, WATCH_LATER, USEC_PER_MSEC, on_watch_later,
                                       set) < 0)
                (void)on_watch_later(NULL, 0, set);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        set_announce(userdata, LOCK_EVENT_TIMEOUT);
        return 0;
}

static void on_session_event(Session *session, SessionEvent event, void *userdata) {
        LockSet *set = userdata;

        if (event == SESSION_EVENT_LOST || event == SESSION_EVENT_CLOSED) {
                set_announce(set, LOCK_EVENT_LOST);
                set_leave_session(set);
        } else if (event == SESSION_EVENT_RESUMED && !set->over) {
                set_retry(set);
        }
}

/* Construction */

static void place_destroy(gpointer place) {
        place_free(place);
}

static int set_add_sources(LockSet *set, usec_t wait) {
        sd_event *event = session_event_loop(set->session);
        int r;

        r = sd_event_add_defer(event, &set->deliver, on_deliver, set);
        if (r >= 0)
                r = sd_event_source_set_enabled(set->deliver, SD_EVENT_OFF);
        if (r >= 0 && wait > 0 && wait < USEC_INFINITY)
                r = sd_event_add_time(event, &set->timeout, CLOCK_MONOTONIC,
                                      usec_add(clock_monotonic(), wait), USEC_PER_MSEC, on_timeout,
                                      set);
        return r;
}

static int set_new(Session *session, usec_t wait, LockSetFunc func, void *userdata,
                   LockSet **ret_set) {
        _cleanup_(lock_set_freep) LockSet *set = g_new0(LockSet, 1);
        int r;

        set->session = session;
        set->func = func;
        set->userdata = userdata;
        set->places = g_ptr_array_new_with_free_func(place_destroy);
        set->paths = g_ptr_array_new();
        set->try_only = wait == 0;
        set->sequence_max = CONTENDER_SEQUENCE_MAX;
        set_refresh_paths(set);
        live_set_add(set);
        r = set_add_sources(set, wait);
        if (r >= 0)
                r = session_listen(session, on_session_event, set, &set->listener);
        if (r < 0)
                return r;
        *ret_set = g_steal_pointer(&set);
        return 0;
}

/* Whatever ZooKeeper takes for the name of one znode, and a person can read. */
static bool resource_is_valid(const char *resource) {
        if (!resource || !*resource || strlen(resource) > LOCK_RESOURCE_LENGTH_MAX ||
            strchr(resource, '/') || g_str_equal(resource, ".") || g_str_equal(resource, ".."))
                return false;
        for (const char *c = resource; *c; c++)
                if (g_ascii_iscntrl(*c))
                        return false;
        return g_utf8_validate(resource, -1, NULL);
}

/* Two ways to write one directory would be two resources to us. */
static bool path_is_valid(const char *path) {
        return !path ||
               (path[0] == '/' && path[1] && !g_str_has_suffix(path, "/") && !strstr(path, "//"));
}

/* Return: 0; -EINVAL when the naming has nothing of the sort. */
static int kind_of(const LockRequest *request, ContenderKind *ret_kind) {
        ContenderKind kind = request->mode == LOCK_SHARED ? CONTENDER_READER : CONTENDER_WRITER;
        g_autofree char *prefix = NULL;

        if (request->slots > 1) {
                if (request->mode == LOCK_SHARED)
                        return -EINVAL;
                kind = CONTENDER_SLOT;
        }
        if (request->naming == LOCK_NAMING_SINGLE_NODE) {
                if (kind != CONTENDER_WRITER)
                        return -EINVAL;
        } else {
                prefix = contender_prefix(request->naming, kind, "");
                if (!prefix)
                        return -EINVAL;
        }
        *ret_kind = kind;
        return 0;
}

static int set_add_place(LockSet *set, const char *parent, const LockRequest *request) {
        g_autofree char *directory = NULL;
        ContenderKind kind;
        Place *place;
        int r;

        if (!resource_is_valid(request->resource) || !path_is_valid(request->path))
                return -EINVAL;
        r = kind_of(request, &kind);
        if (r < 0)
                return r;
        directory = request->path ? g_strdup(request->path)
                                  : g_strconcat(strcmp(parent, "/") == 0 ? "" : parent, "/",
                                                request->resource, NULL);
        place = place_new(set, directory, request->resource, request->naming, kind);
        place->slots = request->slots;
        g_ptr_array_add(set->places, place);
        return 0;
}

/* The same order for everybody, whatever names they give to it. */
static int compare_directories(const void *a, const void *b) {
        const Place *const *x = a, *const *y = b;

        return strcmp((*x)->directory, (*y)->directory);
}

static int set_add_places(LockSet *set, const char *parent, const LockRequest *requests,
                          size_t n_requests) {
        for (size_t i = 0; i < n_requests; i++) {
                int r = set_add_place(set, parent, &requests[i]);

                if (r < 0)
                        return r;
        }
        g_ptr_array_sort(set->places, compare_directories);
        for (guint i = 1; i < set->places->len; i++)
                if (compare_directories(&set->places->pdata[i - 1], &set->places->pdata[i]) == 0)
                        return -EINVAL;
        return set->places->len > 0 ? 0 : -EINVAL;
}

int lock_set_acquire(Session *session, const LockRequest *requests, size_t n_requests,
                     const LockOptions *options, LockSetFunc func, void *userdata,
                     LockSet **ret_set) {
        _cleanup_(lock_set_freep) LockSet *set = NULL;
        int r;

        if (!options->parent || options->parent[0] != '/')
                return -EINVAL;
        r = set_new(session, options->wait, func, userdata, &set);
        if (r < 0)
                return r;
        set->payload = g_strdup(options->payload ? options->payload : "");
        set->persistent = options->persistent;
        set->strategy = options->strategy;
        set->may_downgrade = options->may_downgrade;
        set->revocable = options->revocable;
        set->fresh_token = options->fresh_token;
        if (options->sequence_max > 0)
                set->sequence_max = options->sequence_max;
        r = set_add_places(set, options->parent, requests, n_requests);
        if (r >= 0)
                r = place_begin(set->places->pdata[0]);
        if (r < 0)
                return r;
        *ret_set = g_steal_pointer(&set);
        return 0;
}

/* A contender that we made in an earlier life: its place is as if its creation had just been
 * answered. */
static int set_add_adopted(LockSet *set, const char *path) {
        const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
        g_autofree char *directory = NULL;
        Contender contender;
        Place *place;

        if (!slash || slash == path)
                return -EINVAL;
        contender_parse(slash + 1, &contender);
        if (strcmp(slash + 1, SINGLE_NODE_NAME) == 0) {
                contender.naming = LOCK_NAMING_SINGLE_NODE;
                contender.kind = CONTENDER_WRITER;
                contender.may_leave_twin = false;
        } else if (contender.kind == CONTENDER_FOREIGN) {
                return -EINVAL;
        }
        set->may_downgrade = set->may_downgrade || contender.may_leave_twin;
        directory = g_strndup(path, (gsize)(slash - path));
        place = place_new(set, directory, NULL, contender.naming, contender.kind);
        g_ptr_array_add(set->places, place);
        g_free(place->uuid);
        place->uuid = g_strdup(contender.uuid);
        place->contender = g_strdup(path);
        return 0;
}

int lock_set_adopt(Session *session, const char *const *paths, const LockOptions *options,
                   LockSetFunc func, void *userdata, LockSet **ret_set) {
        _cleanup_(lock_set_forgetp) LockSet *set = NULL;
        int r;

        r = set_new(session, USEC_INFINITY, func, userdata, &set);
        if (r < 0)
                return r;
        set->adopting = true;
        if (options) {
                set->payload = g_strdup(options->payload);
                set->revocable = options->revocable;
                set->fresh_token = options->fresh_token;
        }
        for (size_t i = 0; paths[i]; i++) {
                r = set_add_adopted(set, paths[i]);
                if (r < 0)
                        return r;
        }
        set_refresh_paths(set);
        r = set->places->len > 0 ? place_begin(set->places->pdata[0]) : -EINVAL;
        if (r < 0)
                return r;
        *ret_set = g_steal_pointer(&set);
        return 0;
}

void lock_set_set_func(LockSet *set, LockSetFunc func, void *userdata) {
        if (!set)
                return;
        set->func = func;
        set->userdata = userdata;
}

LockSet *lock_set_forget(LockSet *set) {
        if (!set)
                return NULL;
        if (set->entries > 0) {
                set->entries--;
                return NULL;
        }
        set_leave_session(set);
        set->deliver = sd_event_source_disable_unref(set->deliver);
        set->timeout = sd_event_source_disable_unref(set->timeout);
        set->retry = sd_event_source_disable_unref(set->retry);
        set->watch_later = sd_event_source_disable_unref(set->watch_later);
        g_ptr_array_unref(set->places);
        g_ptr_array_unref(set->paths);
        g_free(set->payload);
        g_free(set->fault);
        g_free(set);
        return NULL;
}

LockSet *lock_set_free(LockSet *set) {
        if (set && set->session && set->entries == 0)
                set_release(set);
        return lock_set_forget(set);
}

/* Questions */

void set_refresh_paths(LockSet *set) {
        g_ptr_array_set_size(set->paths, 0);
        for (guint i = 0; i < set->places->len; i++) {
                Place *place = set->places->pdata[i];

                if (place->contender)
                        g_ptr_array_add(set->paths, place->contender);
        }
        g_ptr_array_add(set->paths, NULL);
}

usec_t lock_set_held_until(const LockSet *set) {
        return set->held && set->session ? session_held_until(set->session) : 0;
}

const char *const *lock_set_paths(const LockSet *set) {
        return (const char *const *)set->paths->pdata;
}

bool lock_set_clock_sample(const LockSet *set, usec_t *ret_server, usec_t *ret_sent,
                           usec_t *ret_received) {
        if (!set->sampled)
                return false;
        *ret_server = set->sample_server;
        *ret_sent = set->sample_sent;
        *ret_received = set->sample_received;
        return true;
}

const char *lock_set_waiting_for(const LockSet *set, size_t *ret_before) {
        const Place *place =
            set->n_held < set->places->len ? set->places->pdata[set->n_held] : NULL;

        *ret_before = !place ? 0 : place->ahead->len > 0 ? place->ahead->len : place->before;
        return place ? place->resource : "";
}

const char *lock_set_fault(const LockSet *set) {
        return set->fault ? set->fault : "";
}
