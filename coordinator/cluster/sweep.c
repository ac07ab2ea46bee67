/* See sweep.h. */
#include "sweep.h"

#include <errno.h>
#include <glib.h>

#include "timer.h"

typedef struct SweepItem {
        void *item;
        unsigned what;
} SweepItem;

struct Sweep {
        sd_event *event;
        sd_event_source *turn; /* while something waits */
        GQueue queue;          /* SweepItem, the longest waiting first */
        GHashTable *waiting;   /* item → its link in the queue */
        unsigned longest_turn;
        SweepFunc func;
        void *userdata;
};

static void sweep_take_first(Sweep *sweep) {
        SweepItem *first = g_queue_pop_head(&sweep->queue);
        const SweepItem taken = *first;

        g_hash_table_remove(sweep->waiting, taken.item);
        g_free(first);
        sweep->func(taken.item, taken.what, sweep->userdata);
}

static void sweep_on_turn(void *userdata);

static void sweep_arm(Sweep *sweep) {
        if (!sweep->turn && sweep->queue.length > 0 &&
            timer_next_turn(sweep->event, &sweep->turn, sweep_on_turn, sweep) < 0)
                (void)sd_event_exit(sweep->event, -ENOMEM);
}

static void sweep_on_turn(void *userdata) {
        Sweep *sweep = userdata;
        usec_t until = usec_add(clock_monotonic(), SWEEP_TURN_TIME);
        unsigned taken = 0;

        /* What its own work adds waits for the next turn like everything else. */
        for (guint here = sweep->queue.length;
             taken < MIN(here, SWEEP_TURN_ITEMS) && sweep->queue.length > 0; taken++) {
                if (taken > 0 && clock_monotonic() >= until)
                        break;
                sweep_take_first(sweep);
        }
        sweep->longest_turn = MAX(sweep->longest_turn, taken);
        sweep_arm(sweep);
}

Sweep *sweep_new(sd_event *event, SweepFunc func, void *userdata) {
        Sweep *sweep = g_new0(Sweep, 1);

        sweep->event = sd_event_ref(event);
        g_queue_init(&sweep->queue);
        sweep->waiting = g_hash_table_new(NULL, NULL);
        sweep->func = func;
        sweep->userdata = userdata;
        return sweep;
}

Sweep *sweep_free(Sweep *sweep) {
        if (!sweep)
                return NULL;
        sd_event_source_disable_unref(sweep->turn);
        sd_event_unref(sweep->event);
        g_queue_clear_full(&sweep->queue, g_free);
        g_hash_table_unref(sweep->waiting);
        g_free(sweep);
        return NULL;
}

void sweep_add(Sweep *sweep, void *item, unsigned what) {
        GList *link = g_hash_table_lookup(sweep->waiting, item);
        SweepItem *added;

        if (link) {
                ((SweepItem *)link->data)->what |= what;
                return;
        }
        added = g_new0(SweepItem, 1);
        *added = (SweepItem){item, what};
        g_queue_push_tail(&sweep->queue, added);
        g_hash_table_insert(sweep->waiting, item, sweep->queue.tail);
        sweep_arm(sweep);
}

void sweep_remove(Sweep *sweep, const void *item) {
        GList *link = sweep ? g_hash_table_lookup(sweep->waiting, item) : NULL;

        if (!link)
                return;
        g_hash_table_remove(sweep->waiting, item);
        g_free(link->data);
        g_queue_delete_link(&sweep->queue, link);
}

void sweep_clear(Sweep *sweep) {
        g_queue_clear_full(&sweep->queue, g_free);
        g_hash_table_remove_all(sweep->waiting);
}

void sweep_finish(Sweep *sweep) {
        while (sweep && sweep->queue.length > 0)
                sweep_take_first(sweep);
}

unsigned sweep_length(const Sweep *sweep) {
        return sweep->queue.length;
}

unsigned sweep_longest_turn(const Sweep *sweep) {
        return sweep->longest_turn;
}
