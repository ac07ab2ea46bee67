/* See plan-services.h. */
#include "plan-services.h"

#include "plan.h"

/* Of so many jobs one is such a one. */
#define SERVICE_ONE_OF 10
#define DELAY_MOST 12     /* seconds, of the first pause */
#define MAX_DELAY_MOST 40 /* seconds more, of the longest */
/* How long a run lives at most, by what it is: one that ends only when it is stopped, in the time
 * that a cluster is simulated for; one that works for a while; one that cannot run. */
#define ENDLESS (UINT64_C(48) * 60 * USEC_PER_MINUTE)
#define BUSY_MOST (90 * USEC_PER_SEC)
#define VAIN_MOST (2 * USEC_PER_SEC)
#define TIMEOUT_MOST 20 /* seconds, until it has started */

/* What others wait for it does not keep for ever. */
static usec_t plan_service_draw_duration(const PlanJob *job, WorldChance *chance) {
        uint64_t kind = world_draw_between(chance, 0, 2);
        usec_t busy = world_draw_between(chance, USEC_PER_SEC, BUSY_MOST);

        if (kind == 0 && job->locks->len == 1)
                return ENDLESS;
        return kind == 2 ? VAIN_MOST : busy;
}

/* What is said of ticks, or of several runs, is not said of it. */
static void plan_draw_service(PlanJob *job, WorldChance *chance) {
        PlanService service = {.is = true};

        service.delay = (unsigned)world_draw_between(chance, 1, DELAY_MOST);
        service.max_delay = service.delay + (unsigned)world_draw_between(chance, 0, MAX_DELAY_MOST);
        job->service = service;
        job->every = service.delay + 1; /* it costs as much as what is due so often, at most */
        job->delay = job->window = job->deadline = job->timeout = 0;
        job->takeover_after = job->retry_delay = 0;
        job->attempts = job->beside = 1;
        job->catches_up = job->catches_all = job->reruns = job->gives_in = job->forgets = false;
        job->allows = job->replaces = job->queues = false;
        plan_take_own_lock(job, PLAN_EXCLUSIVE, 1);
        job->duration = plan_service_draw_duration(job, chance);
}

void plan_draw_services(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "services");
        guint first = (guint)world_draw_between(chance, 0, SERVICE_ONE_OF - 1);

        for (guint i = first; i < plan->jobs->len; i += SERVICE_ONE_OF) {
                PlanJob *job = plan->jobs->pdata[i];

                if (!job->roll.each)
                        plan_draw_service(job, chance);
        }
        world_chance_free(chance);
}

void plan_draw_readiness(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "readiness");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanService *service = &((PlanJob *)plan->jobs->pdata[i])->service;
                unsigned timeout = (unsigned)world_draw_between(chance, 1, TIMEOUT_MOST);
                bool notifies = world_draw_once_in(chance, 2),
                     endless = world_draw_once_in(chance, 5);

                service->notifies = service->is && notifies;
                service->timeout = service->notifies && !endless ? timeout : 0;
        }
        world_chance_free(chance);
}

void plan_edit_service(PlanService *service) {
        service->delay = service->delay % DELAY_MOST + 1;
        service->max_delay = MAX(service->max_delay, service->delay);
}

void plan_write_service(const PlanService *service, GString *text) {
        g_string_append_printf(text,
                               "    mode: service\n    restart: {delay: %us, max-delay: %us}\n",
                               service->delay, service->max_delay);
        if (service->notifies)
                g_string_append(text, "    ready: notify\n");
        if (service->timeout > 0)
                g_string_append_printf(text, "    timeout: %us\n", service->timeout);
}
