/* For tests of locks: a few sessions in one loop, and LockSets that remember what they were told.
 *
 * A world gives every test a directory of its own. world_close() checks what every test must leave
 * behind: no contender in any resource it used, and no descriptor.
 */
#pragma once

#include "helper-zookeeper.h"
#include "lock.h"

#define WORLD_CLIENTS 4
#define WORLD_LIMIT (30 * USEC_PER_SEC)

typedef struct Client {
        Session *session;
        unsigned events[SESSION_EVENT_CLOSED + 1];
        GString *log; /* what the session said */
} Client;

typedef struct World {
        sd_event *event;
        unsigned descriptors;
        char *parent; /* for LockOptions */
        Client clients[WORLD_CLIENTS];
} World;

/* One LockSet and what it was told. */
typedef struct Holder {
        LockSet *set;
        unsigned events[LOCK_EVENT_DOWNGRADED + 1];
        unsigned total;
        unsigned *turns; /* counts grants over several holders; `turn` is ours, from 1 */
        unsigned turn;
        bool free_in_callback;
} Holder;

/* Where a session is remembered for the next process, in a directory of its own. */
typedef struct StateFile {
        char *path;
} StateFile;

void world_open(World *world);
/* Opens it with clients[0] to clients[n - 1] connected to the server that all tests share. */
void world_open_shared(World *world, size_t n, usec_t timeout);
/* Checks that the resources are empty, as seen by clients[0], closes the sessions and counts
 * descriptors. */
void world_close(World *world);

/* Connects clients[index] and waits until it is. */
Session *world_connect(World *world, size_t index, const char *servers, usec_t timeout,
                       const char *state_file);
/* The same with a secret (ZkOptions.auth). */
Session *world_connect_as(World *world, size_t index, const char *servers, usec_t timeout,
                          const char *auth);
Session *world_session(const World *world, size_t index);
StateFile world_state_file_new(void);
/* Removes it, also where a session was closed and took it along. */
void world_state_file_clear(StateFile *file);
/* What a restarted process does: clients[index] leaves its session at the server and attaches to it
 * again through the state file. Asserts that it is the same session. */
Session *world_reattach(World *world, size_t index, const char *servers, usec_t timeout,
                        const char *state_file);
/* Closes clients[index] and waits until it is. */
void world_disconnect(World *world, size_t index);
void world_await_event(World *world, size_t index, SessionEvent event, unsigned count);

/* Acquires `resources` (names separated by spaces, with a leading '~' for shared). */
int holder_try_acquire(World *world, Holder *holder, Session *session, const char *resources,
                       usec_t wait);
void holder_acquire(World *world, Holder *holder, Session *session, const char *resources,
                    usec_t wait);
/* Acquires them in clients[index] for as long as it takes, and waits until they are held. */
void holder_take(World *world, Holder *holder, size_t index, const char *resources);
/* Queues for one resource in clients[index] and waits until that one stands as the last of
 * `contenders`, with its watches. */
void holder_queue(World *world, Holder *holder, size_t index, const char *resource,
                  size_t contenders);
/* Adopts one contender in clients[index] (lock_set_adopt). */
void holder_adopt(World *world, Holder *holder, size_t index, const char *path);
void holder_adopt_with(World *world, Holder *holder, size_t index, const char *path,
                       const LockOptions *options);
/* The same as holder_acquire() for as long as it takes, with LockOptions.fresh_token. */
void holder_acquire_freshly(World *world, Holder *holder, Session *session, const char *resources);
/* The same of any requests with any options; the world's parent is filled in, and a payload. */
int holder_try_acquire_with(World *world, Holder *holder, Session *session,
                            const LockRequest *requests, size_t n_requests, LockOptions options);
void holder_acquire_with(World *world, Holder *holder, Session *session, LockRequest request,
                         LockOptions options);
void holder_callback(LockSet *set, LockEvent event, void *userdata);
/* Waits until the holder was told so, and that it was told nothing before. */
void holder_await(World *world, Holder *holder, LockEvent event);
/* Asserts that the holder is told nothing for so long; `fault` is what it would mean if it were. */
void holder_assert_waits(World *world, const Holder *holder, usec_t duration, const char *fault);
/* Waits until it was told anything more than `total` events. */
void holder_await_total(World *world, Holder *holder, unsigned total);
/* Waits until what it holds is lost: at the last moment until which it was told to be held, and not
 * long after. */
void holder_await_deadline(World *world, Holder *holder);
void holder_release(Holder *holder);

/* Makes the resource's directory, empty. */
void world_make_resource(World *world, const char *resource);
/* The children of a resource in the world's parent, as `session` sees them; NULL when there is no
 * such directory. g_strfreev. */
char **world_list(World *world, Session *session, const char *resource);
/* Waits until no resource of the world has a contender. */
void world_await_empty(World *world, Session *session);
/* Waits until a resource has so many children (a missing one has 0). */
void world_await_children(World *world, Session *session, const char *resource, size_t n);
/* One request and its answer. */
ZkCode world_create(World *world, Session *session, const char *path, unsigned flags);
ZkCode world_delete(World *world, Session *session, const char *path);
ZkCode world_set(World *world, Session *session, const char *path, const char *data);
/* The data of a node; NULL when it cannot be read. g_free. */
char *world_get(World *world, Session *session, const char *path);
ZkCode world_exists(World *world, Session *session, const char *path, ZkStat *ret_stat);
char *world_path(const World *world, const char *resource);
/* Waits until a fresh request of the session has been answered: everything sent before it then was,
 * too. */
void world_settle(World *world, Session *session);
/* The same, with a request that ends the counting of a proxy that it passes (helper-proxy.h). */
void world_mark(World *world, Session *session);
