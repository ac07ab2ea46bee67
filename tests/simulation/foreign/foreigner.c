/* See foreigner.h. What is to be done next follows from what it wants and what it has; it is looked
 * at after everything that happens (foreigner_go()). */
#include "foreigner.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "handle.h"
#include "paths.h"
#include "process.h"
#include "trace.h"
#include "zk.h"

#define ROOT "/jobkeeper"
#define SESSION_TIMEOUT (30 * USEC_PER_SEC)
#define RETRY_DELAY USEC_PER_SEC
#define NUMBER_LENGTH 10 /* at the end of a node's name */

struct Foreigner {
        const ForeignSetting *setting;
        char *label;
        Machine *machine;
        Process *process;
        sd_event *event;
        WorldChance *chance;
        Zk *zk;
        ForeignPlan plan;
        bool wants;    /* the lock */
        bool in_doubt; /* whether there is a node of ours */
        bool stops;
        char *directory, *identity; /* of the lock; of our node there, how its name begins */
        char *node;                 /* its name; NULL: there is none, or it is in doubt */
        ZkCall *call;
        ZkWatch *watch; /* on who stands before us */
        bool waits;     /* for it */
        ProcessTask *timer, *retry;
        HistoryHold *hold;
};

static void foreigner_go(Foreigner *foreigner);
static void foreigner_connect(void *userdata);

static void foreigner_say(const Foreigner *foreigner, const char *what) {
        trace_write(foreigner->label, "%s %s", foreigner->plan.lock.resource, what);
}

/* ---- what it does under the lock ---- */

static void foreigner_ends(Foreigner *foreigner) {
        foreigner->timer = process_task_free(foreigner->timer);
        foreigner->wants = foreigner->waits = false;
        foreigner->watch = zk_watch_free(foreigner->watch);
        if (!foreigner->hold)
                return;
        foreigner_say(foreigner, "is let go of");
        history_hold_ends(foreigner->setting->history, foreigner->hold);
        foreigner->hold = NULL;
}

static void foreigner_has_done(void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->timer = NULL;
        foreigner_ends(foreigner);
        foreigner_go(foreigner);
}

static void foreigner_begins(Foreigner *foreigner) {
        static const char *const names[] = {"Curator", "Curator's mutex", "kazoo"};

        foreigner_say(foreigner, "is held");
        foreigner->hold = history_hold_begins(foreigner->setting->history, foreigner->label,
                                              names[foreigner->plan.naming], &foreigner->plan.lock);
        checker_hold_begins(foreigner->setting->checker, foreigner->hold);
        process_task_free(foreigner->timer);
        foreigner->timer = process_after(foreigner->process, foreigner->plan.duration,
                                         foreigner_has_done, foreigner);
}

/* ---- the queue ---- */

static long foreign_number(const char *name) {
        size_t length = strlen(name);

        return length > NUMBER_LENGTH ? strtol(name + length - NUMBER_LENGTH, NULL, 10) : 0;
}

static bool foreign_is_writer(const char *name) {
        return strstr(name, "__WRIT__") || strstr(name, "__lock__");
}

/* Return: the nearest before us that we wait for; NULL: we have it. */
static const char *foreigner_predecessor(const Foreigner *foreigner, const ZkReply *reply) {
        const char *nearest = NULL;
        long own = foreign_number(foreigner->node);

        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i];

                if (foreign_number(name) < own &&
                    (foreigner->plan.lock.mode == PLAN_EXCLUSIVE || foreign_is_writer(name)) &&
                    (!nearest || foreign_number(name) > foreign_number(nearest)))
                        nearest = name;
        }
        return nearest;
}

static void foreigner_take_node(Foreigner *foreigner, const ZkReply *reply) {
        g_clear_pointer(&foreigner->node, g_free);
        foreigner->in_doubt = false;
        for (size_t i = 0; i < reply->n_children; i++)
                if (g_str_has_prefix(reply->children[i], foreigner->identity))
                        foreigner->node = g_strdup(reply->children[i]);
}

static void foreigner_on_retry(void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->retry = NULL;
        foreigner_go(foreigner);
}

static void foreigner_retry(Foreigner *foreigner) {
        if (!foreigner->retry)
                foreigner->retry =
                    process_after(foreigner->process, RETRY_DELAY, foreigner_on_retry, foreigner);
}

static void foreigner_on_deleted(ZkWatchEvent event, const char *path, void *userdata) {
        Foreigner *foreigner = userdata;

        (void)path;
        if (event != ZK_WATCH_DELETED && event != ZK_WATCH_CHANGED)
                return;
        foreigner->watch = zk_watch_free(foreigner->watch);
        foreigner->waits = false;
        foreigner_go(foreigner);
}

static void foreigner_on_watched(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->call = NULL;
        if (reply->code != ZK_OK) {
                foreigner->watch = zk_watch_free(foreigner->watch);
                foreigner->waits = false;
        }
        foreigner_go(foreigner);
}

static void foreigner_wait_for(Foreigner *foreigner, const char *name) {
        g_autofree char *path = g_build_path("/", foreigner->directory, name, NULL);

        foreigner->watch = zk_watch_free(foreigner->watch);
        foreigner->waits =
            zk_get(foreigner->zk, path, foreigner_on_watched, foreigner, &foreigner->call,
                   foreigner_on_deleted, foreigner, &foreigner->watch) >= 0;
}

static void foreigner_on_listed(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;
        const char *predecessor;

        foreigner->call = NULL;
        if (reply->code == ZK_NO_NODE) {
                g_clear_pointer(&foreigner->node, g_free);
                foreigner->in_doubt = false;
        } else if (reply->code == ZK_OK) {
                foreigner_take_node(foreigner, reply);
                predecessor = foreigner->node ? foreigner_predecessor(foreigner, reply) : NULL;
                if (foreigner->wants && foreigner->node && predecessor)
                        foreigner_wait_for(foreigner, predecessor);
                else if (foreigner->wants && foreigner->node && !foreigner->hold)
                        foreigner_begins(foreigner);
        } else {
                foreigner_retry(foreigner);
                return;
        }
        foreigner_go(foreigner);
}

/* ---- the node ---- */

static void foreigner_on_parent(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS)
                foreigner_go(foreigner);
        else
                foreigner_retry(foreigner); /* nobody has made the tree yet */
}

static void foreigner_on_created(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->call = NULL;
        if (reply->code == ZK_NO_NODE) {
                (void)zk_create(foreigner->zk, foreigner->directory, NULL, ZK_CREATE_CONTAINER,
                                foreigner_on_parent, foreigner, &foreigner->call);
                return;
        }
        if (reply->code == ZK_OK)
                foreigner->node = g_path_get_basename(reply->path);
        else
                foreigner->in_doubt = true;
        foreigner_go(foreigner);
}

/* Another identity each time, so that what is found is of this time. */
static void foreigner_name_node(Foreigner *foreigner) {
        static const char *const forms[][2] = {{"_c_%s-__READ__", "_c_%s-__WRIT__"},
                                               {NULL, "_c_%s-lock-"},
                                               {"%s__rlock__", "%s__lock__"}};
        uint64_t high = world_draw(foreigner->chance), low = world_draw(foreigner->chance);
        g_autofree char *hex = g_strdup_printf(
                            "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", high, low),
                        *uuid = g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%s", hex, hex + 8, hex + 12,
                                                hex + 16, hex + 20);
        const char *form =
            forms[foreigner->plan.naming][foreigner->plan.lock.mode == PLAN_EXCLUSIVE];
        g_auto(GStrv) parts = g_strsplit(form, "%s", 2);

        g_free(foreigner->identity);
        foreigner->identity = g_strconcat(
            parts[0], foreigner->plan.naming == FOREIGN_KAZOO ? hex : uuid, parts[1], NULL);
}

static void foreigner_create(Foreigner *foreigner) {
        g_autofree char *path = NULL;

        foreigner_name_node(foreigner);
        path = g_build_path("/", foreigner->directory, foreigner->identity, NULL);
        (void)zk_create(foreigner->zk, path, foreigner->label,
                        ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL, foreigner_on_created, foreigner,
                        &foreigner->call);
}

static void foreigner_on_node_gone(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                g_clear_pointer(&foreigner->node, g_free);
        foreigner_go(foreigner);
}

static void foreigner_delete(Foreigner *foreigner) {
        g_autofree char *path = g_build_path("/", foreigner->directory, foreigner->node, NULL);

        (void)zk_delete(foreigner->zk, path, -1, foreigner_on_node_gone, foreigner,
                        &foreigner->call);
}

/* ---- what is next ---- */

static void foreigner_list(Foreigner *foreigner) {
        (void)zk_get_children(foreigner->zk, foreigner->directory, foreigner_on_listed, foreigner,
                              &foreigner->call, NULL, NULL, NULL);
}

static void foreigner_on_certain(const ZkReply *reply, void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->call = NULL;
        if (reply->code == ZK_OK)
                foreigner_list(foreigner);
        else
                foreigner_retry(foreigner);
}

/* What was asked for on an earlier connection is done by then, or never will be: with a write that
 * changes nothing before it, a list shows that. (Curator lists without one, and where that comes
 * too early its node stays until its session ends.) */
static void foreigner_resolve(Foreigner *foreigner) {
        (void)zk_heartbeat(foreigner->zk, true, foreigner_on_certain, foreigner, &foreigner->call);
}

/* Return: whether it stands in the queue, and does not know what is before it. */
static bool foreigner_looks(const Foreigner *foreigner) {
        return foreigner->wants && foreigner->node && !foreigner->hold && !foreigner->waits;
}

static void foreigner_go(Foreigner *foreigner) {
        if (!foreigner->zk || foreigner->call || foreigner->retry ||
            zk_state(foreigner->zk) != ZK_STATE_CONNECTED)
                return;
        if (foreigner->in_doubt)
                foreigner_resolve(foreigner);
        else if (foreigner_looks(foreigner))
                foreigner_list(foreigner);
        else if (!foreigner->wants && foreigner->node)
                foreigner_delete(foreigner);
        else if (foreigner->wants && !foreigner->node)
                foreigner_create(foreigner);
        else if (!foreigner->wants && foreigner->stops)
                zk_close(foreigner->zk);
}

/* ---- the session ---- */

static void foreigner_drop_session(void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->retry = NULL;
        foreigner->zk = zk_free(foreigner->zk);
        if (!foreigner->stops)
                foreigner_connect(foreigner);
}

/* With it goes all that was in it. */
static void foreigner_has_no_session(Foreigner *foreigner) {
        foreigner_ends(foreigner);
        foreigner->call = zk_call_free(foreigner->call);
        g_clear_pointer(&foreigner->node, g_free);
        foreigner->in_doubt = false;
        process_task_free(foreigner->retry);
        foreigner->retry =
            process_after(foreigner->process, RETRY_DELAY, foreigner_drop_session, foreigner);
}

static void foreigner_on_state(Zk *zk, ZkState state, void *userdata) {
        Foreigner *foreigner = userdata;

        (void)zk;
        switch (state) {
        case ZK_STATE_CONNECTED:
                foreigner_go(foreigner);
                break;
        case ZK_STATE_SUSPENDED:
                foreigner_ends(foreigner);
                break;
        case ZK_STATE_EXPIRED:
        case ZK_STATE_AUTH_FAILED:
        case ZK_STATE_FAILED:
        case ZK_STATE_CLOSED:
                foreigner_has_no_session(foreigner);
                break;
        case ZK_STATE_CONNECTING:
                break;
        }
}

static void foreigner_connect(void *userdata) {
        Foreigner *foreigner = userdata;
        const ZkOptions options = {
            .servers = ensemble_addresses(foreigner->setting->ensemble),
            .session_timeout = SESSION_TIMEOUT,
            .state = foreigner_on_state,
            .userdata = foreigner,
        };

        g_assert_cmpint(zk_connect(foreigner->event, &options, &foreigner->zk), >=, 0);
}

/* ---- from outside ---- */

static void foreigner_open(void *userdata) {
        Foreigner *foreigner = userdata;

        g_assert_cmpint(sd_event_new(&foreigner->event), >=, 0);
        foreigner_connect(foreigner);
}

Foreigner *foreigner_new(const ForeignSetting *setting, const char *name, const char *directory) {
        g_autofree char *stream = g_strconcat("foreigner ", name, NULL);
        Foreigner *foreigner = g_new0(Foreigner, 1);

        foreigner->setting = setting;
        foreigner->label = g_strdup(name);
        foreigner->machine = machine_new(setting->world, name, directory);
        foreigner->process = process_new(foreigner->machine);
        foreigner->chance = world_chance_new(setting->world, stream);
        process_do(foreigner->process, foreigner_open, foreigner);
        return foreigner;
}

static void foreigner_close(void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner_ends(foreigner);
        foreigner->retry = process_task_free(foreigner->retry);
        foreigner->call = zk_call_free(foreigner->call);
        foreigner->zk = zk_free(foreigner->zk);
        foreigner->event = sd_event_unref(foreigner->event);
        handles_finish(foreigner->process);
}

Foreigner *foreigner_free(Foreigner *foreigner) {
        if (!foreigner)
                return NULL;
        process_end(foreigner->process);
        process_do(foreigner->process, foreigner_close, foreigner);
        process_free(foreigner->process);
        machine_free(foreigner->machine);
        world_chance_free(foreigner->chance);
        g_free(foreigner->plan.lock.resource);
        g_free(foreigner->label);
        g_free(foreigner->directory);
        g_free(foreigner->identity);
        g_free(foreigner->node);
        g_free(foreigner);
        return NULL;
}

const char *foreigner_name(const Foreigner *foreigner) {
        return foreigner->label;
}

static void foreigner_do_go(void *userdata) {
        foreigner_go(userdata);
}

void foreigner_ask(Foreigner *foreigner, const ForeignPlan *plan) {
        g_autofree char *parent = path_locks(ROOT);

        if (foreigner->wants || foreigner->node || foreigner->in_doubt || foreigner->call ||
            foreigner->stops)
                return;
        g_free(foreigner->plan.lock.resource);
        g_free(foreigner->directory);
        foreigner->plan = *plan;
        foreigner->plan.lock.resource = g_strdup(plan->lock.resource);
        foreigner->directory = g_build_path("/", parent, plan->lock.resource, NULL);
        foreigner->wants = true;
        foreigner_say(foreigner, "is asked for");
        foreigner->timer =
            process_after(foreigner->process, plan->wait, foreigner_has_done, foreigner);
        process_do(foreigner->process, foreigner_do_go, foreigner);
}

static void foreigner_do_stop(void *userdata) {
        Foreigner *foreigner = userdata;

        foreigner->stops = true;
        foreigner_ends(foreigner);
        foreigner_go(foreigner);
}

void foreigner_stop(Foreigner *foreigner) {
        process_do(foreigner->process, foreigner_do_stop, foreigner);
}
