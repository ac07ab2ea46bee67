/* See read-budget.h. What was spent is kept as an instant: when all of it will have been earned
 * again. Whoever finds nothing left stands in a queue, and when it is its turn it may take what
 * there is. */
#include "read-budget.h"

#include <glib.h>

#include "timer.h"

/* Between two turns, at least: a few reads are given at a time. */
#define BUDGET_TURN (10 * USEC_PER_MSEC)

struct ReadBudget {
        sd_event *event; /* weak */
        usec_t price;    /* of a read */
        usec_t room;     /* as far ahead may be spent */
        usec_t spent;    /* CLOCK_MONOTONIC: all is earned again */
        GQueue waiting;  /* ReadShare */
        const ReadShare *served;
        sd_event_source *timer;
};

struct ReadShare {
        ReadBudget *budget; /* weak; NULL: without bounds */
        ReadShareFunc func;
        void *userdata;
        bool waits;
        GList link;
};

void read_budget_set(ReadBudget *budget, unsigned per_second, unsigned at_once) {
        budget->price = USEC_PER_SEC / per_second;
        budget->room = budget->price * at_once;
}

ReadBudget *read_budget_new(sd_event *event, unsigned per_second, unsigned at_once) {
        ReadBudget *budget = g_new0(ReadBudget, 1);

        budget->event = event;
        read_budget_set(budget, per_second, at_once);
        return budget;
}

ReadBudget *read_budget_free(ReadBudget *budget) {
        if (!budget)
                return NULL;
        g_assert(budget->waiting.length == 0);
        sd_event_source_disable_unref(budget->timer);
        g_free(budget);
        return NULL;
}

bool read_budget_is_short(const ReadBudget *budget) {
        return budget && budget->waiting.length > 0;
}

/* Return: how long it takes until a read is earned. */
static usec_t budget_owes(const ReadBudget *budget, usec_t now) {
        usec_t with_one = MAX(budget->spent, now) + budget->price;

        return usec_sub(with_one, now + budget->room);
}

static void budget_serve(void *userdata);

static void budget_arm(ReadBudget *budget) {
        usec_t owes = budget_owes(budget, clock_monotonic());

        if (budget->waiting.length > 0 && !budget->timer)
                (void)timer_in(budget->event, &budget->timer, MAX(owes, BUDGET_TURN), budget_serve,
                               budget);
}

/* Those who still want something when it is gone wait again, behind all others. */
static void budget_serve(void *userdata) {
        ReadBudget *budget = userdata;

        while (budget->waiting.length > 0 && budget_owes(budget, clock_monotonic()) == 0) {
                ReadShare *share = g_queue_pop_head_link(&budget->waiting)->data;

                share->waits = false;
                budget->served = share;
                share->func(share->userdata);
                budget->served = NULL;
        }
        budget_arm(budget);
}

static void share_wait(ReadShare *share) {
        if (!share->waits)
                g_queue_push_tail_link(&share->budget->waiting, &share->link);
        share->waits = true;
        budget_arm(share->budget);
}

bool read_share_take(ReadShare *share) {
        ReadBudget *budget = share->budget;
        usec_t now = clock_monotonic();

        if (!budget)
                return true;
        if (budget_owes(budget, now) > 0 ||
            (budget->waiting.length > 0 && budget->served != share)) {
                share_wait(share);
                return false;
        }
        budget->spent = MAX(budget->spent, now) + budget->price;
        return true;
}

ReadShare *read_share_new(ReadBudget *budget, ReadShareFunc func, void *userdata) {
        ReadShare *share = g_new0(ReadShare, 1);

        share->budget = budget;
        share->func = func;
        share->userdata = userdata;
        share->link.data = share;
        return share;
}

ReadShare *read_share_free(ReadShare *share) {
        if (!share)
                return NULL;
        if (share->waits)
                g_queue_unlink(&share->budget->waiting, &share->link);
        g_free(share);
        return NULL;
}
