/* See waiter-looks.h. */
#include "waiter-looks.h"

#include <errno.h>

#include "timer.h"

/* Jobs that name the same resources. */
typedef struct LookGroup {
        WaiterLooks *looks; /* weak: owns us, as long as anybody asks */
        char *resources;
        GQueue next, now; /* WaiterLook: for the next look, for the one under way */
        Waiters *waiters; /* that one */
        sd_event_source *turn;
} LookGroup;

struct WaiterLooks {
        Node *node;         /* weak */
        GHashTable *groups; /* resources → LookGroup */
};

struct WaiterLook {
        LookGroup *group; /* weak */
        GQueue *queue;    /* that it is in; NULL: told */
        GList link;
        JobSpec *spec;
        WaitersFunc func;
        void *userdata;
};

static void look_group_free(void *data) {
        LookGroup *group = data;

        g_assert(group->next.length + group->now.length == 0);
        waiters_free(group->waiters);
        sd_event_source_disable_unref(group->turn);
        g_free(group->resources);
        g_free(group);
}

WaiterLooks *waiter_looks_new(Node *node) {
        WaiterLooks *looks = g_new0(WaiterLooks, 1);

        looks->node = node;
        looks->groups = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, look_group_free);
        return looks;
}

WaiterLooks *waiter_looks_free(WaiterLooks *looks) {
        if (!looks)
                return NULL;
        g_hash_table_unref(looks->groups);
        g_free(looks);
        return NULL;
}

static void look_move(WaiterLook *look, GQueue *queue) {
        if (look->queue)
                g_queue_unlink(look->queue, &look->link);
        look->queue = queue;
        if (queue)
                g_queue_push_tail_link(queue, &look->link);
}

WaiterLook *waiter_look_free(WaiterLook *look) {
        if (!look)
                return NULL;
        look_move(look, NULL);
        job_spec_free(look->spec);
        g_free(look);
        return NULL;
}

/* Those who are told may ask again, and free what others asked. */
static void look_group_tell(LookGroup *group, int error, const GPtrArray *found) {
        while (group->now.length > 0) {
                WaiterLook *look = group->now.head->data;

                look_move(look, NULL);
                look->func(error, found, look->userdata);
        }
}

static void look_group_go_on(LookGroup *group);

static void look_group_on_waiters(int error, const GPtrArray *found, void *userdata) {
        LookGroup *group = userdata;

        look_group_tell(group, error, found);
        group->waiters = waiters_free(group->waiters);
        look_group_go_on(group);
}

static void look_group_on_turn(void *userdata) {
        LookGroup *group = userdata;
        g_autoptr(GPtrArray) specs = g_ptr_array_new();
        int r;

        while (group->next.length > 0 && group->now.length < WAITER_LOOKS_TOGETHER) {
                WaiterLook *look = group->next.head->data;

                look_move(look, &group->now);
                g_ptr_array_add(specs, look->spec);
        }
        r = specs->len == 0 ? -ENOENT
                            : waiters_look(group->looks->node, specs, look_group_on_waiters, group,
                                           &group->waiters);
        if (r >= 0)
                return;
        look_group_tell(group, r, NULL);
        look_group_go_on(group);
}

/* It may be gone after this. */
static void look_group_go_on(LookGroup *group) {
        if (group->waiters || group->turn)
                return;
        if (group->next.length > 0)
                (void)timer_next_turn(group->looks->node->event, &group->turn, look_group_on_turn,
                                      group);
        else
                g_hash_table_remove(group->looks->groups, group->resources);
}

/* A job that names none shares no queue with others. */
static char *resources_of(const JobSpec *spec) {
        GString *text = g_string_new(spec->resources->len == 0 ? spec->name : "");

        for (guint i = 0; i < spec->resources->len; i++)
                g_string_append_printf(text, "%s\n",
                                       ((const JobResource *)spec->resources->pdata[i])->name);
        return g_string_free(text, FALSE);
}

static LookGroup *looks_find_group(WaiterLooks *looks, const JobSpec *spec) {
        g_autofree char *resources = resources_of(spec);
        LookGroup *group = g_hash_table_lookup(looks->groups, resources);

        if (group)
                return group;
        group = g_new0(LookGroup, 1);
        group->looks = looks;
        group->resources = g_steal_pointer(&resources);
        g_hash_table_insert(looks->groups, group->resources, group);
        return group;
}

int waiter_looks_ask(WaiterLooks *looks, const JobSpec *spec, WaitersFunc func, void *userdata,
                     WaiterLook **ret_look) {
        WaiterLook *look;

        if (!session_zk(looks->node->session))
                return -ENOTCONN;
        look = g_new0(WaiterLook, 1);
        look->group = looks_find_group(looks, spec);
        look->link.data = look;
        look->spec = job_spec_ref(spec);
        look->func = func;
        look->userdata = userdata;
        look_move(look, &look->group->next);
        look_group_go_on(look->group);
        *ret_look = look;
        return 0;
}
