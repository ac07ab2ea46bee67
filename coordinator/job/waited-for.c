/* See waited-for.h. */
#include "waited-for.h"

#include <string.h>

#include "bid.h"

struct WaitedFor {
        WaiterLooks *looks; /* weak */
        char *job;
        WaitedForFunc func;
        void *userdata;
        WaiterLook *look;
        int64_t tick;
};

WaitedFor *waited_for_new(WaiterLooks *looks, const char *job, WaitedForFunc func, void *userdata) {
        WaitedFor *waited = g_new0(WaitedFor, 1);

        waited->looks = looks;
        waited->job = g_strdup(job);
        waited->func = func;
        waited->userdata = userdata;
        return waited;
}

WaitedFor *waited_for_free(WaitedFor *waited) {
        if (!waited)
                return NULL;
        waited_for_stop(waited);
        g_free(waited->job);
        g_free(waited);
        return NULL;
}

int64_t waited_for_tick(const WaitedFor *waited) {
        return waited->tick;
}

void waited_for_set_tick(WaitedFor *waited, int64_t tick) {
        waited->tick = tick;
}

static bool waited_for_is_possible(const JobSpec *spec, int64_t tick) {
        return clock_realtime() < bid_wait_ends(spec, tick);
}

/* What is not retried is decided by when that was due. */
static int64_t waited_for_due(const JobSpec *spec, const DecisionSkip *skip, int64_t tick) {
        return skip->gives_up ? skip->due : job_spec_start(spec, tick);
}

/* Not what overlaps or is paused: that is so whoever waits. */
bool waited_for_matters(const JobSpec *spec, const Decision *decision) {
        if (!spec->lock_wait_set || !bid_needs_locks(spec))
                return false;
        for (size_t i = 0; i < decision->n_skips; i++)
                if (!decision_is_overlap(decision->skips[i].why) &&
                    decision->skips[i].why.kind != DECISION_KIND_PAUSED &&
                    waited_for_is_possible(
                        spec, waited_for_due(spec, &decision->skips[i], decision->skips[i].to)))
                        return true;
        return false;
}

/* Return: the skip that would take the tick in, or NULL. */
static const DecisionSkip *waited_for_find_skip(const Decision *decision, int64_t tick) {
        for (size_t i = 0; i < decision->n_skips; i++)
                if (decision->skips[i].from <= tick && tick <= decision->skips[i].to)
                        return &decision->skips[i];
        return NULL;
}

/* What the process before us waited for we wait for again; what others wait for is theirs. */
WaitedForVerdict waited_for_judge(WaitedFor *waited, const JobSpec *spec, const GPtrArray *found,
                                  const Decision *decision, bool may_run) {
        bool others = false;

        for (guint i = 0; i < found->len; i++) {
                const Waiter *waiter = found->pdata[i];
                const DecisionSkip *skip = waited_for_find_skip(decision, waiter->tick);

                if (strcmp(waiter->job, waited->job) != 0 || !skip ||
                    !waited_for_is_possible(spec, waited_for_due(spec, skip, waiter->tick)))
                        continue;
                if (waiter->ours)
                        waited->tick = waiter->tick;
                else
                        others = true;
        }
        if (may_run && waited_for_find_skip(decision, waited->tick))
                return WAITED_FOR_BY_US;
        return others ? WAITED_FOR_BY_OTHERS : WAITED_FOR_BY_NOBODY;
}

static void waited_for_on_found(int error, const GPtrArray *found, void *userdata) {
        WaitedFor *waited = userdata;
        WaiterLook *look = g_steal_pointer(&waited->look);

        waited->func(error, found, waited->userdata);
        waiter_look_free(look);
}

int waited_for_look(WaitedFor *waited, const JobSpec *spec) {
        waited_for_stop(waited);
        return waiter_looks_ask(waited->looks, spec, waited_for_on_found, waited, &waited->look);
}

void waited_for_stop(WaitedFor *waited) {
        waited->look = waiter_look_free(waited->look);
}
