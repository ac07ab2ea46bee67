/* See helper-lock.h. */
#include "helper-lock.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "helper-proxy.h"

/* Tests' servers have neither a quorum nor a slow one, so the sum leaves much even of a short
 * session. */
static const DeadlineRule rule = {
    .tick_time = ZOOKEEPER_TICK_MS * USEC_PER_MSEC,
    .sync_limit = 1,
    .heartbeat = 200 * USEC_PER_MSEC,
    .fence_budget = 500 * USEC_PER_MSEC,
};

typedef struct Answer {
        bool come;
        ZkCode code;
        ZkStat stat;
        GStrv children;
        char *data;
} Answer;

static void on_answer(const ZkReply *reply, void *userdata) {
        Answer *answer = userdata;

        answer->come = true;
        answer->code = reply->code;
        answer->stat = reply->stat;
        answer->data = g_strndup(reply->data, reply->data_size);
        if (reply->children)
                answer->children = g_strdupv((char **)(void *)reply->children);
}

static bool has_come(void *userdata) {
        return ((Answer *)userdata)->come;
}

static ZkCode await_answer(World *world, int sent, Answer *answer) {
        cr_assert_eq(sent, 0, "not sent: %d", sent);
        cr_assert(loop_until(world->event, has_come, answer, WORLD_LIMIT), "no answer");
        return answer->code;
}

void world_open(World *world) {
        int r;

        *world = (World){.descriptors = count_descriptors()};
        r = sd_event_new(&world->event);
        cr_assert_geq(r, 0);
        world->parent = g_strdup_printf("/locks-%d/of/test", (int)getpid());
}

static void on_session_event(Session *session, SessionEvent event, void *userdata) {
        Client *client = userdata;

        (void)session;
        client->events[event]++;
}

static void on_log(int priority, const char *message, void *userdata) {
        g_string_append_printf(((Client *)userdata)->log, "<%d> %s\n", priority, message);
}

typedef struct AwaitedEvent {
        const Client *client;
        SessionEvent event;
        unsigned count;
} AwaitedEvent;

static bool has_event(void *userdata) {
        const AwaitedEvent *awaited = userdata;

        return awaited->client->events[awaited->event] >= awaited->count;
}

void world_await_event(World *world, size_t index, SessionEvent event, unsigned count) {
        AwaitedEvent awaited = {&world->clients[index], event, count};

        cr_assert(loop_until(world->event, has_event, &awaited, WORLD_LIMIT),
                  "session event %u of %zu came %u times, not %u (lost: %u)", event, index,
                  awaited.client->events[event], count, awaited.client->events[SESSION_EVENT_LOST]);
}

static bool is_connected(void *userdata) {
        return session_state(userdata) == SESSION_CONNECTED;
}

static Session *connect_with(World *world, size_t index, SessionOptions options) {
        Client *client = &world->clients[index];
        int r;

        options.rule = rule;
        options.log = on_log;

        if (!client->log)
                client->log = g_string_new(NULL);

        memset(client->events, 0, sizeof client->events);
        r = session_new(world->event, &options, on_session_event, client, &client->session);
        cr_assert_eq(r, 0);
        cr_assert(loop_until(world->event, is_connected, client->session, WORLD_LIMIT),
                  "not connected: %s", session_fault(client->session));
        return client->session;
}

Session *world_connect(World *world, size_t index, const char *servers, usec_t timeout,
                       const char *state_file) {
        return connect_with(world, index,
                            (SessionOptions){.servers = servers,
                                             .session_timeout = timeout,
                                             .state_file = state_file});
}

Session *world_connect_as(World *world, size_t index, const char *servers, usec_t timeout,
                          const char *auth) {
        return connect_with(
            world, index,
            (SessionOptions){.servers = servers, .session_timeout = timeout, .auth = auth});
}

void world_open_shared(World *world, size_t n, usec_t timeout) {
        world_open(world);
        for (size_t i = 0; i < n; i++)
                world_connect(world, i, zookeeper_shared(), timeout, NULL);
}

Session *world_session(const World *world, size_t index) {
        return world->clients[index].session;
}

StateFile world_state_file_new(void) {
        g_autofree char *directory = g_dir_make_tmp("jobkeeper-lock-XXXXXX", NULL);

        cr_assert_not_null(directory);
        return (StateFile){.path = g_build_filename(directory, "session", NULL)};
}

void world_state_file_clear(StateFile *file) {
        g_autofree char *directory = g_path_get_dirname(file->path);

        (void)unlink(file->path);
        cr_assert_eq(rmdir(directory), 0, "%s is not empty", directory);
        g_clear_pointer(&file->path, g_free);
}

Session *world_reattach(World *world, size_t index, const char *servers, usec_t timeout,
                        const char *state_file) {
        Client *client = &world->clients[index];
        int64_t id = session_id(client->session);

        session_detach(client->session);
        world_await_event(world, index, SESSION_EVENT_CLOSED, 1);
        client->session = session_free(client->session);
        world_connect(world, index, servers, timeout, state_file);
        cr_assert_eq(session_id(client->session), id, "another session");
        return client->session;
}

void world_disconnect(World *world, size_t index) {
        Client *client = &world->clients[index];

        if (!client->session)
                return;
        session_close(client->session);
        world_await_event(world, index, SESSION_EVENT_CLOSED, 1);
        client->session = session_free(client->session);
}

/* Without looking at what is left. */
static void world_close_sessions(World *world) {
        for (size_t i = 0; i < WORLD_CLIENTS; i++)
                if (world->clients[i].session)
                        session_close(world->clients[i].session);
        for (size_t i = 0; i < WORLD_CLIENTS; i++) {
                world_disconnect(world, i);
                if (world->clients[i].log)
                        g_string_free(g_steal_pointer(&world->clients[i].log), TRUE);
        }
        world->event = sd_event_unref(world->event);
        g_clear_pointer(&world->parent, g_free);
        cr_assert(await_descriptors(world->descriptors), "descriptors leaked: %u before, %u after",
                  world->descriptors, count_descriptors());
}

static GStrv list(World *world, Session *session, const char *path) {
        Answer answer = {0};

        await_answer(
            world,
            zk_get_children(session_zk(session), path, on_answer, &answer, NULL, NULL, NULL, NULL),
            &answer);
        return answer.children;
}

void world_await_empty(World *world, Session *session) {
        g_auto(GStrv) resources = list(world, session, world->parent);

        for (size_t i = 0; resources && resources[i]; i++)
                world_await_children(world, session, resources[i], 0);
}

void world_close(World *world) {
        world_await_empty(world, world->clients[0].session);
        world_close_sessions(world);
}

char *world_path(const World *world, const char *resource) {
        return g_strconcat(world->parent, "/", resource, NULL);
}

char **world_list(World *world, Session *session, const char *resource) {
        g_autofree char *path = world_path(world, resource);

        return list(world, session, path);
}

void world_await_children(World *world, Session *session, const char *resource, size_t n) {
        usec_t until = clock_monotonic() + WORLD_LIMIT;
        size_t found = 0;

        do {
                g_auto(GStrv) children = world_list(world, session, resource);

                found = children ? g_strv_length(children) : 0;
                if (found == n)
                        return;
                loop_for(world->event, 20 * USEC_PER_MSEC);
        } while (clock_monotonic() < until);
        cr_assert_fail("%s has %zu contenders, expected %zu", resource, found, n);
}

void world_make_resource(World *world, const char *resource) {
        Holder holder = {0};

        holder_take(world, &holder, 0, resource);
        holder_release(&holder);
        world_await_children(world, world_session(world, 0), resource, 0);
}

ZkCode world_create(World *world, Session *session, const char *path, unsigned flags) {
        Answer answer = {0};

        return await_answer(
            world, zk_create(session_zk(session), path, "", flags, on_answer, &answer, NULL),
            &answer);
}

ZkCode world_set(World *world, Session *session, const char *path, const char *data) {
        Answer answer = {0};

        return await_answer(
            world, zk_set(session_zk(session), path, data, -1, on_answer, &answer, NULL), &answer);
}

char *world_get(World *world, Session *session, const char *path) {
        Answer answer = {0};

        await_answer(world,
                     zk_get(session_zk(session), path, on_answer, &answer, NULL, NULL, NULL, NULL),
                     &answer);
        return answer.data;
}

ZkCode world_delete(World *world, Session *session, const char *path) {
        Answer answer = {0};

        return await_answer(
            world, zk_delete(session_zk(session), path, -1, on_answer, &answer, NULL), &answer);
}

ZkCode world_exists(World *world, Session *session, const char *path, ZkStat *ret_stat) {
        Answer answer = {0};

        await_answer(
            world, zk_exists(session_zk(session), path, on_answer, &answer, NULL, NULL, NULL, NULL),
            &answer);
        if (ret_stat)
                *ret_stat = answer.stat;
        return answer.code;
}

void world_settle(World *world, Session *session) {
        Answer answer = {0};

        await_answer(world, zk_sync(session_zk(session), "/", on_answer, &answer, NULL), &answer);
}

void world_mark(World *world, Session *session) {
        Answer answer = {0};

        await_answer(world, zk_sync(session_zk(session), PROXY_MARK, on_answer, &answer, NULL),
                     &answer);
}

void holder_callback(LockSet *set, LockEvent event, void *userdata) {
        Holder *holder = userdata;

        cr_assert_eq(set, holder->set);
        holder->events[event]++;
        holder->total++;
        if (event == LOCK_EVENT_HELD && holder->turns)
                holder->turn = ++*holder->turns;
        if (holder->free_in_callback)
                holder->set = lock_set_free(holder->set);
}

int holder_try_acquire_with(World *world, Holder *holder, Session *session,
                            const LockRequest *requests, size_t n_requests, LockOptions options) {
        memset(holder->events, 0, sizeof holder->events);
        holder->total = 0;
        holder->turn = 0;
        options.parent = world->parent;
        if (!options.payload)
                options.payload = "{\"test\":1}";
        return lock_set_acquire(session, requests, n_requests, &options, holder_callback, holder,
                                &holder->set);
}

void holder_acquire_with(World *world, Holder *holder, Session *session, LockRequest request,
                         LockOptions options) {
        int r = holder_try_acquire_with(world, holder, session, &request, 1, options);

        cr_assert_eq(r, 0, "acquiring %s: %d", request.resource, r);
        cr_assert_eq(holder->total, 0, "told from inside a function");
}

static int try_acquire_names(World *world, Holder *holder, Session *session, const char *resources,
                             LockOptions options) {
        g_auto(GStrv) names = g_strsplit(resources, " ", -1);
        LockRequest requests[8];
        size_t n = 0;

        for (; names[n]; n++)
                requests[n] =
                    (LockRequest){.resource = names[n] + (names[n][0] == '~'),
                                  .mode = names[n][0] == '~' ? LOCK_SHARED : LOCK_EXCLUSIVE};
        return holder_try_acquire_with(world, holder, session, requests, n, options);
}

int holder_try_acquire(World *world, Holder *holder, Session *session, const char *resources,
                       usec_t wait) {
        return try_acquire_names(world, holder, session, resources, (LockOptions){.wait = wait});
}

void holder_acquire_freshly(World *world, Holder *holder, Session *session, const char *resources) {
        int r = try_acquire_names(world, holder, session, resources,
                                  (LockOptions){.wait = USEC_INFINITY, .fresh_token = true});

        cr_assert_eq(r, 0, "acquiring %s: %d", resources, r);
}

void holder_acquire(World *world, Holder *holder, Session *session, const char *resources,
                    usec_t wait) {
        int r = holder_try_acquire(world, holder, session, resources, wait);

        cr_assert_eq(r, 0, "acquiring %s: %d", resources, r);
        cr_assert_eq(holder->total, 0, "told from inside a function");
}

void holder_take(World *world, Holder *holder, size_t index, const char *resources) {
        holder_acquire(world, holder, world_session(world, index), resources, USEC_INFINITY);
        holder_await(world, holder, LOCK_EVENT_HELD);
}

void holder_queue(World *world, Holder *holder, size_t index, const char *resource,
                  size_t contenders) {
        Session *session = world_session(world, index);

        holder_acquire(world, holder, session, resource, USEC_INFINITY);
        world_await_children(world, session, resource + (resource[0] == '~'), contenders);
        world_settle(world, session); /* the list */
        world_settle(world, session); /* the watches */
}

void holder_adopt_with(World *world, Holder *holder, size_t index, const char *path,
                       const LockOptions *options) {
        const char *const paths[] = {path, NULL};
        int r;

        *holder = (Holder){0};
        r = lock_set_adopt(world_session(world, index), paths, options, holder_callback, holder,
                           &holder->set);
        cr_assert_eq(r, 0, "adopting %s: %d", path, r);
        cr_assert_eq(holder->total, 0, "told from inside a function");
}

void holder_adopt(World *world, Holder *holder, size_t index, const char *path) {
        holder_adopt_with(world, holder, index, path, NULL);
}

void holder_assert_waits(World *world, const Holder *holder, usec_t duration, const char *fault) {
        loop_for(world->event, duration);
        cr_assert_eq(holder->total, 0, "%s", fault);
}

static bool has_total(void *userdata) {
        const Holder *const *holder = userdata;

        return (*holder)->total > 0;
}

void holder_await_total(World *world, Holder *holder, unsigned total) {
        usec_t until = clock_monotonic() + WORLD_LIMIT;

        while (holder->total <= total && clock_monotonic() < until)
                (void)sd_event_run(world->event, 100 * USEC_PER_MSEC);
        cr_assert_gt(holder->total, total, "the lock was told nothing more");
}

void holder_await_deadline(World *world, Holder *holder) {
        usec_t until = clock_monotonic() + WORLD_LIMIT, deadline = 0, lost;

        while (holder->events[LOCK_EVENT_LOST] == 0 && clock_monotonic() < until) {
                deadline = MAX(deadline, lock_set_held_until(holder->set));
                (void)sd_event_run(world->event, 100 * USEC_PER_MSEC);
        }
        lost = clock_boottime();
        cr_assert_eq(holder->events[LOCK_EVENT_LOST], 1, "the lock was not lost");
        cr_assert_gt(deadline, 0, "it was not held");
        cr_assert_geq(lost, deadline, "%" PRIu64 " us before the deadline", deadline - lost);
        cr_assert_lt(lost, deadline + LATE_MAX, "%" PRIu64 " us after the deadline",
                     lost - deadline);
}

void holder_await(World *world, Holder *holder, LockEvent event) {
        cr_assert(loop_until(world->event, has_total, &holder, WORLD_LIMIT),
                  "the lock was told nothing");
        cr_assert_eq(holder->events[event], 1, "told another event than %d (%s)", event,
                     holder->set ? lock_set_fault(holder->set) : "");
        cr_assert_eq(holder->total, 1);
}

void holder_release(Holder *holder) {
        holder->set = lock_set_free(holder->set);
}
