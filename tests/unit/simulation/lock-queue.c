/* See fleet.h. A fair queue; a contender goes with its session. */
#include "simulation/fleet.h"

struct LockSet {
        Machine *machine;
        LockSetFunc func;
        void *userdata;
        const char *paths[2];
        char *path;           /* NULL: not made yet */
        usec_t asked, made;   /* USEC_INFINITY: it is */
        usec_t held_at, ends; /* USEC_INFINITY: not known yet; never */
        usec_t created;
        bool held;
};

typedef struct Deletion {
        usec_t at;
        char *path;
} Deletion;

static void deletion_free(gpointer data) {
        Deletion *deletion = data;

        g_free(deletion->path);
        g_free(deletion);
}

int lock_set_acquire(Session *session, const LockRequest *requests, size_t n,
                     const LockOptions *options, LockSetFunc func, void *userdata,
                     LockSet **ret_set) {
        Machine *machine = (void *)session;
        LockSet *set = g_new0(LockSet, 1);

        cr_assert_eq(n, 1);
        *set = (LockSet){.machine = machine,
                         .func = func,
                         .userdata = userdata,
                         .asked = world->now,
                         .made = sim_soon(),
                         .held_at = USEC_INFINITY,
                         .ends = usec_add(world->now, options->wait)};
        g_ptr_array_add(machine->sets, set);
        *ret_set = set;
        return 0;
}

static void lock_set_delete(const LockSet *set) {
        Deletion *deletion = g_new0(Deletion, 1);

        *deletion = (Deletion){.at = sim_soon(), .path = g_strdup(set->path)};
        g_ptr_array_add(world->deletions, deletion);
}

LockSet *lock_set_free(LockSet *set) {
        if (!set)
                return NULL;
        if (set->path && set->machine->up)
                lock_set_delete(set);
        g_ptr_array_remove_fast(set->machine->sets, set);
        g_free(set->path);
        g_free(set);
        return NULL;
}

const char *const *lock_set_paths(const LockSet *set) {
        return set->paths;
}

bool lock_set_clock_sample(const LockSet *set, usec_t *ret_server, usec_t *ret_sent,
                           usec_t *ret_received) {
        *ret_server = set->created;
        *ret_sent = set->asked + (usec_t)set->machine->offset;
        *ret_received = set->created + (usec_t)set->machine->offset;
        return true;
}

const char *lock_set_waiting_for(const LockSet *set, size_t *ret_before) {
        return "";
}

const char *lock_set_fault(const LockSet *set) {
        return "";
}

int lock_change_slots(Session *session, const char *directory, unsigned slots, ZkReplyFunc func,
                      void *userdata) {
        return 0;
}

/* The first in the queue will hear of it. */
void sim_grant_locks(void) {
        const char *first = NULL;

        while ((first = g_queue_peek_head(&world->contenders)) && !server_node(first))
                g_free(g_queue_pop_head(&world->contenders));
        for (unsigned i = 0; first && i < world->n_nodes; i++)
                for (guint j = 0; world->nodes[i].up && j < world->nodes[i].sets->len; j++) {
                        LockSet *set = world->nodes[i].sets->pdata[j];

                        if (g_strcmp0(set->path, first) == 0 && !set->held &&
                            set->held_at == USEC_INFINITY)
                                set->held_at = sim_soon();
                }
}

usec_t lock_set_next(const LockSet *set) {
        return set->held ? USEC_INFINITY : MIN(set->made, MIN(set->held_at, set->ends));
}

void lock_set_step(LockSet *set) {
        LockEvent event = LOCK_EVENT_HELD;

        if (set->made <= MIN(set->held_at, set->ends)) {
                set->path = g_strdup_printf(OWN_LOCK "/c-%010u", world->n_steps);
                set->paths[0] = set->path;
                set->made = USEC_INFINITY;
                set->created = world->now;
                server_create(set->path, "", set->machine->session);
                g_queue_push_tail(&world->contenders, g_strdup(set->path));
                return;
        }
        if (set->ends < set->held_at)
                event = LOCK_EVENT_TIMEOUT;
        set->held = event == LOCK_EVENT_HELD;
        set->ends = set->held_at = set->made = USEC_INFINITY;
        set->func(set, event, set->userdata);
}

const char *lock_set_path(const LockSet *set) {
        return set ? set->path : NULL;
}

static Deletion *first_deletion(void) {
        Deletion *first = NULL;

        for (guint i = 0; i < world->deletions->len; i++) {
                Deletion *deletion = world->deletions->pdata[i];

                if (!first || deletion->at < first->at)
                        first = deletion;
        }
        return first;
}

usec_t sim_next_deletion(void) {
        const Deletion *first = first_deletion();

        return first ? first->at : USEC_INFINITY;
}

void sim_delete(void) {
        Deletion *first = first_deletion();

        if (server_node(first->path))
                server_remove(first->path);
        g_ptr_array_remove_fast(world->deletions, first);
        deletion_free(first);
}
