/* See script.h.
 *
 * One session at a time sends a few requests at once; then each session sends a write of its own,
 * whose answer comes behind every event that there is to come for it. So the order of what a
 * session is told is the servers' doing, and not the network's, and what is printed of two runs is
 * the same where servers are. Transaction numbers are printed relative to the first one.
 */
#include "script.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk.h"

#define TIMEOUT (10 * USEC_PER_SEC)
/* Of sessions that are to expire: as short as the servers grant. */
#define SHORT_TIMEOUT (500 * USEC_PER_MSEC)
/* So many times in a script, since it takes its time on real servers. */
#define EXPIRIES 3
#define BATCH_MAX 6
#define OPS_MAX 3
#define LEARNED 8
#define WATCHES_MAX 60

typedef struct Slot {
        unsigned number, generation;
        Zk *zk;
        ZkOptions options;
        ZkState state;
        GPtrArray *lines;   /* what it was told since the last barrier */
        GPtrArray *watches; /* of Watching */
        unsigned waiting;   /* for answers */
        unsigned n_watches; /* that it ever set */
        usec_t timeout;
} Slot;

typedef struct Watching {
        Slot *slot;
        unsigned number;
        ZkWatch *watch;
} Watching;

typedef struct Asking {
        Slot *slot;
        char *what;
} Asking;

static struct {
        GRand *random;
        Slot slots[SCRIPT_SLOTS];
        int64_t base;           /* the transaction that others are counted from */
        GHashTable *owners;     /* session → its name */
        char *learned[LEARNED]; /* paths with sequence numbers */
        unsigned n_learned, n_asked;
        bool unordered; /* a session has just ended */
        bool cut;       /* the first session is cut off */
        bool expired;   /* its node is gone */
} script;

static const char *const auths[SCRIPT_SLOTS] = {NULL, NULL, "bob:secret"};

static unsigned draw(unsigned n) {
        return (unsigned)g_rand_int_range(script.random, 0, (gint32)n);
}

/* ---- what is printed ---- */

static void slot_say(Slot *slot, char *line) {
        g_ptr_array_add(slot->lines, line);
}

static const char *owner_name(int64_t owner) {
        const char *name = g_hash_table_lookup(script.owners, &owner);

        return owner == 0 ? "none" : name ? name : "?";
}

static char *zxid_text(int64_t zxid) {
        return zxid == 0 ? g_strdup("0")
                         : g_strdup_printf("%+" G_GINT64_FORMAT, zxid - script.base);
}

static char *stat_text(const ZkStat *stat) {
        g_autofree char *czxid = zxid_text(stat->czxid), *mzxid = zxid_text(stat->mzxid),
                        *pzxid = zxid_text(stat->pzxid);

        return g_strdup_printf("{c%s m%s p%s v%d cv%d n%d len%d owner %s%s%s}", czxid, mzxid, pzxid,
                               stat->version, stat->cversion, stat->num_children, stat->data_length,
                               owner_name(stat->ephemeral_owner),
                               stat->ctime_ms > 0 ? " ctime" : "",
                               stat->mtime_ms >= stat->ctime_ms ? "" : " backwards");
}

static int compare_names(const void *one, const void *other) {
        return strcmp(*(char *const *)one, *(char *const *)other);
}

static void append_children(GString *line, const ZkReply *reply) {
        g_autofree const char **names =
            g_memdup2(reply->children, (reply->n_children + 1) * sizeof(*names));

        qsort(names, reply->n_children, sizeof(*names), compare_names);
        g_string_append_printf(line, " [");
        for (size_t i = 0; i < reply->n_children; i++)
                g_string_append_printf(line, "%s%s", i > 0 ? " " : "", names[i]);
        g_string_append_c(line, ']');
}

static void append_results(GString *line, const ZkReply *reply) {
        for (size_t i = 0; i < reply->n_results; i++) {
                const ZkOpResult *result = &reply->results[i];
                g_autofree char *stat = stat_text(&result->stat);

                g_string_append_printf(line, " <%s%s>", zk_code_to_string(result->code),
                                       result->stat.mzxid != 0 ? stat : "");
        }
}

static char *reply_text(const char *what, const ZkReply *reply) {
        g_autoptr(GString) line = g_string_new(what);
        bool has_stat = reply->stat.mzxid != 0 || reply->stat.num_children != 0;

        g_string_append_printf(line, ": %s", zk_code_to_string(reply->code));
        if (reply->path)
                g_string_append_printf(line, " %s", reply->path);
        if (reply->data)
                g_string_append_printf(line, " \"%s\"(%zu)", reply->data, reply->data_size);
        if (reply->others)
                g_string_append_printf(line, " others \"%s\"", reply->others);
        if (reply->children)
                append_children(line, reply);
        if (has_stat) {
                g_autofree char *stat = stat_text(&reply->stat);

                g_string_append_printf(line, " %s", stat);
        }
        append_results(line, reply);
        return g_strdup(line->str);
}

static int compare_lines(const void *one, const void *other) {
        return strcmp(*(char *const *)one, *(char *const *)other);
}

static bool line_is_event(const char *line) {
        return g_str_has_prefix(line, "event");
}

/* What a session owned goes in one transaction, in no order that anybody promises. */
static void slot_sort_events(Slot *slot) {
        void **lines = slot->lines->pdata;

        for (guint i = 0, end; i < slot->lines->len; i = end + 1) {
                for (end = i; end < slot->lines->len && line_is_event(lines[end]); end++)
                        ;
                qsort(lines + i, end - i, sizeof(*lines), compare_lines);
        }
}

static void slot_print(Slot *slot) {
        if (script.unordered)
                slot_sort_events(slot);
        for (guint i = 0; i < slot->lines->len; i++)
                printf("s%u %s\n", slot->number, (const char *)slot->lines->pdata[i]);
        g_ptr_array_set_size(slot->lines, 0);
}

/* ---- asking ---- */

static void learn(const char *path) {
        size_t length = strlen(path);

        if (length < 10 || strspn(path + length - 10, "0123456789") != 10)
                return;
        g_free(script.learned[script.n_learned % LEARNED]);
        script.learned[script.n_learned++ % LEARNED] = g_strdup(path);
}

static void slot_on_reply(const ZkReply *reply, void *userdata) {
        Asking *asking = userdata;

        asking->slot->waiting--;
        if (script.base == 0)
                script.base = reply->stat.czxid;
        slot_say(asking->slot, reply_text(asking->what, reply));
        if (reply->path)
                learn(reply->path);
        g_free(asking->what);
        g_free(asking);
}

static void slot_on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        static const char *const words[] = {"created", "deleted", "changed", "children"};
        const Watching *watching = userdata;

        slot_say(watching->slot, g_strdup_printf("event for watch %u: %s %s", watching->number,
                                                 words[event], path));
}

static void watching_free(void *data) {
        Watching *watching = data;

        zk_watch_free(watching->watch);
        g_free(watching);
}

static Watching *slot_watch(Slot *slot) {
        Watching *watching;

        if (draw(3) == 0)
                return NULL;
        if (slot->watches->len == WATCHES_MAX)
                g_ptr_array_remove_index(slot->watches, 0);
        watching = g_new0(Watching, 1);
        watching->slot = slot;
        watching->number = ++slot->n_watches;
        g_ptr_array_add(slot->watches, watching);
        return watching;
}

/* Takes `what` over; `r`: whether it was sent. */
static void slot_asked(Asking *asking, int r) {
        if (r == 0) {
                asking->slot->waiting++;
                return;
        }
        slot_say(asking->slot, g_strdup_printf("%s: not sent, %d", asking->what, r));
        g_free(asking->what);
        g_free(asking);
}

static Asking *asking_new(Slot *slot, char *what) {
        Asking *asking = g_new0(Asking, 1);

        asking->slot = slot;
        asking->what = g_strdup_printf("%u %s", ++script.n_asked, what);
        g_free(what);
        return asking;
}

/* A malformed path in a multi has the library free what it never allocated. */
static const char *draw_path(bool malformed) {
        static const char *const paths[] = {
            "/t/a", "/t/a", "/t/a/x", "/t/a/y", "/t/b", "/t/b/x", "/t/a/x/p", "/t", "/t/mine",
        };
        static const char *const odd[] = {"/",    "/zookeeper", "/zookeeper/quota",
                                          "/t/.", "/t/./a",     "/t//b",
                                          "t",    "/t/a/",      "/t/.."};
        const unsigned n_sound = 3;

        if (draw(40) == 0)
                return odd[draw(malformed ? G_N_ELEMENTS(odd) : n_sound)];
        if (script.n_learned > 0 && draw(4) == 0)
                return script.learned[draw(MIN(script.n_learned, LEARNED))];
        return paths[draw(G_N_ELEMENTS(paths))];
}

static const char *draw_data(void) {
        static const char *const data[] = {NULL, "", "one", "two and more"};

        return data[draw(G_N_ELEMENTS(data))];
}

static int32_t draw_version(void) {
        return draw(4) > 0 ? -1 : (int32_t)draw(3);
}

/* The library does not live through a container in a multi. */
static unsigned draw_flags(bool container) {
        static const unsigned flags[] = {0,
                                         0,
                                         0,
                                         ZK_CREATE_EPHEMERAL,
                                         ZK_CREATE_EPHEMERAL,
                                         ZK_CREATE_SEQUENTIAL,
                                         ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL,
                                         ZK_CREATE_CONTAINER};

        return flags[draw(G_N_ELEMENTS(flags) - !container)];
}

static void ask_create(Slot *slot) {
        const char *path = draw_path(true), *data = draw_data();
        unsigned flags = draw_flags(true);
        Asking *asking = asking_new(slot, g_strdup_printf("create %s flags %u", path, flags));

        slot_asked(asking, zk_create(slot->zk, path, data, flags, slot_on_reply, asking, NULL));
}

static void ask_delete(Slot *slot) {
        const char *path = draw_path(true);
        int32_t version = draw_version();
        Asking *asking = asking_new(slot, g_strdup_printf("delete %s version %d", path, version));

        slot_asked(asking, zk_delete(slot->zk, path, version, slot_on_reply, asking, NULL));
}

static void ask_set(Slot *slot) {
        const char *path = draw_path(true), *data = draw_data();
        int32_t version = draw_version();
        Asking *asking = asking_new(slot, g_strdup_printf("set %s version %d", path, version));

        slot_asked(asking, zk_set(slot->zk, path, data, version, slot_on_reply, asking, NULL));
}

static void ask_read(Slot *slot) {
        typedef int ReadFunc(Zk *, const char *, ZkReplyFunc, void *, ZkCall **, ZkWatchFunc,
                             void *, ZkWatch **);
        static const struct {
                const char *word;
                ReadFunc *func;
        } reads[] = {{"get", zk_get}, {"exists", zk_exists}, {"list", zk_get_children}};
        const char *path = draw_path(true);
        unsigned which = draw(G_N_ELEMENTS(reads));
        Watching *watching = slot_watch(slot);
        Asking *asking = asking_new(slot, g_strdup_printf("%s %s watch %u", reads[which].word, path,
                                                          watching ? watching->number : 0));

        slot_asked(asking,
                   reads[which].func(slot->zk, path, slot_on_reply, asking, NULL, slot_on_watch,
                                     watching, watching ? &watching->watch : NULL));
}

static void ask_acl(Slot *slot) {
        const char *path = draw_path(true);
        Asking *asking = asking_new(slot, g_strdup_printf("acl %s", path));

        slot_asked(asking, zk_get_acl(slot->zk, path, slot_on_reply, asking, NULL));
}

static void ask_sync(Slot *slot) {
        Asking *asking = asking_new(slot, g_strdup("sync"));

        slot_asked(asking, zk_sync(slot->zk, "/", slot_on_reply, asking, NULL));
}

static void ask_multi(Slot *slot) {
        static const char *const words[] = {"check", "create", "set", "delete"};
        ZkOp ops[OPS_MAX] = {0};
        size_t n = 1 + draw(OPS_MAX);
        g_autoptr(GString) what = g_string_new("multi");
        Asking *asking;

        for (size_t i = 0; i < n; i++) {
                ops[i].type = draw(4);
                ops[i].path = draw_path(false);
                ops[i].data = draw_data();
                ops[i].version = ops[i].type == ZK_OP_DELETE ? -1 : draw_version();
                if (ops[i].type == ZK_OP_CREATE)
                        ops[i].flags = draw_flags(false);
                g_string_append_printf(what, " (%s %s version %d flags %u)", words[ops[i].type],
                                       ops[i].path, ops[i].version, ops[i].flags);
        }
        asking = asking_new(slot, g_strdup(what->str));
        slot_asked(asking, zk_multi(slot->zk, ops, n, slot_on_reply, asking, NULL));
}

static void slot_batch(void *userdata) {
        static void (*const asks[])(Slot * slot) = {
            ask_create, ask_create, ask_create, ask_delete, ask_delete, ask_set, ask_read,
            ask_read,   ask_read,   ask_multi,  ask_multi,  ask_acl,    ask_sync};
        unsigned n = 1 + draw(BATCH_MAX);

        for (unsigned i = 0; i < n; i++)
                asks[draw(G_N_ELEMENTS(asks))](userdata);
}

/* ---- steps ---- */

static bool nobody_waits(void *userdata) {
        (void)userdata;
        for (size_t i = 0; i < SCRIPT_SLOTS; i++)
                if (script.slots[i].waiting > 0)
                        return false;
        return true;
}

/* A write that changes nothing. */
static void slot_mark(void *userdata) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};
        Slot *slot = userdata;
        Asking *asking = asking_new(slot, g_strdup("mark"));

        slot_asked(asking, zk_multi(slot->zk, &check, 1, slot_on_reply, asking, NULL));
}

/* `but`: a slot that cannot be asked at the moment. */
static void script_settle(unsigned but) {
        stage_await(nobody_waits, NULL);
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++)
                if (i != but)
                        stage_do(i, slot_mark, &script.slots[i]);
        stage_await(nobody_waits, NULL);
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++)
                if (i != but)
                        slot_print(&script.slots[i]);
        fflush(stdout);
}

static void slot_on_state(Zk *zk, ZkState state, void *userdata) {
        static const char *const words[] = {"connecting",  "connected", "suspended", "expired",
                                            "auth-failed", "failed",    "closed"};
        Slot *slot = userdata;

        (void)zk;
        if (state == ZK_STATE_SUSPENDED && !script.cut) {
                fprintf(stderr, "a connection was lost that nobody cut\n");
                exit(SCRIPT_DISTURBED);
        }
        slot->state = state;
        slot_say(slot, g_strdup(words[state]));
}

static void slot_connect(void *userdata) {
        Slot *slot = userdata;

        slot->generation++;
        slot->state = ZK_STATE_CONNECTING;
        slot->options.servers = stage_address(slot->number);
        slot->options.session_timeout = slot->timeout;
        slot->options.auth = auths[slot->number];
        slot->options.state = slot_on_state;
        slot->options.userdata = slot;
        (void)zk_connect(stage_event(slot->number), &slot->options, &slot->zk);
}

static bool slot_is_connected(void *userdata) {
        return ((const Slot *)userdata)->state == ZK_STATE_CONNECTED;
}

static bool slot_is_suspended(void *userdata) {
        return ((const Slot *)userdata)->state == ZK_STATE_SUSPENDED;
}

static bool slot_is_closed(void *userdata) {
        return ((const Slot *)userdata)->state == ZK_STATE_CLOSED;
}

static void slot_begin(Slot *slot, const ZkSessionId *session) {
        int64_t id;

        slot->options.session = session;
        stage_do(slot->number, slot_connect, slot);
        stage_await(slot_is_connected, slot);
        if (session)
                return;
        id = zk_session_id(slot->zk).id;
        g_hash_table_insert(script.owners, g_memdup2(&id, sizeof(id)),
                            g_strdup_printf("s%u.%u", slot->number, slot->generation));
}

static void slot_close(void *userdata) {
        zk_close(((Slot *)userdata)->zk);
}

static void slot_abandon(void *userdata) {
        zk_abandon(((Slot *)userdata)->zk);
}

static void slot_drop(void *userdata) {
        Slot *slot = userdata;

        g_ptr_array_set_size(slot->watches, 0);
        slot->zk = zk_free(slot->zk);
}

static void step_renew(Slot *slot) {
        script.unordered = true;
        stage_do(slot->number, slot_close, slot);
        stage_await(slot_is_closed, slot);
        stage_do(slot->number, slot_drop, slot);
        slot_begin(slot, NULL);
}

static void step_attach(Slot *slot) {
        ZkSessionId session = zk_session_id(slot->zk);

        stage_do(slot->number, slot_abandon, slot);
        stage_await(slot_is_closed, slot);
        stage_do(slot->number, slot_drop, slot);
        slot_begin(slot, &session);
}

/* The others change what its watches are about. These it hears of in no particular order. */
static void step_cut(Slot *slot) {
        unsigned n = 1 + draw(4);

        script.cut = true;
        stage_cut();
        stage_await(slot_is_suspended, slot);
        for (unsigned i = 0; i < n; i++) {
                Slot *other = &script.slots[1 + draw(SCRIPT_SLOTS - 1)];

                stage_do(other->number, slot_batch, other);
                script_settle(slot->number);
        }
        stage_mend();
        stage_await(slot_is_connected, slot);
        script.cut = false;
        stage_do(slot->number, slot_mark, slot);
        stage_await(nobody_waits, NULL);
        qsort(slot->lines->pdata, slot->lines->len, sizeof(void *), compare_lines);
        slot_print(slot);
}

static void slot_make_ephemeral(void *userdata) {
        Slot *slot = userdata;
        Asking *asking = asking_new(slot, g_strdup("create /expires"));

        slot_asked(asking, zk_create(slot->zk, "/expires", NULL, ZK_CREATE_EPHEMERAL, slot_on_reply,
                                     asking, NULL));
}

/* How often is asked is not printed. */
static void slot_on_look(const ZkReply *reply, void *userdata) {
        Slot *slot = userdata;

        slot->waiting--;
        script.expired = reply->code == ZK_NO_NODE;
}

static void slot_look(void *userdata) {
        Slot *slot = userdata;

        slot->waiting++;
        (void)zk_exists(slot->zk, "/expires", slot_on_look, slot, NULL, NULL, NULL, NULL);
}

static bool slot_is_expired(void *userdata) {
        return ((const Slot *)userdata)->state == ZK_STATE_EXPIRED;
}

/* It is cut off until its session is over, and hears of that when it is back. What tells the others
 * that it is over stands where nobody may be kept from creating. */
static void step_expire(Slot *slot) {
        slot->timeout = SHORT_TIMEOUT;
        step_renew(slot);
        slot->timeout = TIMEOUT;
        stage_do(slot->number, slot_batch, slot);
        stage_do(slot->number, slot_make_ephemeral, slot);
        script_settle(SCRIPT_SLOTS);
        script.cut = true;
        stage_cut();
        stage_await(slot_is_suspended, slot);
        for (script.expired = false; !script.expired;) {
                stage_do(1, slot_look, &script.slots[1]);
                stage_await(nobody_waits, NULL);
        }
        script_settle(slot->number);
        stage_mend();
        stage_await(slot_is_expired, slot);
        script.cut = false;
        stage_do(slot->number, slot_batch, slot);
        stage_do(slot->number, slot_drop, slot);
        slot_begin(slot, NULL);
}

static void slot_forget_some(void *userdata) {
        Slot *slot = userdata;

        if (slot->watches->len > 0)
                g_ptr_array_remove_index(slot->watches, draw(slot->watches->len));
}

/* `last`: of a third of the steps. */
static void script_step(bool last) {
        Slot *slot = &script.slots[draw(SCRIPT_SLOTS)];
        unsigned what = draw(100);

        if (last)
                step_expire(&script.slots[0]);
        if (what < 2)
                step_renew(slot);
        else if (what < 4)
                step_attach(slot);
        else if (what < 8)
                step_cut(&script.slots[0]);
        else if (what < 11)
                stage_do(slot->number, slot_forget_some, slot);
        else
                stage_do(slot->number, slot_batch, slot);
        script_settle(SCRIPT_SLOTS);
        script.unordered = false;
}

static void slot_make_root(void *userdata) {
        Slot *slot = userdata;
        Asking *asking = asking_new(slot, g_strdup("create /t"));

        slot_asked(asking, zk_create(slot->zk, "/t", NULL, 0, slot_on_reply, asking, NULL));
}

void script_play(uint32_t seed, unsigned steps) {
        script.random = g_rand_new_with_seed(seed);
        script.owners = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++) {
                Slot *slot = &script.slots[i];

                slot->number = i;
                slot->timeout = TIMEOUT;
                slot->lines = g_ptr_array_new_with_free_func(g_free);
                slot->watches = g_ptr_array_new_with_free_func(watching_free);
                slot_begin(slot, NULL);
        }
        stage_do(0, slot_make_root, &script.slots[0]);
        script_settle(SCRIPT_SLOTS);
        for (unsigned i = 0; i < steps; i++)
                script_step((i + 1) % (steps / EXPIRIES) == 0);
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++) {
                Slot *slot = &script.slots[i];

                stage_do(i, slot_close, slot);
                stage_await(slot_is_closed, slot);
                stage_do(i, slot_drop, slot);
                g_ptr_array_unref(slot->lines);
                g_ptr_array_unref(slot->watches);
        }
        for (size_t i = 0; i < LEARNED; i++)
                g_free(script.learned[i]);
        g_hash_table_unref(script.owners);
        g_rand_free(script.random);
}
