/* See waited-for.h. */
#include "waited-for.h"

#include <string.h>

#include "bid.h"
#include "lock.h"
#include "paths.h"
#include "resource.h"

struct WaitedFor {
        Node *node; /* weak */
        char *job;
        WaitedForFunc func;
        void *userdata;
        Waiters *look;
        int64_t tick;
        LockSet *stand_in;
};

WaitedFor *waited_for_new(Node *node, const char *job, WaitedForFunc func, void *userdata) {
        WaitedFor *waited = g_new0(WaitedFor, 1);

        waited->node = node;
        waited->job = g_strdup(job);
        waited->func = func;
        waited->userdata = userdata;
        return waited;
}

WaitedFor *waited_for_free(WaitedFor *waited) {
        if (!waited)
                return NULL;
        waited_for_stop(waited);
        waited_for_stand_down(waited);
        g_free(waited->job);
        g_free(waited);
        return NULL;
}

int64_t waited_for_tick(const WaitedFor *waited) {
        return waited->tick;
}

static bool waited_for_is_possible(const JobSpec *spec, int64_t tick) {
        return spec->lock_wait_set && bid_needs_locks(spec) &&
               clock_realtime() < bid_wait_ends(spec, tick);
}

/* Only what would be recorded as missed: what overlaps is so whoever waits. */
bool waited_for_matters(const JobSpec *spec, const Decision *decision) {
        for (size_t i = 0; i < decision->n_skips; i++)
                if (g_str_has_prefix(decision->skips[i].why, "missed") &&
                    waited_for_is_possible(spec, decision->skips[i].to))
                        return true;
        return false;
}

static bool waited_for_would_skip(const Decision *decision, int64_t tick) {
        for (size_t i = 0; i < decision->n_skips; i++)
                if (decision->skips[i].from <= tick && tick <= decision->skips[i].to)
                        return true;
        return false;
}

/* What the process before us waited for we wait for again; what others wait for is theirs. */
WaitedForVerdict waited_for_judge(WaitedFor *waited, const JobSpec *spec, const GPtrArray *found,
                                  const Decision *decision) {
        bool others = false;

        for (guint i = 0; i < found->len; i++) {
                const Waiter *waiter = found->pdata[i];
                if (strcmp(waiter->job, waited->job) != 0 ||
                    !waited_for_would_skip(decision, waiter->tick) ||
                    !waited_for_is_possible(spec, waiter->tick))
                        continue;
                if (waiter->ours)
                        waited->tick = waiter->tick;
                else
                        others = true;
        }
        if (waited_for_would_skip(decision, waited->tick))
                return WAITED_FOR_BY_US;
        return others ? WAITED_FOR_BY_OTHERS : WAITED_FOR_BY_NOBODY;
}

/* ---- the contender that stands in ---- */

bool waited_for_is_standing_in(const WaitedFor *waited) {
        return waited->stand_in;
}

void waited_for_stand_down(WaitedFor *waited) {
        waited->stand_in = lock_set_free(waited->stand_in);
}

void waited_for_check(WaitedFor *waited, const Ledger *ledger) {
        if (ledger_is_decided(ledger, waited->tick))
                waited_for_stand_down(waited);
}

void waited_for_reset(WaitedFor *waited) {
        waited_for_stand_down(waited);
        waited->tick = 0;
}

/* Whether it waits or holds is all one. */
static void waited_for_on_stand_in(LockSet *set, LockEvent event, void *userdata) {
        if (event == LOCK_EVENT_TIMEOUT || event == LOCK_EVENT_LOST || event == LOCK_EVENT_FAILED)
                waited_for_stand_down(userdata);
}

void waited_for_stand_in(WaitedFor *waited, const JobSpec *spec, int64_t tick) {
        const DaemonConfig *config = waited->node->config;
        g_autofree char *parent = path_locks(config->root), *own = resource_of_job(waited->job),
                        *payload = waiter_encode(config->node_name, waited->job, tick);
        const LockRequest request = {.resource = own,
                                     .mode = spec->lock == JOB_LOCK_EXCLUSIVE ? LOCK_EXCLUSIVE
                                                                              : LOCK_SHARED};
        const LockOptions options = {
            .parent = parent, .payload = payload, .wait = USEC_INFINITY, .persistent = true};

        if (waited->stand_in && waited->tick == tick)
                return;
        waited_for_stand_down(waited);
        waited->tick = tick;
        if (waited_for_is_possible(spec, tick))
                (void)lock_set_acquire(waited->node->session, &request, 1, &options,
                                       waited_for_on_stand_in, waited, &waited->stand_in);
}

/* ---- looking ---- */

static void waited_for_on_found(int error, const GPtrArray *found, void *userdata) {
        WaitedFor *waited = userdata;
        Waiters *look = g_steal_pointer(&waited->look);

        waited->func(error, found, waited->userdata);
        waiters_free(look);
}

int waited_for_look(WaitedFor *waited, const JobSpec *spec) {
        g_autoptr(GPtrArray) specs = g_ptr_array_new();

        g_ptr_array_add(specs, (gpointer)spec);
        waited_for_stop(waited);
        return waiters_look(waited->node, specs, waited_for_on_found, waited, &waited->look);
}

void waited_for_stop(WaitedFor *waited) {
        waited->look = waiters_free(waited->look);
}
