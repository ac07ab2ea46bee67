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
 * mean our turn. The one before us may have given up while others before it still wait, or hold.
 * So we remember all that the list showed, and strike out whoever is known to be gone. When nobody
 * is left, the lock is ours: then the DELETED event alone grants it, without asking the server
 * anything. To make that the rule, a waiter watches two deep. When the holder goes, its successor
 * learns it and holds; the next in line learns it too, and asks at leisure about those of which it
 * is not sure, so that when its turn comes, it knows already that nobody else is before it. Mostly
 * one read tells: a contender that has held the lock exclusively, and waited for it, leaves a mark
 * in the directory as it goes, up to which number everybody is through (lock-data.h). So a handover
 * costs the same number of requests, however long the queue. A deletion is final, because a name
 * with its number and uuid never comes again; so names seen deleted are kept as tombstones, for
 * another server may be behind and still list them.
 *
 * We watch our own contender as well. Somebody may delete it, and a process that holds nothing must
 * not believe that it does, nor be granted anything by the events of others. The list has shown it,
 * and its watch is set a moment later: whoever is through by then needs none. After a reconnection
 * it is asked for again before a grant by event.
 *
 * SLOTS. With N of them the lock is ours when fewer than N are before us, and a waiter watches the
 * nearest N + 1. How many there are is written in the directory, which all waiters watch; all who
 * are in it count with the same number (lock-slots.c).
 *
 * TWINS (contender.h, lock-hold.c). A holder may step down from exclusive to shared: then a
 * reader's contender with its number takes the place of its writer's, before all that wait. A
 * writer that waits for one that may do so does not take its deletion for the grant, but looks once
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
 * - Somebody queues in a way that cannot see us (another naming, or slots): FAILED, naming that
 *   contender, rather than a lock that is none.
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
#include "lock.h"

#include <errno.h>
#include <string.h>

#include "lock-data.h"
#include "lock-hold.h"
#include "lock-queue.h"
#include "lock-request.h"
#include "lock-single.h"
#include "lock-token.h"
#include "lock-watch.h"

struct LockSet {
        Outcome outcome;
        SessionListener *listener;
        LockSetFunc func;
        void *userdata;
        GPtrArray *places; /* of Place, in canonical order */
        size_t n_held;     /* that many of them, from the front, are ours */
        GPtrArray *paths;  /* of borrowed paths, NULL-terminated: as they were asked for last */
        unsigned entries;  /* beyond the first */
        LockToken token;
        usec_t turned;       /* CLOCK_MONOTONIC: when the turn came of the next */
        usec_t longest_wait; /* of those that are held */
        const char *longest_resource;
};

/* Contenders are kept where they are: whoever loses one of several locks is to stop what all of
 * them protect before the others go. */
static void set_leave_session(LockSet *set) {
        if (!set->outcome.session)
                return;
        for (guint i = 0; i < set->places->len; i++)
                place_leave(set->places->pdata[i]);
        set->token.call = zk_call_free(set->token.call);
        set->listener = session_unlisten(set->listener);
        set->outcome.session = NULL;
}

static void set_release(LockSet *set) {
        for (guint i = set->places->len; i-- > 0;)
                place_release(set->places->pdata[i]);
}

/* What the outcome asks for */

static void set_tell(LockEvent event, void *userdata) {
        LockSet *set = userdata;

        if (event == LOCK_EVENT_FAILED || event == LOCK_EVENT_TIMEOUT)
                set_release(set);
        set->func(set, event, set->userdata);
}

static void set_note_wait(LockSet *set) {
        usec_t now = clock_monotonic(), wait = usec_sub(now, set->turned);

        if (wait >= set->longest_wait) {
                set->longest_wait = wait;
                set->longest_resource = ((const Place *)set->places->pdata[set->n_held])->resource;
        }
        set->turned = now;
}

static void set_on_held(void *userdata) {
        LockSet *set = userdata;
        Place *next;
        int r;

        set_note_wait(set);
        set->n_held++;
        if (set->n_held == set->places->len) {
                token_draw(&set->token);
                return;
        }
        next = set->places->pdata[set->n_held];
        r = next->recipe->begin(next);
        if (r < 0 && r != -ENOTCONN)
                outcome_fail(&set->outcome, "cannot queue: %s", g_strerror(-r));
}

static void set_retry(void *userdata) {
        LockSet *set = userdata;

        set->outcome.retry = sd_event_source_disable_unref(set->outcome.retry);
        for (guint i = 0; i < set->places->len && !outcome_is_over(&set->outcome); i++) {
                Place *place = set->places->pdata[i];

                place->recipe->retry(place);
        }
        if (set->n_held == set->places->len && !outcome_is_held(&set->outcome) &&
            !outcome_is_over(&set->outcome) && !set->token.call)
                token_draw(&set->token);
}

static void set_watch(void *userdata) {
        LockSet *set = userdata;

        for (guint i = 0; i < set->places->len && !outcome_is_over(&set->outcome); i++) {
                Place *place = set->places->pdata[i];

                /* The other strategies see it in their lists. */
                bool waits = place->state == PLACE_WAITING && place->node.path &&
                             set->outcome.options.strategy == LOCK_STRATEGY_PREDECESSOR;

                if ((place->state == PLACE_HELD || waits) && !place->watch.self)
                        place_watch_self(place);
        }
}

static void set_on_down(void *userdata) {
        LockSet *set = userdata;

        for (guint i = 0; i < set->places->len; i++)
                if (((Place *)set->places->pdata[i])->kind == CONTENDER_WRITER)
                        return;
        outcome_announce(&set->outcome, LOCK_EVENT_DOWNGRADED);
}

static const OutcomeFuncs set_funcs = {
    .tell = set_tell,
    .retry = set_retry,
    .watch = set_watch,
    .held = set_on_held,
    .down = set_on_down,
};

static void set_on_session_event(Session *session, SessionEvent event, void *userdata) {
        LockSet *set = userdata;

        if (event == SESSION_EVENT_LOST || event == SESSION_EVENT_CLOSED) {
                outcome_announce(&set->outcome, LOCK_EVENT_LOST);
                set_leave_session(set);
        } else if (event == SESSION_EVENT_RESUMED && !outcome_is_over(&set->outcome)) {
                set_retry(set);
        }
}

/* Construction */

static void place_destroy(gpointer place) {
        place_free(place);
}

static int set_new(Session *session, usec_t wait, LockSetFunc func, void *userdata,
                   LockSet **ret_set) {
        _cleanup_(lock_set_freep) LockSet *set = g_new0(LockSet, 1);
        int r;

        set->turned = clock_monotonic();
        set->func = func;
        set->userdata = userdata;
        set->places = g_ptr_array_new_with_free_func(place_destroy);
        set->paths = g_ptr_array_new();
        set->token = (LockToken){.outcome = &set->outcome, .places = set->places};
        r = outcome_init(&set->outcome, session, wait, &set_funcs, set);
        if (r >= 0)
                r = session_listen(session, set_on_session_event, set, &set->listener);
        if (r < 0)
                return r;
        *ret_set = g_steal_pointer(&set);
        return 0;
}

static Place *set_add_place(LockSet *set, const char *directory, const char *resource,
                            LockNaming naming, ContenderKind kind) {
        const PlaceRecipe *recipe =
            naming == LOCK_NAMING_SINGLE_NODE ? &lock_single_recipe : &lock_queue_recipe;
        Place *place = place_new(&set->outcome, recipe, directory, resource, naming, kind);

        g_ptr_array_add(set->places, place);
        return place;
}

/* The same order for everybody, whatever names they give to it. */
static int compare_places(const void *a, const void *b) {
        const Place *const *x = a, *const *y = b;

        return strcmp((*x)->node.directory, (*y)->node.directory);
}

static int set_add_requests(LockSet *set, const char *parent, const LockRequest *requests,
                            size_t n_requests) {
        for (size_t i = 0; i < n_requests; i++) {
                g_autofree char *directory = NULL;
                ContenderKind kind;
                int r = lock_request_check(&requests[i], &kind);

                if (r < 0)
                        return r;
                directory = lock_request_directory(&requests[i], parent);
                set_add_place(set, directory, requests[i].resource, requests[i].naming, kind)
                    ->slots.number = requests[i].slots;
        }
        g_ptr_array_sort(set->places, compare_places);
        for (guint i = 1; i < set->places->len; i++)
                if (compare_places(&set->places->pdata[i - 1], &set->places->pdata[i]) == 0)
                        return -EINVAL;
        return set->places->len > 0 ? 0 : -EINVAL;
}

static int set_begin(const LockSet *set) {
        Place *first = set->places->pdata[0];

        return first->recipe->begin(first);
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
        set->outcome.options = *options;
        set->outcome.options.payload = g_strdup(options->payload ? options->payload : "");
        if (options->sequence_max <= 0)
                set->outcome.options.sequence_max = CONTENDER_SEQUENCE_MAX;
        r = set_add_requests(set, options->parent, requests, n_requests);
        if (r >= 0)
                r = set_begin(set);
        if (r < 0)
                return r;
        *ret_set = g_steal_pointer(&set);
        return 0;
}

/* A contender that we made in an earlier life: its place is as if its creation had just been
 * answered. */
static int set_add_adopted(LockSet *set, const char *path) {
        g_autofree char *directory = NULL;
        Contender contender;
        Place *place;

        directory = lock_request_parse(path, &contender);
        if (!directory)
                return -EINVAL;
        set->outcome.options.may_downgrade |= contender.may_leave_twin;
        place = set_add_place(set, directory, NULL, contender.naming, contender.kind);
        g_free(place->node.uuid);
        place->node.uuid = g_strdup(contender.uuid);
        place->node.path = g_strdup(path);
        return 0;
}

int lock_set_adopt(Session *session, const char *const *paths, const LockOptions *options,
                   LockSetFunc func, void *userdata, LockSet **ret_set) {
        _cleanup_(lock_set_forgetp) LockSet *set = NULL;
        int r;

        r = set_new(session, USEC_INFINITY, func, userdata, &set);
        if (r < 0)
                return r;
        set->outcome.aim = OUTCOME_ADOPT;
        set->outcome.options.sequence_max = CONTENDER_SEQUENCE_MAX;
        if (options) {
                set->outcome.options.payload = g_strdup(options->payload);
                set->outcome.options.revocable = options->revocable;
                set->outcome.options.fresh_token = options->fresh_token;
        }
        for (size_t i = 0; paths[i]; i++) {
                r = set_add_adopted(set, paths[i]);
                if (r < 0)
                        return r;
        }
        r = set->places->len > 0 ? set_begin(set) : -EINVAL;
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
        g_ptr_array_unref(set->places);
        g_ptr_array_unref(set->paths);
        outcome_clear(&set->outcome);
        g_free(set);
        return NULL;
}

LockSet *lock_set_free(LockSet *set) {
        if (set && set->outcome.session && set->entries == 0)
                set_release(set);
        return lock_set_forget(set);
}

/* What one does with what is held */

static bool set_is_held(const LockSet *set) {
        return outcome_held_until(&set->outcome) > clock_boottime();
}

int lock_set_enter(LockSet *set, LockMode mode) {
        if (!set_is_held(set))
                return -ENOLCK;
        for (guint i = 0; i < set->places->len && mode == LOCK_EXCLUSIVE; i++) {
                const Place *place = set->places->pdata[i];

                if (place->kind == CONTENDER_READER || place_state_steps(place->state))
                        return -EDEADLK;
        }
        set->entries++;
        return (int)set->entries + 1;
}

/* Return: 0 when it can step down now, else why not. */
static int set_check_downgrade(const LockSet *set) {
        bool exclusive = false;

        if (!set_is_held(set))
                return -ENOLCK;
        if (!set->outcome.options.may_downgrade)
                return -EPERM;
        for (guint i = 0; i < set->places->len; i++) {
                const Place *place = set->places->pdata[i];

                if (place_state_steps(place->state))
                        return -EINPROGRESS;
                if (place->node.naming != LOCK_NAMING_CURATOR_RW || place->kind == CONTENDER_SLOT)
                        return -EINVAL;
                exclusive = exclusive || place->kind == CONTENDER_WRITER;
        }
        if (!exclusive)
                return -EINVAL;
        return set->entries > 0 ? -EBUSY : 0;
}

int lock_set_downgrade(LockSet *set) {
        int r = set_check_downgrade(set);

        if (r < 0)
                return r;
        if (!session_zk(set->outcome.session))
                return -ENOTCONN;
        for (guint i = 0; i < set->places->len; i++)
                if (((Place *)set->places->pdata[i])->kind == CONTENDER_WRITER)
                        place_step_down(set->places->pdata[i]);
        return 0;
}

int lock_revoke(Session *session, const char *path, ZkReplyFunc func, void *userdata) {
        return zk_set(session_zk(session), path, DATA_REVOKE, -1, func, userdata, NULL);
}

int lock_change_slots(Session *session, const char *directory, unsigned slots, ZkReplyFunc func,
                      void *userdata) {
        g_autofree char *data = data_slots(slots);

        if (slots < 2)
                return -EINVAL;
        return zk_set(session_zk(session), directory, data, -1, func, userdata, NULL);
}

/* Questions */

usec_t lock_set_held_until(const LockSet *set) {
        return outcome_held_until(&set->outcome);
}

const char *const *lock_set_paths(const LockSet *set) {
        g_ptr_array_set_size(set->paths, 0);
        for (guint i = 0; i < set->places->len; i++) {
                Place *place = set->places->pdata[i];

                if (place->node.path)
                        g_ptr_array_add(set->paths, place->node.path);
        }
        g_ptr_array_add(set->paths, NULL);
        return (const char *const *)set->paths->pdata;
}

int64_t lock_set_fencing_token(const LockSet *set) {
        return outcome_is_held(&set->outcome) && (set->places->len == 1 || set->token.drawn != 0)
                   ? token_of(&set->token, NULL)
                   : 0;
}

int64_t lock_set_fencing_token_of(const LockSet *set, const char *resource) {
        return outcome_is_held(&set->outcome) ? token_of(&set->token, resource) : 0;
}

bool lock_set_clock_sample(const LockSet *set, usec_t *ret_server, usec_t *ret_sent,
                           usec_t *ret_received) {
        const Outcome *outcome = &set->outcome;

        if (!outcome->sampled)
                return false;
        *ret_server = outcome->sample_server;
        *ret_sent = outcome->sample_sent;
        *ret_received = outcome->sample_received;
        return true;
}

const char *lock_set_waiting_for(const LockSet *set, size_t *ret_before) {
        const Place *place =
            set->n_held < set->places->len ? set->places->pdata[set->n_held] : NULL;

        *ret_before = place ? place_view_told(&place->view) : 0;
        return place ? place->resource : "";
}

const char *lock_set_waited_for(const LockSet *set, usec_t *ret_wait) {
        *ret_wait = set->longest_wait;
        return set->longest_resource ? set->longest_resource : "";
}

const char *lock_set_fault(const LockSet *set) {
        return set->outcome.fault ? set->outcome.fault : "";
}
