/* Locks when just one request or just one answer is lost, whatever the client's library calls it,
 * and when the session moves to another server or is nobody's any more. The proxy (helper-proxy.h)
 * loses them. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <glib.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"
#include "zk-request.h"

#define TIMEOUT (8 * USEC_PER_SEC)
#define SHORT_TIMEOUT (3 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define A_WHILE (300 * USEC_PER_MSEC)

static unsigned events(const Wire *wire, size_t index, SessionEvent event) {
        return wire->world.clients[index].events[event];
}

Test(lock_wire, a_lost_creation_is_found_again_and_there_is_one_node) {
        static const struct {
                ProxyFate fate;
                unsigned creations;
        } table[] = {{PROXY_LOSE_ANSWER, 1},
                     {PROXY_CUT_BEFORE, 2},
                     {PROXY_TEAR_ANSWER, 1},
                     {PROXY_SPOIL_ANSWER, 1}};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
                Holder holder = {0};

                wire_prepare(&wire, "a");
                wire_reset_counts(&wire);
                proxy_order(wire.proxies[1], OPCODE_CREATE, table[i].fate, 1);
                wire_hold(&wire, &holder, 1, "a");
                world_mark(&wire.world, wire_session(&wire, 1));
                wire_assert_alone(&wire, &holder, "a");
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_CREATE), table[i].creations,
                             "case %zu", i);
                holder_release(&holder);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        }
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        wire_close(&wire);
}

/* Whoever answers in the server's place cannot make us believe in what is no name. */
Test(lock_wire, a_list_without_a_name_is_asked_for_again) {
        Wire wire;
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        wire_reset_counts(&wire);
        proxy_order(wire.proxies[1], OPCODE_LIST, PROXY_NULL_ANSWER, 1);
        wire_hold(&wire, &holder, 1, "a");
        wire_assert_alone(&wire, &holder, "a");
        cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
        holder_release(&holder);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        wire_close(&wire);
}

typedef struct Rights {
        bool answered;
        ZkCode code;
        char *others;
} Rights;

static void rights_on_reply(const ZkReply *reply, void *userdata) {
        Rights *rights = userdata;

        rights->answered = true;
        rights->code = reply->code;
        g_free(rights->others);
        rights->others = g_strdup(reply->others);
}

static void rights_ask(Wire *wire, const char *path, Rights *rights) {
        rights->answered = false;
        cr_assert_eq(
            zk_get_acl(session_zk(wire_session(wire, 1)), path, rights_on_reply, rights, NULL), 0);
        world_mark(&wire->world, wire_session(wire, 1));
        cr_assert(rights->answered);
}

static void on_acl_set(int rc, const void *data) {
        cr_assert_eq(rc, ZOK);
        (void)data;
}

/* It stands in sentences that people act by. */
Test(lock_wire, whom_an_acl_names_is_shown_only_where_it_is_plain) {
        static char scheme[] = "digest", id[] = "evil\nTYPE THIS\033[31m\xe2\x80\xae:hash";
        struct ACL entries[] = {{.perms = ZOO_PERM_ALL, .id = {scheme, id}},
                                {.perms = ZOO_PERM_READ, .id = ZOO_ANYONE_ID_UNSAFE}};
        struct ACL_vector acls = {G_N_ELEMENTS(entries), entries};
        Rights rights = {0};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "a");
        {
                g_autofree char *path = world_path(&wire.world, "a");

                proxy_order(wire.proxies[1], OPCODE_GET_ACL, PROXY_NULL_ANSWER, 1);
                rights_ask(&wire, path, &rights);
                cr_expect_eq(rights.code, ZK_UNKNOWN);
                rights_ask(&wire, path, &rights);
                cr_expect_str_eq(rights.others, "world:anyone");
                cr_assert_eq(zoo_aset_acl(zk_requests(session_zk(wire_session(&wire, 1)))->handle,
                                          path, -1, &acls, on_acl_set, NULL),
                             ZOK);
                rights_ask(&wire, path, &rights);
                cr_expect_str_eq(rights.others, "somebody (unreadable id)");
        }
        g_free(rights.others);
        wire_close(&wire);
}

/* The wait is over before anything got through; the last case's first creation did, unheard of. */
Test(lock_wire, exhausted_retries_leave_no_node) {
        static const struct {
                bool created_unheard;
                Opcode opcode;
                ProxyFate fate;
        } table[] = {{false, OPCODE_LIST, PROXY_LOSE_ANSWER},
                     {false, OPCODE_CREATE, PROXY_CUT_BEFORE},
                     {true, OPCODE_LIST, PROXY_LOSE_ANSWER}};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
                Proxy *proxy = wire.proxies[1];
                Holder holder = {0};

                wire_prepare(&wire, "a");
                wire_reset_counts(&wire);
                if (table[i].created_unheard)
                        proxy_order(proxy, OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
                else
                        proxy_order(proxy, table[i].opcode, table[i].fate, G_MAXUINT);
                holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "a",
                               1500 * USEC_PER_MSEC);
                if (table[i].created_unheard) {
                        wire_await_order(&wire, 1);
                        proxy_order(proxy, table[i].opcode, table[i].fate, G_MAXUINT);
                }
                holder_await(&wire.world, &holder, LOCK_EVENT_TIMEOUT);
                cr_assert_geq(proxy_count(proxy, table[i].opcode), 2, "it was retried");
                if (table[i].created_unheard) /* it is to be searched for, which is in vain yet */
                        world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
                proxy_order(proxy, table[i].opcode, table[i].fate, 0);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                holder_release(&holder);
        }
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        wire_close(&wire);
}

static void on_ignored(int rc, const char *value, const void *data) {
        (void)rc;
        (void)value;
        (void)data;
}

/* Asks the library itself, since the port has no ACLs: a node that one may not read. */
static void create_unreadable(Wire *wire, const char *path) {
        struct ACL acl = {.perms = ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN,
                          .id = ZOO_ANYONE_ID_UNSAFE};
        const struct ACL_vector acls = {1, &acl};
        zhandle_t *handle = zk_requests(session_zk(wire_session(wire, 0)))->handle;

        cr_assert_eq(zoo_acreate(handle, path, "", 0, &acls, 0, on_ignored, NULL), ZOK);
        world_settle(&wire->world, wire_session(wire, 0));
}

Test(lock_wire, a_failed_list_leaves_no_node) {
        g_autofree char *directory = NULL;
        Wire wire;
        Holder holder = {0};
        ZkStat stat;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_prepare(&wire, "other"); /* the parents */
        directory = world_path(&wire.world, "unreadable");
        create_unreadable(&wire, directory);
        wire_reset_counts(&wire);
        holder_acquire(&wire.world, &holder, wire_session(&wire, 1), "unreadable", FOREVER);
        holder_await(&wire.world, &holder, LOCK_EVENT_FAILED);
        cr_assert_not_null(strstr(lock_set_fault(holder.set), "not permitted"), "%s",
                           lock_set_fault(holder.set));
        wire_await_count(&wire, 1, OPCODE_DELETE, 1);
        world_settle(&wire.world, wire_session(&wire, 1));
        cr_assert_eq(proxy_count(wire.proxies[1], OPCODE_CREATE), 1);
        cr_assert_eq(world_exists(&wire.world, wire_session(&wire, 0), directory, &stat), ZK_OK);
        cr_assert_eq(stat.num_children, 0);
        holder_release(&holder);
        cr_assert_eq(world_delete(&wire.world, wire_session(&wire, 0), directory), ZK_OK);
        wire_close(&wire);
}

/* A holder in clients[1] that nobody was before, and one that had to wait: the latter leaves a mark
 * in the directory with the same request (lock/lock-data.h). */
static Opcode hold_for_release(Wire *wire, Holder *holder, bool waited) {
        Holder first = {0};

        wire_prepare(wire, "a");
        if (waited) {
                wire_hold(wire, &first, 0, "a");
                wire_queue(wire, holder, 1, "a", 1);
                holder_release(&first);
                holder_await(&wire->world, holder, LOCK_EVENT_HELD);
        } else
                wire_hold(wire, holder, 1, "a");
        wire_reset_counts(wire);
        return waited ? OPCODE_MULTI : OPCODE_DELETE;
}

Test(lock_wire, a_failed_delete_finishes_after_reconnection) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (unsigned waited = 0; waited < 2; waited++) {
                Holder holder = {0};
                Opcode opcode = hold_for_release(&wire, &holder, waited);

                proxy_order(wire.proxies[1], opcode, PROXY_CUT_BEFORE, 1);
                holder_release(&holder);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                cr_assert_eq(proxy_ordered(wire.proxies[1]), 0);
                cr_assert_eq(proxy_writes(wire.proxies[1]), 2);
        }
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        wire_close(&wire);
}

/* What the library calls an answer that did not come is only known from its log. */
static bool was_told(const Wire *wire, size_t index, ProxyFate fate) {
        static const int codes[] = {
            [PROXY_CUT_BEFORE] = ZCONNECTIONLOSS,         [PROXY_LOSE_ANSWER] = ZCONNECTIONLOSS,
            [PROXY_STAY_SILENT] = ZOPERATIONTIMEOUT,      [PROXY_TEAR_ANSWER] = ZCONNECTIONLOSS,
            [PROXY_SPOIL_ANSWER] = ZRUNTIMEINCONSISTENCY,
        };
        g_autofree char *text = g_strdup_printf("zk retcode=%d,", codes[fate]);

        return strstr(wire->world.clients[index].log->str, text);
}

/* The server has done it already: the second request is told that there is no such node. */
static void lose_deletion(Wire *wire, bool waited, ProxyFate fate) {
        Holder holder = {0};
        Opcode opcode = hold_for_release(wire, &holder, waited);

        g_string_truncate(wire->world.clients[1].log, 0);
        proxy_order(wire->proxies[1], opcode, fate, 1);
        holder_release(&holder);
        world_await_children(&wire->world, wire_session(wire, 0), "a", 0);
        wire_await_count(wire, 1, OPCODE_DELETE, waited ? 1 : 2);
        loop_for(wire->world.event, USEC_PER_SEC); /* retries would be 50 ms apart */
        cr_assert(was_told(wire, 1, fate), "fate %d: %s", (int)fate,
                  wire->world.clients[1].log->str);
        cr_assert_eq(proxy_count(wire->proxies[1], OPCODE_DELETE), waited ? 1 : 2);
        cr_assert_eq(proxy_writes(wire->proxies[1]), 2);
}

Test(lock_wire, no_node_stops_the_deletion) {
        static const ProxyFate fates[] = {PROXY_LOSE_ANSWER, PROXY_SPOIL_ANSWER, PROXY_STAY_SILENT};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++)
                for (unsigned waited = 0; waited < 2; waited++)
                        lose_deletion(&wire, waited, fates[i]);
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        wire_close(&wire);
}

static bool all_were_told(void *userdata) {
        const struct {
                Wire *wire;
                ProxyFate fate;
        } *asked = userdata;

        for (size_t i = 1; i < WORLD_CLIENTS; i++)
                if (!was_told(asked->wire, i, asked->fate))
                        return false;
        return true;
}

/* clients[1] creates, clients[2] deletes, clients[3] sets the watches of a waiter. */
static void lose_all_three(ProxyFate fate) {
        Wire wire;
        Holder created = {0}, deleted = {0}, before = {0}, waiter = {0};
        struct {
                Wire *wire;
                ProxyFate fate;
        } asked = {&wire, fate};

        wire_open(&wire, zookeeper_shared(), 4, TIMEOUT);
        wire_prepare(&wire, "a");
        wire_hold(&wire, &deleted, 2, "b");
        wire_hold(&wire, &before, 0, "c");
        wire_reset_counts(&wire);

        proxy_order(wire.proxies[1], OPCODE_CREATE, fate, 1);
        proxy_order(wire.proxies[2], OPCODE_DELETE, fate, 1);
        proxy_order(wire.proxies[3], OPCODE_GET, fate, 1);
        holder_acquire(&wire.world, &created, wire_session(&wire, 1), "a", FOREVER);
        holder_release(&deleted);
        holder_acquire(&wire.world, &waiter, wire_session(&wire, 3), "c", FOREVER);
        cr_assert(loop_until(wire.world.event, all_were_told, &asked, WORLD_LIMIT), "fate %d: %s",
                  (int)fate, wire.world.clients[1].log->str);

        holder_await(&wire.world, &created, LOCK_EVENT_HELD);
        wire_assert_alone(&wire, &created, "a");
        world_await_children(&wire.world, wire_session(&wire, 0), "b", 0);
        world_await_event(&wire.world, 3, SESSION_EVENT_RESUMED, 1);
        wire_await_count(&wire, 3, OPCODE_GET, 3);
        cr_assert_eq(waiter.total, 0);
        holder_release(&before);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        for (size_t i = 1; i < WORLD_CLIENTS; i++) {
                cr_assert_eq(proxy_ordered(wire.proxies[i]), 0);
                cr_assert_eq(events(&wire, i, SESSION_EVENT_LOST), 0);
        }
        holder_release(&created);
        holder_release(&waiter);
        wire_close(&wire);
}

Test(lock_wire, unknown_outcome_connection_loss_of_create_delete_and_watch_recovers) {
        lose_all_three(PROXY_LOSE_ANSWER);
}

Test(lock_wire, requests_the_server_never_saw_of_create_delete_and_watch_recover) {
        lose_all_three(PROXY_CUT_BEFORE);
}

Test(lock_wire, unknown_outcome_operation_timeout_of_create_delete_and_watch_recovers) {
        lose_all_three(PROXY_STAY_SILENT);
}

Test(lock_wire, unknown_outcome_runtime_inconsistency_of_create_delete_and_watch_recovers) {
        lose_all_three(PROXY_SPOIL_ANSWER);
}

/* The session moves by the library's own doing, and no state is reported but "connected" again. */

typedef struct Advance {
        Session *session;
        usec_t after;
} Advance;

static bool has_advanced(void *userdata) {
        const Advance *advance = userdata;

        return session_held_until(advance->session) > advance->after;
}

static void assert_heartbeats_go_on(Wire *wire, size_t index) {
        for (unsigned i = 0; i < 3; i++) {
                Advance advance = {wire_session(wire, index),
                                   session_held_until(wire_session(wire, index))};

                cr_assert(loop_until(wire->world.event, has_advanced, &advance, WORLD_LIMIT),
                          "no heartbeat");
        }
}

static void set_servers(Wire *wire, const Proxy *proxy) {
        zhandle_t *handle = zk_requests(session_zk(wire_session(wire, 1)))->handle;

        cr_assert_eq(zoo_set_servers(handle, proxy_address(proxy)), ZOK);
}

/* clients[1] is connected through `other`. */
static void close_moved(Wire *wire, Proxy *other) {
        world_await_empty(&wire->world, wire_session(wire, 0));
        world_disconnect(&wire->world, 1);
        proxy_free(other);
        wire_close(wire);
}

static bool has_moved(void *userdata) {
        return proxy_proofs(userdata) > 0;
}

#define GRANTED_MS 5000

Test(lock_wire, a_silent_move_to_another_server_is_handled) {
        Wire wire;
        Holder held = {0}, before = {0}, waiter = {0};
        Proxy *other;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        other = proxy_new_at(wire.world.event, "127.0.0.2", zookeeper_shared());
        proxy_grant(other, GRANTED_MS);
        wire_hold(&wire, &held, 1, "held");
        wire_hold(&wire, &before, 0, "watched");
        wire_queue(&wire, &waiter, 1, "watched", 1);
        loop_for(wire.world.event, A_WHILE / 3); /* nothing is on its way */
        set_servers(&wire, other);
        cr_assert(loop_until(wire.world.event, has_moved, other, WORLD_LIMIT),
                  "the first heartbeat of a connection is a write");

        assert_heartbeats_go_on(&wire, 1);
        cr_assert_eq(proxy_connects(other), 2, "ours, and the one that asked for the tick");
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_SUSPENDED), 0, "it was not silent");
        cr_assert_lt(session_held_until(wire_session(&wire, 1)),
                     clock_boottime() + GRANTED_MS * USEC_PER_MSEC,
                     "the timeout granted is not that of the first connection any more");
        cr_assert_eq(waiter.total, 0);
        holder_release(&before);
        holder_await(&wire.world, &waiter, LOCK_EVENT_HELD);
        cr_assert_eq(held.total, 1);
        cr_assert_gt(lock_set_held_until(held.set), clock_boottime());
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        holder_release(&waiter);
        holder_release(&held);
        close_moved(&wire, other);
}

/* The library takes the answers of the new server for those of the old one, and gives up (-2). */
Test(lock_wire, requests_pending_at_a_silent_move_are_recovered) {
        Wire wire;
        Holder held = {0}, pending = {0};
        Proxy *other;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        other = proxy_new_at(wire.world.event, "127.0.0.2", zookeeper_shared());
        wire_prepare(&wire, "pending");
        wire_hold(&wire, &held, 1, "held");
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_STAY_SILENT, 1);
        holder_acquire(&wire.world, &pending, wire_session(&wire, 1), "pending", FOREVER);
        world_await_children(&wire.world, wire_session(&wire, 0), "pending", 1);
        holder_release(&held);
        set_servers(&wire, other);
        holder_await(&wire.world, &pending, LOCK_EVENT_HELD);
        wire_assert_alone(&wire, &pending, "pending");
        world_await_children(&wire.world, wire_session(&wire, 0), "held", 0);
        cr_assert_geq(proxy_connects(other), 1);
        cr_assert_eq(events(&wire, 1, SESSION_EVENT_LOST), 0);
        holder_release(&pending);
        close_moved(&wire, other);
}

/* Sessions that die */

Test(lock_wire, a_waiter_whose_session_died_gets_an_error_and_never_the_lock) {
        Wire wire;
        Holder holder = {0}, waiter = {0};

        wire_open(&wire, zookeeper_shared(), 2, SHORT_TIMEOUT);
        wire_hold(&wire, &holder, 0, "a");
        wire_queue(&wire, &waiter, 1, "a", 1);
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        world_await_event(&wire.world, 1, SESSION_EVENT_SUSPENDED, 1);
        holder_release(&holder); /* its turn, by the queue: it cannot know, and soon may not */
        holder_await(&wire.world, &waiter, LOCK_EVENT_LOST);
        proxy_admit(wire.proxies[1], true);
        world_await_event(&wire.world, 1, SESSION_EVENT_CONNECTED, 2);
        world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
        loop_for(wire.world.event, A_WHILE);
        cr_assert_eq(waiter.total, 1, "told something after the end");
        cr_assert_eq(lock_set_held_until(waiter.set), 0);
        holder_release(&waiter);
        wire_close(&wire);
}

Test(lock_wire, the_dying_sessions_node_is_never_adopted_by_the_next_session) {
        g_autofree char *old = NULL, *again = NULL;
        g_auto(GStrv) children = NULL;
        Wire wire;
        Holder lost = {0}, next = {0};
        int64_t token;

        wire_open(&wire, zookeeper_shared(), 2, SHORT_TIMEOUT);
        wire_prepare(&wire, "a");
        proxy_admit(wire.proxies[1], false); /* what is connected stays so */
        proxy_order(wire.proxies[1], OPCODE_CREATE, PROXY_LOSE_ANSWER, 1);
        holder_acquire(&wire.world, &lost, wire_session(&wire, 1), "a", FOREVER);
        holder_await(&wire.world, &lost, LOCK_EVENT_LOST);
        children = world_list(&wire.world, wire_session(&wire, 0), "a");
        cr_assert_eq(g_strv_length(children), 1, "the server waits longer than we do");
        old = world_path(&wire.world, "a/");
        again = g_strconcat(old, children[0], NULL);

        proxy_admit(wire.proxies[1], true);
        world_await_event(&wire.world, 1, SESSION_EVENT_CONNECTED, 2);
        holder_acquire(&wire.world, &next, wire_session(&wire, 1), "a", FOREVER);
        holder_await(&wire.world, &next, LOCK_EVENT_HELD);
        cr_assert_eq(world_exists(&wire.world, wire_session(&wire, 0), again, NULL), ZK_NO_NODE,
                     "held beside the session that is not dead yet");
        cr_assert_str_neq(lock_set_paths(next.set)[0], again);
        token = lock_set_fencing_token(next.set);
        wire_assert_alone(&wire, &next, "a");
        cr_assert_gt(token, 0);
        cr_assert_eq(lost.total, 1);
        holder_release(&lost);
        loop_for(wire.world.event, A_WHILE);
        cr_assert_eq(next.total, 1, "the old set deleted the new one's node");
        holder_release(&next);
        wire_close(&wire);
}

/* Watches */

static bool has_notification(void *userdata) {
        return proxy_notifications(userdata) > 0;
}

static bool has_no_watch(void *userdata) {
        return g_hash_table_size(zk_requests(session_zk(userdata))->watches.watched) == 0;
}

/* The event has passed the proxy and is anywhere between the socket, the library and our queue. */
Test(lock_wire, a_watchs_bookkeeping_survives_its_waiter) {
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (unsigned i = 0; i < 20; i++) {
                Holder holder = {0}, waiter = {0};

                wire_hold(&wire, &holder, 0, "a");
                wire_queue(&wire, &waiter, 1, "a", 1);
                wire_reset_counts(&wire);
                holder_release(&holder);
                cr_assert(
                    loop_until(wire.world.event, has_notification, wire.proxies[1], WORLD_LIMIT));
                g_usleep((gulong)i * 100);
                holder_release(&waiter);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 0);
                cr_assert_eq(waiter.total, 0);
        }
        cr_assert(loop_until(wire.world.event, has_no_watch, wire_session(&wire, 1), WORLD_LIMIT),
                  "every watch fires, so none may stay in the books");
        assert_heartbeats_go_on(&wire, 1);
        wire_close(&wire);
}

Test(lock_wire, whoever_gives_up_waiting_leaves_no_watch_behind_that_he_did_not_find) {
        Wire wire;
        Holder holder = {0};
        guint books;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &holder, 0, "a");
        for (unsigned i = 0; i < 50; i++) {
                Holder waiter = {0};

                if (i % 2 == 0) {
                        wire_queue(&wire, &waiter, 1, "a", 1);
                } else {
                        holder_acquire(&wire.world, &waiter, wire_session(&wire, 1), "a",
                                       50 * USEC_PER_MSEC);
                        holder_await(&wire.world, &waiter, LOCK_EVENT_TIMEOUT);
                }
                holder_release(&waiter);
                world_await_children(&wire.world, wire_session(&wire, 0), "a", 1);
                world_settle(&wire.world, wire_session(&wire, 1));
                if (i == 1)
                        books = g_hash_table_size(
                            zk_requests(session_zk(wire_session(&wire, 1)))->watches.watched);
                else if (i > 1)
                        cr_assert_eq(
                            g_hash_table_size(
                                zk_requests(session_zk(wire_session(&wire, 1)))->watches.watched),
                            books, "after %u tries", i + 1);
        }
        holder_release(&holder);
        cr_assert(loop_until(wire.world.event, has_no_watch, wire_session(&wire, 1), WORLD_LIMIT));
        wire_close(&wire);
}

/* Who holds at once sets it a moment later (lock/lock-outcome.c). */
Test(lock_wire, a_holders_watch_whose_request_was_lost_is_set_again) {
        static const ProxyFate fates[] = {PROXY_CUT_BEFORE, PROXY_LOSE_ANSWER, PROXY_TEAR_ANSWER,
                                          PROXY_SPOIL_ANSWER};
        Wire wire;

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
                Holder holder = {0};

                wire_prepare(&wire, "a");
                wire_reset_counts(&wire);
                proxy_order(wire.proxies[1], OPCODE_GET, fates[i], 1);
                wire_hold(&wire, &holder, 1, "a");
                wire_await_count(&wire, 1, OPCODE_GET, 2);
                world_settle(&wire.world, wire_session(&wire, 1));
                cr_assert_eq(holder.total, 1);
                cr_assert_eq(world_delete(&wire.world, wire_session(&wire, 0),
                                          lock_set_paths(holder.set)[0]),
                             ZK_OK);
                holder_await_total(&wire.world, &holder, 1);
                cr_assert_eq(holder.events[LOCK_EVENT_LOST], 1);
                holder_release(&holder);
        }
        wire_close(&wire);
}

/* A host that accepts connections and never says a word */
typedef struct Hole {
        int listener;
        int visitor; /* who came last; stays connected until the next one comes */
        char *address;
} Hole;

static Hole hole_open(void) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof(address);
        Hole hole = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), -1, NULL};

        cr_assert_eq(bind(hole.listener, (struct sockaddr *)&address, length), 0);
        cr_assert_eq(listen(hole.listener, 64), 0);
        cr_assert_eq(getsockname(hole.listener, (struct sockaddr *)&address, &length), 0);
        hole.address = g_strdup_printf("127.0.0.1:%u", ntohs(address.sin_port));
        return hole;
}

static void hole_close(Hole *hole) {
        close_fdp(&hole->visitor);
        close_fdp(&hole->listener);
        g_clear_pointer(&hole->address, g_free);
}

/* Return: whether somebody has come since the last time. */
static bool has_visitor(void *userdata) {
        Hole *hole = userdata;
        int fd = accept4(hole->listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
                return false;
        close_fdp(&hole->visitor);
        hole->visitor = fd;
        return true;
}

Test(lock_wire, a_black_holed_first_host_does_not_outlast_the_deadline) {
        g_autofree char *servers = NULL;
        Wire wire;
        Holder holder = {0};
        Hole hole;

        zoo_deterministic_conn_order(1); /* the first one first */
        wire_open(&wire, zookeeper_shared(), 1, SHORT_TIMEOUT);
        hole = hole_open();
        wire.proxies[1] = proxy_new(wire.world.event, zookeeper_shared());
        servers = g_strdup_printf("%s,%s", hole.address, proxy_address(wire.proxies[1]));
        world_connect(&wire.world, 1, servers, SHORT_TIMEOUT, NULL);
        wire_hold(&wire, &holder, 1, "a");

        while (has_visitor(&hole))
                ; /* those of the first connection */
        proxy_admit(wire.proxies[1], false);
        proxy_cut(wire.proxies[1]);
        cr_assert(loop_until(wire.world.event, has_visitor, &hole, WORLD_LIMIT));
        cr_assert_eq(holder.total, 1, "nobody was in the hole before the deadline");
        holder_await_deadline(&wire.world, &holder);
        holder_release(&holder);
        proxy_admit(wire.proxies[1], true);
        world_await_event(&wire.world, 1, SESSION_EVENT_CONNECTED, 2);
        hole_close(&hole);
        wire_close(&wire);
}

ZOOKEEPER_MAIN;
