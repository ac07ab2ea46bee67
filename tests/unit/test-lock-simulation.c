/* Locks in a simulated ensemble: a few sessions, many LockSets of every kind (exclusive ones, some
 * of which step down to shared; shared ones; slots), and whatever a network may do at any moment.
 * Requests and answers travel one by one, in an order drawn at random; connections break between
 * any two of them, with some requests done and unanswered, others never sent and others sent on the
 * next connection; the next server may be as far behind as the protocol allows; sessions expire.
 *
 * At every step no two incompatible holders have been told that they hold. In the end, when the
 * network is well again, everybody has had its lock and nobody has left a contender. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "../random-seed.h"
#include "lock.h"
#include "scripted-port.h"

#define CLIENTS 3
#define HOLDERS 9
#define STEPS 100000
#define ROUNDS 4
/* Turns of the loop, each of which waits for a millisecond or a timer: what time a loaded machine
 * takes for one does not count. The longest pauses between tries are 5 s. */
#define IDLE_TURNS 25000

typedef struct Node {
        int64_t owner, czxid, pzxid;
        int32_t version, cversion;
        char data[96];
} Node;

/* What the server has sent to a client, on its way. */
typedef struct Delivery {
        ZkCall *call; /* NULL: the event of `watch` */
        ZkWatch *watch;
        ZkReply reply;
        char *path;
        GStrv children;
        GHashTable *state; /* as of the answer */
        ZkOpResult *results;
        bool changed; /* the event is a change, no deletion */
} Delivery;

typedef struct Client {
        Session *session;
        GQueue deliveries;
        bool cut;
        GHashTable *seen;   /* the state that it cannot fall behind of */
        GHashTable *behind; /* the state that its server shows, NULL when that is current */
} Client;

typedef struct World World;

typedef struct Holder {
        World *world; /* weak */
        LockSet *set;
        unsigned resources; /* bits */
        LockMode mode;      /* that it has now */
        bool slots, single, may_step, stepping;
        bool held, over;
} Holder;

struct World {
        sd_event *event;
        GRand *random;
        GHashTable *tree; /* path -> Node */
        int64_t zxid;
        unsigned sequences[4];
        Client clients[CLIENTS];
        Holder holders[HOLDERS];
        unsigned grants, steps_down, slots;
        bool meddled;      /* an administrator deletes contenders in this round */
        bool fresh;        /* everybody draws its token when it holds */
        int64_t newest[2]; /* token of an exclusive holder of a, of b */
};

static const char *const directories[] = {"/locks/a", "/locks/b", "/locks/s", "/locks/o"};
#define SLOTS 4

/* The servers */

static GHashTable *tree_new(void) {
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static GHashTable *tree_copy(GHashTable *tree) {
        GHashTable *copy = tree_new();
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, tree);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                g_hash_table_insert(copy, g_strdup(path), g_memdup2(node, sizeof(Node)));
        return copy;
}

static Zk *zk_of(const Client *client) {
        for (guint i = ports ? ports->len : 0; i-- > 0;) {
                Zk *zk = ports->pdata[i];

                if (zk->options.userdata == client->session && zk->state != ZK_STATE_CLOSED)
                        return zk;
        }
        return NULL;
}

static void delivery_free(Delivery *delivery) {
        g_free(delivery->path);
        g_strfreev(delivery->children);
        g_free(delivery->results);
        g_clear_pointer(&delivery->state, g_hash_table_unref);
        g_free(delivery);
}

static void send_event(Client *client, ZkWatch *watch, bool changed) {
        Delivery *delivery = g_new0(Delivery, 1);

        watch->active = false;
        delivery->watch = watch;
        delivery->changed = changed;
        g_queue_push_tail(&client->deliveries, delivery);
}

/* Sends the events of watches on what is gone, or has changed, in the state that the client's
 * server has. */
static bool is_due(const ZkWatch *watch, const Node *node) {
        if (watch->version < 0) /* of a directory's children */
                return node->cversion != -1 - watch->version;
        return !node || node->version != watch->version || node->czxid != watch->czxid;
}

/* In any order: who was cut off hears of all at once. */
static void fire(World *world, Client *client) {
        GHashTable *tree = client->behind ? client->behind : world->tree;
        Zk *zk = zk_of(client);
        guint n = zk ? zk->watches->len : 0, first;

        if (n == 0 || client->cut)
                return;
        first = (guint)g_rand_int_range(world->random, 0, (gint32)n);
        for (guint i = 0; i < n; i++) {
                ZkWatch *watch = zk->watches->pdata[(first + i) % n];
                const Node *node = g_hash_table_lookup(tree, watch->path);

                if (watch->active && is_due(watch, node))
                        send_event(client, watch, node != NULL);
        }
}

static void fire_all(World *world) {
        for (size_t i = 0; i < CLIENTS; i++)
                fire(world, &world->clients[i]);
}

static size_t directory_of(const char *path) {
        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
                if (g_str_has_prefix(path, directories[i]))
                        return i;
        abort();
}

/* A child of the path's directory came or went in the present transaction. */
static void bump(World *world, const char *path) {
        Node *directory = g_hash_table_lookup(world->tree, directories[directory_of(path)]);

        directory->cversion++;
        directory->pzxid = world->zxid;
}

static Node *node_new(World *world, int64_t owner, const char *data) {
        Node *node = g_new0(Node, 1);

        node->owner = owner;
        node->czxid = world->zxid;
        g_strlcpy(node->data, data ? data : "", sizeof(node->data));
        return node;
}

static ZkCode do_create(World *world, const Client *client, const ZkCall *call,
                        Delivery *delivery) {
        Node *node;

        bool sequential = call->flags & ZK_CREATE_SEQUENTIAL;
        if (!sequential && g_hash_table_contains(world->tree, call->path))
                return ZK_NODE_EXISTS;
        world->zxid++;
        node = node_new(world, zk_of(client)->session.id, call->data);
        delivery->path = !sequential
                             ? g_strdup(call->path)
                             : g_strdup_printf("%s%010u", call->path,
                                               world->sequences[directory_of(call->path)]++);
        bump(world, call->path);
        g_hash_table_insert(world->tree, g_strdup(delivery->path), node);
        delivery->reply.path = delivery->path;
        delivery->reply.stat.czxid = node->czxid;
        fire_all(world);
        return ZK_OK;
}

static ZkCode check_op(const World *world, const ZkOp *op) {
        bool exists = g_hash_table_contains(world->tree, op->path);

        if (op->type == ZK_OP_CHECK) /* a heartbeat's */
                return ZK_OK;
        if (op->type == ZK_OP_CREATE)
                return exists ? ZK_NODE_EXISTS : ZK_OK;
        return exists ? ZK_OK : ZK_NO_NODE;
}

static void apply_op(World *world, const Client *client, const ZkOp *op) {
        Node *node = g_hash_table_lookup(world->tree, op->path);

        if (op->type == ZK_OP_CREATE) {
                bump(world, op->path);
                g_hash_table_insert(world->tree, g_strdup(op->path),
                                    node_new(world, zk_of(client)->session.id, op->data));
        } else if (op->type == ZK_OP_DELETE) {
                bump(world, op->path);
                g_hash_table_remove(world->tree, op->path);
        } else if (op->type == ZK_OP_SET) {
                node->version++;
                g_strlcpy(node->data, op->data, sizeof(node->data));
        }
}

/* None of our transactions has operations that depend on one another, but for a child and its
 * directory, which stays. */
static ZkCode do_multi(World *world, const Client *client, const ZkCall *call, Delivery *delivery) {
        ZkCode code = ZK_OK;

        delivery->results = g_new0(ZkOpResult, call->n_ops);
        delivery->reply.results = delivery->results;
        delivery->reply.n_results = call->n_ops;
        for (size_t i = 0; i < call->n_ops; i++) {
                delivery->results[i].code =
                    code == ZK_OK ? check_op(world, &call->ops[i]) : ZK_ROLLED_BACK;
                code = code == ZK_OK ? delivery->results[i].code : code;
        }
        if (code != ZK_OK)
                return code;
        world->zxid++;
        for (size_t i = 0; i < call->n_ops; i++)
                apply_op(world, client, &call->ops[i]);
        fire_all(world);
        return ZK_OK;
}

static ZkCode do_set(World *world, const ZkCall *call, Delivery *delivery) {
        const ZkOp op = {.type = ZK_OP_SET, .path = call->path, .data = call->data};

        if (!g_hash_table_contains(world->tree, call->path))
                return ZK_NO_NODE;
        delivery->reply.stat.mzxid = ++world->zxid;
        apply_op(world, NULL, &op);
        fire_all(world);
        return ZK_OK;
}

static ZkCode do_list(GHashTable *tree, const ZkCall *call, Delivery *delivery) {
        const Node *node = g_hash_table_lookup(tree, call->path);
        g_autofree char *prefix = g_strconcat(call->path, "/", NULL);
        GPtrArray *names = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, tree);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, prefix))
                        g_ptr_array_add(names, g_strdup((char *)path + strlen(prefix)));
        delivery->reply.stat.pzxid = node->pzxid;
        if (call->watch) {
                call->watch->active = true;
                call->watch->version = -1 - node->cversion;
        }
        delivery->reply.n_children = names->len;
        g_ptr_array_add(names, NULL);
        delivery->children = (GStrv)g_ptr_array_free(names, FALSE);
        delivery->reply.children = (const char *const *)delivery->children;
        return ZK_OK;
}

static ZkCode do_read(GHashTable *tree, const ZkCall *call, Delivery *delivery) {
        const Node *node = g_hash_table_lookup(tree, call->path);

        if (!node)
                return ZK_NO_NODE;
        delivery->reply.stat = (ZkStat){
            .czxid = node->czxid, .ephemeral_owner = node->owner, .version = node->version};
        delivery->path = g_strdup(node->data);
        delivery->reply.data = delivery->path;
        delivery->reply.data_size = strlen(node->data);
        if (call->watch) {
                call->watch->active = true;
                call->watch->version = node->version;
                call->watch->czxid = node->czxid;
        }
        return ZK_OK;
}

static ZkCode do_delete(World *world, const char *path) {
        if (!g_hash_table_remove(world->tree, path))
                return ZK_NO_NODE;
        world->zxid++;
        bump(world, path);
        fire_all(world);
        return ZK_OK;
}

static ZkCode perform(World *world, Client *client, const ZkCall *call, Delivery *delivery) {
        bool read = call->request == REQUEST_LIST || call->request == REQUEST_GET ||
                    call->request == REQUEST_EXISTS;

        if (!read && client->behind) {
                g_clear_pointer(&client->behind, g_hash_table_unref);
                fire(world, client);
        }
        switch (call->request) {
        case REQUEST_CREATE:
                return do_create(world, client, call, delivery);
        case REQUEST_DELETE:
                return do_delete(world, call->path);
        case REQUEST_LIST:
                return do_list(client->behind ? client->behind : world->tree, call, delivery);
        case REQUEST_GET:
        case REQUEST_EXISTS:
                return do_read(client->behind ? client->behind : world->tree, call, delivery);
        case REQUEST_SET:
                return do_set(world, call, delivery);
        case REQUEST_MULTI:
                return do_multi(world, client, call, delivery);
        case REQUEST_SYNC:
        case REQUEST_ACL:
                break;
        }
        return ZK_OK;
}

/* The server serves the client's next request. Return: false when there is none. */
static bool serve(World *world, Client *client) {
        Zk *zk = client->cut ? NULL : zk_of(client);
        ZkCall *call = zk ? g_queue_pop_head(&zk->calls) : NULL;
        Delivery *delivery;

        if (!call)
                return false;
        delivery = g_new0(Delivery, 1);
        delivery->call = call;
        delivery->reply.code = perform(world, client, call, delivery);
        delivery->state = tree_copy(client->behind ? client->behind : world->tree);
        g_queue_push_tail(&client->deliveries, delivery);
        return true;
}

/* The client hears what comes next. */
static bool deliver(Client *client) {
        Delivery *delivery = client->cut ? NULL : g_queue_pop_head(&client->deliveries);

        if (!delivery)
                return false;
        if (delivery->call) {
                g_clear_pointer(&client->seen, g_hash_table_unref);
                client->seen = g_hash_table_ref(delivery->state);
                if (delivery->call->watch)
                        delivery->call->watch->known = delivery->reply.code == ZK_OK;
                port_reply(delivery->call, delivery->reply);
        } else {
                delivery->watch->known = false;
                if (delivery->watch->func)
                        delivery->watch->func(delivery->changed ? ZK_WATCH_CHANGED
                                                                : ZK_WATCH_DELETED,
                                              delivery->watch->path, delivery->watch->userdata);
        }
        delivery_free(delivery);
        return true;
}

/* The network */

static void cut(World *world, Client *client) {
        Zk *zk = zk_of(client);
        g_autoptr(GPtrArray) lost = g_ptr_array_new();
        Delivery *delivery;
        guint n;

        if (client->cut || !zk || zk->state != ZK_STATE_CONNECTED)
                return;
        for (n = (guint)g_rand_int_range(world->random, 0, 4); n > 0 && serve(world, client); n--)
                ;
        client->cut = true;
        while ((delivery = g_queue_pop_head(&client->deliveries))) {
                if (delivery->call)
                        g_ptr_array_add(lost, delivery->call);
                delivery_free(delivery);
        }
        /* Some may be handed to the library only after it has noticed. */
        n = g_queue_get_length(&zk->calls);
        if (n > 0 && g_rand_boolean(world->random))
                n = (guint)g_rand_int_range(world->random, 0, (gint32)n + 1);
        while (n-- > 0)
                g_ptr_array_add(lost, g_queue_pop_head(&zk->calls));
        for (guint i = 0; i < zk->watches->len; i++)
                ((ZkWatch *)zk->watches->pdata[i])->active = false;
        port_tell(zk, ZK_STATE_SUSPENDED);
        for (guint i = 0; i < lost->len; i++)
                port_reply(lost->pdata[i], (ZkReply){.code = ZK_UNKNOWN});
}

static void expire(World *world, Zk *zk) {
        GHashTableIter iterator;
        gpointer path, node;

        world->zxid++;
        g_hash_table_iter_init(&iterator, world->tree);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (((Node *)node)->owner == zk->session.id) {
                        bump(world, path);
                        g_hash_table_iter_remove(&iterator);
                }
        port_tell(zk, ZK_STATE_EXPIRED);
        fire_all(world);
}

static void reconnect(World *world, Client *client) {
        Zk *zk = zk_of(client);

        if (!zk || !client->cut)
                return;
        client->cut = false;
        g_clear_pointer(&client->behind, g_hash_table_unref);
        if (g_rand_int_range(world->random, 0, 10) == 0) {
                expire(world, zk);
                return;
        }
        if (client->seen && g_rand_boolean(world->random))
                client->behind = g_hash_table_ref(client->seen);
        for (guint i = 0; i < zk->watches->len; i++) {
                ZkWatch *watch = zk->watches->pdata[i];

                watch->active = watch->known;
        }
        port_tell(zk, ZK_STATE_CONNECTED);
        fire(world, client);
}

/* A session that was lost connects anew. */
static void connect_new(Client *client) {
        Zk *zk = zk_of(client);

        if (zk && zk->state == ZK_STATE_CONNECTING) {
                g_clear_pointer(&client->seen, g_hash_table_unref);
                port_tell(zk, ZK_STATE_CONNECTED);
        }
}

static void run_idle(World *world) {
        while (sd_event_run(world->event, 0) > 0)
                ;
        for (size_t i = 0; i < CLIENTS; i++)
                connect_new(&world->clients[i]);
}

/* Those who lock */

/* Who holds exclusively has a larger token than whoever did so before. */
static void check_token(Holder *holder) {
        static const char *const names[] = {"a", "b"};
        World *world = holder->world;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                int64_t token = lock_set_fencing_token_of(holder->set, names[i]);

                if (world->meddled || holder->mode == LOCK_SHARED ||
                    !(holder->resources & (1U << i)))
                        continue;
                cr_assert_gt(token, world->newest[i]);
                world->newest[i] = token;
        }
}

static void on_lock(LockSet *set, LockEvent event, void *userdata) {
        Holder *holder = userdata;

        cr_assert_not(holder->over);
        cr_assert(event != LOCK_EVENT_FAILED || holder->slots, "%s", lock_set_fault(set));
        cr_assert_neq(event, LOCK_EVENT_REVOKED);
        if (event == LOCK_EVENT_DOWNGRADED) {
                cr_assert(holder->stepping);
                holder->mode = LOCK_SHARED;
                return;
        }
        holder->held = event == LOCK_EVENT_HELD;
        holder->over = !holder->held;
        if (holder->held)
                check_token(holder);
}

static void on_session(Session *session, SessionEvent event, void *userdata) {
        (void)session;
        (void)event;
        (void)userdata;
}

/* Half of the exclusive ones may step down. */
static void acquire(World *world, Holder *holder) {
        Session *session = world->clients[g_rand_int_range(world->random, 0, CLIENTS)].session;
        unsigned resources = (unsigned)g_rand_int_range(world->random, 1, 4);
        LockMode mode = g_rand_boolean(world->random) ? LOCK_EXCLUSIVE : LOCK_SHARED;
        bool try = g_rand_int_range(world->random, 0, 8) == 0;
        bool slots = g_rand_int_range(world->random, 0, 4) == 0;
        bool single = !slots && g_rand_int_range(world->random, 0, 4) == 0;
        bool may_step =
            !slots && !single && mode == LOCK_EXCLUSIVE && g_rand_boolean(world->random);
        const LockRequest requests[] = {{resources & 1 ? "a" : "b", mode}, {"b", mode}};
        const LockRequest slot = {"s", LOCK_EXCLUSIVE, .slots = world->slots};
        const LockRequest one = {"o", LOCK_EXCLUSIVE, .naming = LOCK_NAMING_SINGLE_NODE};
        bool parent = g_rand_int_range(world->random, 0, 6) == 0;
        const LockOptions options = {
            .parent = "/locks",
            .wait = try ? 0 : USEC_INFINITY,
            .strategy = parent ? LOCK_STRATEGY_PARENT : LOCK_STRATEGY_PREDECESSOR,
            .may_downgrade = may_step,
            .fresh_token = world->fresh,
        };
        const LockRequest *wanted = single ? &one : slots ? &slot : requests;
        size_t n_wanted = wanted == requests && resources == 3 ? 2 : 1;

        *holder = (Holder){.world = world,
                           .resources = slots || single ? 0 : resources,
                           .mode = mode,
                           .slots = slots,
                           .single = single,
                           .may_step = may_step};
        (void)lock_set_acquire(session, wanted, n_wanted, &options, on_lock, holder, &holder->set);
}

static void step_down(World *world, Holder *holder) {
        holder->stepping = true;
        (void)lock_set_downgrade(holder->set);
        world->steps_down++;
}

static void release(Holder *holder) {
        holder->set = lock_set_free(holder->set);
        holder->held = holder->over = false;
}

/* Return: whether the contender at `path` stands, or the twin that it may have become. */
static bool path_stands(const World *world, const Holder *holder, const char *path) {
        g_autofree char *directory = g_path_get_dirname(path),
                        *name = contender_twin(strrchr(path, '/') + 1),
                        *twin = g_strconcat(directory, "/", name, NULL);

        return g_hash_table_contains(world->tree, path) ||
               (holder->stepping && name && g_hash_table_contains(world->tree, twin));
}

/* Where an administrator deletes contenders, their holders hear of it a little later. Return:
 * whether the holder's belief counts. */
static bool counts(const World *world, const Holder *holder) {
        const Node *single = g_hash_table_lookup(world->tree, "/locks/o/lock");

        if (!holder->held || !world->meddled)
                return holder->held;
        for (const char *const *path = lock_set_paths(holder->set); *path; path++)
                if (!path_stands(world, holder, *path))
                        return false;
        return !holder->single || single->czxid <= lock_set_fencing_token(holder->set);
}

static void check(const World *world) {
        unsigned slots = 0, singles = 0;

        for (size_t i = 0; i < HOLDERS; i++) {
                const Holder *one = &world->holders[i];

                slots += counts(world, one) && one->slots;
                singles += counts(world, one) && one->single;
                for (size_t j = 0; j < i; j++) {
                        const Holder *other = &world->holders[j];

                        /* One that steps down may be shared already, without knowing yet. */
                        cr_assert_not(counts(world, one) && counts(world, other) &&
                                          (one->resources & other->resources) &&
                                          ((one->mode == LOCK_EXCLUSIVE && !one->stepping) ||
                                           (other->mode == LOCK_EXCLUSIVE && !other->stepping)),
                                      "both hold");
                }
        }
        cr_assert_leq(slots, SLOTS);
        cr_assert_leq(singles, 1);
}

/* Somebody writes to a node, changes the number of slots, or deletes a contender. */
static void meddle(World *world, const char *path, Node *node) {
        world->zxid++;
        node->version++;
        if (strcmp(path, directories[2]) == 0) {
                world->slots = (unsigned)g_rand_int_range(world->random, 2, SLOTS + 1);
                (void)snprintf(node->data, sizeof(node->data), "{\"slots\": %u}", world->slots);
        } else if (node->owner != 0 && world->meddled && g_rand_boolean(world->random)) {
                bump(world, path);
                g_hash_table_remove(world->tree, path);
        }
        fire_all(world);
}

static void meddle_somewhere(World *world) {
        gint32 which = g_rand_int_range(world->random, 0, (gint32)g_hash_table_size(world->tree));
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, world->tree);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (which-- == 0) {
                        meddle(world, path, node);
                        return;
                }
}

static void step(World *world) {
        gint32 dice = g_rand_int_range(world->random, 0, 1000);
        Client *client = &world->clients[g_rand_int_range(world->random, 0, CLIENTS)];
        Holder *holder = &world->holders[g_rand_int_range(world->random, 0, HOLDERS)];

        if (dice < 430)
                (void)serve(world, client);
        else if (dice < 860)
                (void)deliver(client);
        else if (dice < 868)
                cut(world, client);
        else if (dice < 896)
                reconnect(world, client);
        else if (dice < 900)
                meddle_somewhere(world);
        else if (!holder->set)
                acquire(world, holder);
        else if (holder->held && holder->may_step && !holder->stepping)
                step_down(world, holder);
        else if (holder->held || holder->over || dice < 904) {
                world->grants += holder->held;
                release(holder);
        }
        run_idle(world);
        check(world);
}

static bool is_quiet(const World *world) {
        for (size_t i = 0; i < HOLDERS; i++)
                if (world->holders[i].set)
                        return false;
        return g_hash_table_size(world->tree) == G_N_ELEMENTS(directories);
}

/* No more faults and no newcomers: everybody gets its turn, and the queues are empty in the end. */
static void heal(World *world) {
        unsigned idle = 0;

        while (!is_quiet(world)) {
                bool busy = false;

                cr_assert_lt(idle, IDLE_TURNS, "somebody waits for ever");
                for (size_t i = 0; i < CLIENTS; i++) {
                        reconnect(world, &world->clients[i]);
                        busy |= serve(world, &world->clients[i]);
                        busy |= deliver(&world->clients[i]);
                }
                for (size_t i = 0; i < HOLDERS; i++)
                        if (world->holders[i].held || world->holders[i].over)
                                release(&world->holders[i]);
                if (!busy && sd_event_run(world->event, USEC_PER_MSEC) >= 0)
                        idle++;
                run_idle(world);
                check(world);
        }
}

static void world_open(World *world, guint32 seed) {
        const SessionOptions options = {
            .servers = "127.0.0.1:2181",
            .session_timeout = USEC_PER_HOUR,
            .rule = {USEC_PER_SEC, 1, USEC_PER_MINUTE, USEC_PER_SEC},
        };

        *world = (World){.slots = 3, .random = g_rand_new_with_seed(seed), .tree = tree_new()};
        cr_assert_geq(sd_event_new(&world->event), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
                g_hash_table_insert(world->tree, g_strdup(directories[i]), node_new(world, 0, ""));
        for (size_t i = 0; i < CLIENTS; i++) {
                Client *client = &world->clients[i];

                g_queue_init(&client->deliveries);
                cr_assert_eq(
                    session_new(world->event, &options, on_session, world, &client->session), 0);
        }
}

static void world_close(World *world) {
        for (size_t i = 0; i < CLIENTS; i++) {
                Client *client = &world->clients[i];
                Delivery *delivery;

                client->session = session_free(client->session);
                while ((delivery = g_queue_pop_head(&client->deliveries))) {
                        if (delivery->call)
                                call_clear(delivery->call);
                        delivery_free(delivery);
                }
                g_clear_pointer(&client->seen, g_hash_table_unref);
                g_clear_pointer(&client->behind, g_hash_table_unref);
        }
        world->event = sd_event_unref(world->event);
        g_hash_table_unref(world->tree);
        g_rand_free(world->random);
}

Test(lock_simulation, nobody_holds_beside_another_and_nobody_waits_for_ever, .timeout = 900) {
        for (unsigned round = 0; round < ROUNDS; round++) {
                guint32 seed = random_seed();
                World world;

                world_open(&world, seed);
                world.meddled = seed % 2;
                world.fresh = seed % 4 < 2;
                for (unsigned i = 0; i < STEPS; i++)
                        step(&world);
                heal(&world);
                cr_expect_gt(world.grants, STEPS / 200);
                cr_expect_gt(world.steps_down, STEPS / 2000);
                fprintf(stderr, "%u grants, %u steps down\n", world.grants, world.steps_down);
                world_close(&world);
        }
}
