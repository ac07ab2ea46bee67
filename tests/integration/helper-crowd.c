/* See helper-crowd.h. */
#include "helper-crowd.h"

#include <criterion/criterion.h>
#include <glib.h>

#include "../random-seed.h"

typedef struct Crowd {
        World *world;
        const CrowdRules *rules;
        GRand *random;
        Holder members[CROWD_MAX];
        bool shared[CROWD_MAX];
        unsigned grants;
} Crowd;

static bool is_inside(const Holder *member) {
        return member->set && member->events[LOCK_EVENT_HELD] > 0;
}

static void check(const Crowd *crowd) {
        unsigned most = crowd->rules->request.slots > 1 ? crowd->rules->request.slots : 1;
        unsigned shared = 0, others = 0;

        for (size_t i = 0; i < crowd->rules->size; i++) {
                const Holder *member = &crowd->members[i];

                cr_assert(!member->set || member->total == member->events[LOCK_EVENT_HELD],
                          "told something else: %s", lock_set_fault(member->set));
                if (is_inside(member))
                        (*(crowd->shared[i] ? &shared : &others))++;
        }
        cr_assert(others <= most && (others == 0 || shared == 0), "%u inside beside %u shared",
                  others, shared);
}

static void come(Crowd *crowd, size_t i) {
        LockRequest request = crowd->rules->request;
        Session *session = crowd->world->clients[i % crowd->rules->sessions].session;

        crowd->shared[i] = g_rand_int_range(crowd->random, 0, 10) < (gint32)crowd->rules->shared;
        request.mode = crowd->shared[i] ? LOCK_SHARED : LOCK_EXCLUSIVE;
        holder_acquire_with(crowd->world, &crowd->members[i], session, request,
                            crowd->rules->options);
}

static void go(Crowd *crowd, size_t i) {
        crowd->grants += is_inside(&crowd->members[i]);
        holder_release(&crowd->members[i]);
}

/* Return: whether somebody waits, and nobody is inside. */
static bool is_awaited(const Crowd *crowd) {
        bool waits = false;

        for (size_t i = 0; i < crowd->rules->size; i++) {
                if (is_inside(&crowd->members[i]))
                        return false;
                waits |= crowd->members[i].set != NULL;
        }
        return waits;
}

/* Of ten times once the crowd is patient: on a busy machine all would give up before the server
 * comes to them, and nothing would be tested. */
static void be_patient(Crowd *crowd) {
        usec_t until = clock_monotonic() + USEC_PER_SEC;

        if (g_rand_int_range(crowd->random, 0, 10) > 0)
                return;
        while (is_awaited(crowd) && clock_monotonic() < until) {
                (void)sd_event_run(crowd->world->event, 10 * USEC_PER_MSEC);
                check(crowd);
        }
}

static void run(Crowd *crowd) {
        be_patient(crowd);
        for (gint32 n = g_rand_int_range(crowd->random, 0, 6); n > 0; n--) {
                (void)sd_event_run(crowd->world->event, USEC_PER_MSEC);
                check(crowd);
        }
}

/* Whoever still waits gets it once those before are gone. */
static void run_out(Crowd *crowd) {
        usec_t until = clock_monotonic() + WORLD_LIMIT;

        for (size_t left = 1; left > 0;) {
                left = 0;
                for (size_t i = 0; i < crowd->rules->size; i++)
                        if (is_inside(&crowd->members[i]))
                                go(crowd, i);
                        else if (crowd->members[i].set)
                                left++;
                cr_assert_lt(clock_monotonic(), until, "%zu were forgotten", left);
                if (left > 0)
                        (void)sd_event_run(crowd->world->event, USEC_PER_SEC);
                check(crowd);
        }
}

void crowd_run(World *world, const CrowdRules *rules) {
        Crowd crowd = {
            .world = world, .rules = rules, .random = g_rand_new_with_seed(random_seed())};

        for (unsigned step = 0; step < rules->steps; step++) {
                size_t i = (size_t)g_rand_int_range(crowd.random, 0, (gint32)rules->size);

                if (crowd.members[i].set)
                        go(&crowd, i);
                else
                        come(&crowd, i);
                run(&crowd);
        }
        run_out(&crowd);
        cr_assert_gt(crowd.grants, rules->steps / 50, "hardly anybody ever got in");
        g_rand_free(crowd.random);
}
