/* The promises of the ledger, by simulation: nodes with clocks, ranks and delays of their own, that
 * die, come back and lose answers, drive decide() on one ledger with versions, as the daemon does.
 *
 * Every node is a small machine: it sleeps until `again`, reads the ledger, decides, writes what it
 * decided against the version that it read, and hears of it or does not. The server checks every
 * change against the history: no tick is decided twice, none is forgotten, the mark only grows. In
 * the end all nodes are well for long enough, and every tick must have been decided exactly once.
 *
 * Each scenario has a seed, which a failure names: JOBKEEPER_TEST_SEED=SEED runs it first. */
#include <stdio.h>

#include "../random-seed.h"
#include "decision.h"
#include "ledger-fixture.h"
#include "placement.h"

#define SCENARIOS 60
#define TICKS 80
#define NODES_MAX 6
#define EPOCH INT64_C(1763700000)
#define MS USEC_PER_MSEC
#define S USEC_PER_SEC

typedef enum Step {
        STEP_SLEEP,  /* wakes, and looks at what it knows */
        STEP_READ,   /* its read is at the server */
        STEP_ACT,    /* has the ledger, decides */
        STEP_WRITE,  /* its write is at the server */
        STEP_ANSWER, /* hears of it */
        STEP_DOWN,   /* until it comes back */
} Step;

typedef struct World World;

typedef struct Node {
        World *world;
        char name[8];
        int64_t offset; /* of its clock, µs */
        Step step;
        usec_t at; /* of the next step */
        Ledger *ledger;
        int32_t version; /* of `ledger` */
        bool watches;    /* is blocked, and hears of changes */
        char *waited_run;
        usec_t waited_since, hold_until;
        /* the write under way */
        Ledger *next;
        int64_t claims; /* 0: skips */
        bool done, answer_lost;
        /* a run of ours */
        char *run;
        int64_t run_tick;
        usec_t run_ends;
        /* of a dead one */
        usec_t session_ends; /* 0: is a member */
        usec_t orphans_at;
} Node;

struct World {
        guint32 seed;
        GRand *chance;
        Schedule *schedule;
        int64_t period;
        unsigned n_nodes;
        Node nodes[NODES_MAX];
        usec_t now, calm_from;
        usec_t takeover_delay, start_deadline, session_timeout, delay_max, run_max;
        JobCatchUp catch_up;
        double death, loss;
        Ledger *ledger;
        int32_t version;
        unsigned char *decided; /* times, by number of the tick */
        unsigned n_ticks, n_claims, n_skips, n_steps;
};

#define CHECK(world, condition, ...)                                                               \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        g_autofree char *why = g_strdup_printf(__VA_ARGS__);                       \
                        g_autofree char *state = ledger_to_text((world)->ledger);                  \
                        cr_assert_fail("seed %u, %.3f s: %s\n%s", (world)->seed,                   \
                                       (double)(world)->now / S - (double)EPOCH, why, state);      \
                }                                                                                  \
        } while (0)

static usec_t between(World *world, usec_t low, usec_t high) {
        return low + (usec_t)(g_rand_double(world->chance) * (double)(high - low));
}

static bool happens(World *world, double probability) {
        return world->now < world->calm_from && g_rand_double(world->chance) < probability;
}

static usec_t delay(World *world) {
        return happens(world, 0.02) ? between(world, 0, 5 * S)
                                    : between(world, 100, world->delay_max);
}

/* ---- the history ---- */

static unsigned number_of(const World *world, int64_t tick) {
        return (unsigned)((tick - EPOCH) / world->period);
}

static void note_decided(World *world, int64_t tick, const char *how) {
        unsigned number = number_of(world, tick);

        CHECK(world, number > 0 && number < world->n_ticks, "tick %u?", number);
        CHECK(world, world->decided[number] == 0, "tick %u %s, and decided before", number, how);
        world->decided[number]++;
}

/* What the mark passes has been decided, and is over. */
static void check_mark(World *world, const Ledger *next) {
        const LedgerEntry *claimed = ledger_first_claimed(next);

        CHECK(world, ledger_floor(next) >= ledger_floor(world->ledger), "the mark goes back");
        CHECK(world, !claimed || claimed->tick > ledger_floor(next), "the mark passes a run");
        for (int64_t tick = ledger_floor(world->ledger); tick <= ledger_floor(next);
             tick += world->period)
                CHECK(world, tick == EPOCH || world->decided[number_of(world, tick)] == 1,
                      "the mark passes tick %u, which nobody decided", number_of(world, tick));
}

static void wake_watchers(World *world) {
        for (unsigned i = 0; i < world->n_nodes; i++) {
                Node *node = &world->nodes[i];

                if (node->watches && node->step == STEP_SLEEP) {
                        node->ledger = ledger_free(node->ledger);
                        node->at = MIN(node->at, world->now + delay(world));
                }
                node->watches = false;
        }
}

/* The server takes a ledger, as text. */
static void install(World *world, const Ledger *next) {
        g_autofree char *text = ledger_encode(next);
        Ledger *taken = NULL;

        CHECK(world, ledger_decode(text, strlen(text), &taken) == 0, "not a ledger: %s", text);
        CHECK(world, taken->open->len <= LEDGER_OPEN_MAX, "%u entries", taken->open->len);
        check_mark(world, taken);
        ledger_free(world->ledger);
        world->ledger = taken;
        world->version++;
        wake_watchers(world);
}

/* ---- members ---- */

static bool is_member(const Node *node) {
        return node->step != STEP_DOWN || node->session_ends != 0;
}

static uint32_t rank_of(const Node *node) {
        const char *names[NODES_MAX + 1] = {NULL};
        unsigned n = 0;

        for (unsigned i = 0; i < node->world->n_nodes; i++)
                if (is_member(&node->world->nodes[i]))
                        names[n++] = node->world->nodes[i].name;
        return placement_rank("job", names, node->name);
}

static void members_changed(World *world) {
        for (unsigned i = 0; i < world->n_nodes; i++) {
                Node *node = &world->nodes[i];

                if (node->step == STEP_DOWN)
                        continue;
                node->hold_until = world->now + MIN(rank_of(node), 3) * world->takeover_delay;
                if (node->step == STEP_SLEEP)
                        node->at = MIN(node->at, world->now + delay(world));
        }
}

/* ---- runs ---- */

static void settle(World *world, const char *run, int64_t tick, const char *node, RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, node, state);
        _cleanup_(ledger_freep) Ledger *next = ledger_copy(world->ledger);

        if (ledger_settle(next, record, world->schedule) == 0)
                install(world, next);
}

static void end_run(Node *node) {
        g_autofree char *run = g_steal_pointer(&node->run);

        settle(node->world, run, node->run_tick, node->name, RUN_SUCCEEDED);
        if (node->step == STEP_SLEEP)
                node->at = node->world->now;
}

static void begin_run(Node *node, int64_t tick) {
        World *world = node->world;

        CHECK(world, !node->run, "%s runs already", node->name);
        node->run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
        node->run_tick = tick;
        node->run_ends = world->now + between(world, MS, world->run_max);
}

/* Whatever is claimed in a node's name without being run by it. */
static void settle_orphans(Node *node) {
        World *world = node->world;
        const LedgerEntry *claimed = ledger_first_claimed(world->ledger);

        node->orphans_at = 0;
        if (claimed && strcmp(claimed->node, node->name) == 0 &&
            g_strcmp0(claimed->run, node->run) != 0) {
                g_autofree char *run = g_strdup(claimed->run);

                settle(world, run, claimed->tick, node->name, RUN_UNKNOWN);
        }
}

/* ---- deciding, as scheduled-job.c does ---- */

static usec_t dead_session_time(const World *world) {
        return world->session_timeout + 4 * S;
}

static Decision decide_now(Node *node) {
        World *world = node->world;
        const DecisionInput input = {
            .schedule = world->schedule,
            .ledger = node->ledger,
            .self = node->name,
            .now = world->now + (usec_t)node->offset,
            .rank = rank_of(node),
            .takeover_delay = world->takeover_delay,
            .start_deadline = world->start_deadline,
            .catch_up = world->catch_up,
            .waited_run = node->waited_run,
            .waited_long_enough =
                node->waited_run && world->now >= node->waited_since + dead_session_time(world),
        };
        Decision decision;

        decide(&input, &decision);
        CHECK(world, decision.again > input.now, "asked again at once");
        return decision;
}

static void go(Node *node, Step step, usec_t at) {
        node->step = step;
        node->at = at;
}

static void sleep_until_again(Node *node, const Decision *decision) {
        go(node, STEP_SLEEP,
           decision->again == USEC_INFINITY ? USEC_INFINITY
                                            : decision->again - (usec_t)node->offset);
}

static void wake(Node *node) {
        World *world = node->world;
        Decision decision;

        node->watches = false;
        if (world->now < node->hold_until) {
                node->at = node->hold_until;
                return;
        }
        if (node->ledger) {
                decision = decide_now(node);
                if (decision.verdict == DECISION_NOTHING && decision.n_skips == 0) {
                        sleep_until_again(node, &decision);
                        return;
                }
        }
        go(node, STEP_READ, world->now + delay(world));
}

static void read_at_server(Node *node) {
        ledger_free(node->ledger);
        node->ledger = ledger_copy(node->world->ledger);
        node->version = node->world->version;
        go(node, STEP_ACT, node->world->now + delay(node->world));
}

static void wait_for_blocker(Node *node, const Decision *decision) {
        usec_t patience_ends;

        if (g_strcmp0(node->waited_run, decision->blocker->run) != 0) {
                g_free(node->waited_run);
                node->waited_run = g_strdup(decision->blocker->run);
                node->waited_since = node->world->now;
        }
        patience_ends = node->waited_since + dead_session_time(node->world);
        sleep_until_again(node, decision);
        node->at = MIN(node->at, MAX(patience_ends, node->world->now + 10 * MS));
        node->watches = node->version == node->world->version;
        if (!node->watches) {
                node->ledger = ledger_free(node->ledger);
                node->at = node->world->now;
        }
}

static void prepare_skips(Node *node, const Decision *decision) {
        const LedgerEntry *entry = NULL;
        bool joined;

        for (size_t i = 0; i < decision->n_skips; i++) {
                const DecisionSkip *one = &decision->skips[i];

                CHECK(node->world,
                      ledger_skip(node->next, node->world->schedule, one->from, one->to, one->count,
                                  one->why, &entry, &joined) == 0,
                      "a skip that was decided cannot be written");
        }
        ledger_compact(node->next, node->world->schedule);
}

static void prepare_claim(Node *node, int64_t tick) {
        g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, node->name, RUN_CLAIMED);

        CHECK(node->world, ledger_claim(node->next, record) == 0,
              "a claim that was decided cannot be written");
        node->claims = tick;
}

static void act(Node *node) {
        World *world = node->world;
        Decision decision = decide_now(node);

        if (world->now < node->hold_until) {
                go(node, STEP_SLEEP, node->hold_until);
                return;
        }
        if (decision.n_skips == 0 && decision.verdict == DECISION_NOTHING) {
                sleep_until_again(node, &decision);
                return;
        }
        if (decision.n_skips == 0 && decision.verdict == DECISION_BLOCKED) {
                node->step = STEP_SLEEP;
                wait_for_blocker(node, &decision);
                return;
        }
        node->next = ledger_free(node->next);
        node->next = ledger_copy(node->ledger);
        node->claims = 0;
        if (decision.n_skips > 0)
                prepare_skips(node, &decision);
        else
                prepare_claim(node, decision.tick);
        go(node, STEP_WRITE, world->now + delay(world));
}

/* ---- writing ---- */

/* Which ticks does `next` decide that the server's ledger does not? */
static void note_new(World *world, const Ledger *next) {
        int64_t tick = ledger_floor(world->ledger);
        int64_t end = EPOCH + (int64_t)(world->n_ticks - 1) * world->period;

        while ((tick += world->period) <= end)
                if (ledger_is_decided(next, tick) && !ledger_is_decided(world->ledger, tick)) {
                        note_decided(world, tick, "skipped");
                        world->n_skips++;
                }
}

static void write_at_server(Node *node) {
        World *world = node->world;

        node->done = node->version == world->version;
        node->answer_lost = happens(world, world->loss);
        if (node->done && node->claims) {
                usec_t tick = (usec_t)node->claims * S;

                CHECK(world, !ledger_first_claimed(world->ledger), "two runs at a time");
                CHECK(world, world->now + 2 * S >= tick, "claimed before it is due");
                note_decided(world, node->claims, "claimed");
                world->n_claims++;
        } else if (node->done) {
                note_new(world, node->next);
        }
        if (node->done)
                install(world, node->next);
        go(node, STEP_ANSWER, world->now + delay(world));
}

/* A claim of which nothing is heard is looked for, and found in our name or not: the same, later.
 */
static void answer(Node *node) {
        World *world = node->world;

        if (node->answer_lost) {
                node->answer_lost = false;
                node->at += between(world, 0, world->session_timeout / 3);
                return;
        }
        if (node->done && node->claims)
                begin_run(node, node->claims);
        node->ledger = ledger_free(node->ledger);
        if (node->done) {
                node->ledger = g_steal_pointer(&node->next);
                node->version++;
        }
        node->next = ledger_free(node->next);
        go(node, STEP_SLEEP, world->now);
}

/* ---- life and death ---- */

static void die(Node *node) {
        World *world = node->world;

        /* what is on its way to the server may arrive */
        if (node->step == STEP_WRITE && happens(world, 0.5))
                write_at_server(node);
        node->ledger = ledger_free(node->ledger);
        node->next = ledger_free(node->next);
        g_clear_pointer(&node->run, g_free);
        g_clear_pointer(&node->waited_run, g_free);
        node->watches = false;
        node->session_ends = world->now + between(world, S, world->session_timeout);
        go(node, STEP_DOWN, world->now + between(world, S, 120 * S));
}

static void come_back(Node *node) {
        World *world = node->world;

        node->session_ends = 0;
        go(node, STEP_SLEEP, world->now + delay(world));
        settle_orphans(node);
        members_changed(world);
}

static void end_session(Node *node) {
        World *world = node->world;

        node->session_ends = 0;
        node->orphans_at = world->now + delay(world);
        members_changed(world);
}

static void take_step(Node *node) {
        node->world->n_steps++;
        if (node->step != STEP_DOWN && happens(node->world, node->world->death)) {
                die(node);
                return;
        }
        switch (node->step) {
        case STEP_SLEEP:
                wake(node);
                return;
        case STEP_READ:
                read_at_server(node);
                return;
        case STEP_ACT:
                act(node);
                return;
        case STEP_WRITE:
                write_at_server(node);
                return;
        case STEP_ANSWER:
                answer(node);
                return;
        case STEP_DOWN:
                come_back(node);
        }
}

/* Somebody has to be alive to settle what the dead left. */
static bool anybody_up(const World *world) {
        for (unsigned i = 0; i < world->n_nodes; i++)
                if (world->nodes[i].step != STEP_DOWN)
                        return true;
        return false;
}

typedef void (*Event)(Node *node);

/* Of a node, the next thing that happens. */
static usec_t next_event(Node *node, Event *ret_event) {
        usec_t at = node->at;

        *ret_event = take_step;
        if (node->run && node->run_ends < at) {
                at = node->run_ends;
                *ret_event = end_run;
        }
        if (node->session_ends && node->session_ends < at) {
                at = node->session_ends;
                *ret_event = end_session;
        }
        if (node->orphans_at && node->orphans_at < at && anybody_up(node->world)) {
                at = node->orphans_at;
                *ret_event = settle_orphans;
        }
        return at;
}

/* Return: false when the time is over. */
static bool advance(World *world, usec_t end) {
        Node *first = NULL;
        Event event = NULL;
        usec_t at = USEC_INFINITY;

        for (unsigned i = 0; i < world->n_nodes; i++) {
                Event candidate;
                usec_t when = next_event(&world->nodes[i], &candidate);

                if (when < at) {
                        at = when;
                        first = &world->nodes[i];
                        event = candidate;
                }
        }
        if (at > end || !first)
                return false;
        world->now = MAX(world->now, at);
        event(first);
        return true;
}

/* ---- scenarios ---- */

static usec_t one_of(World *world, const usec_t *values, size_t n) {
        return values[g_rand_int_range(world->chance, 0, (gint32)n)];
}

static void world_init(World *world, guint32 seed) {
        static const usec_t periods[] = {1, 2, 5, 10, 30, 60, 300};
        static const usec_t takeovers[] = {100 * MS, S, 2 * S, 5 * S};
        static const usec_t deadlines[] = {3 * S, 10 * S, 60 * S, 600 * S, 7200 * S};
        static const usec_t slowness[] = {5 * MS, 50 * MS, 500 * MS};

        *world = (World){.seed = seed, .chance = g_rand_new_with_seed(seed), .now = EPOCH * S};
        world->period = (int64_t)one_of(world, periods, G_N_ELEMENTS(periods));
        world->schedule = every((unsigned)world->period);
        world->ledger = ledger_new(EPOCH, "d");
        world->takeover_delay = one_of(world, takeovers, G_N_ELEMENTS(takeovers));
        world->start_deadline = one_of(world, deadlines, G_N_ELEMENTS(deadlines));
        world->delay_max = one_of(world, slowness, G_N_ELEMENTS(slowness));
        world->session_timeout = between(world, 3 * S, 30 * S);
        world->run_max = (usec_t)world->period * S * (g_rand_boolean(world->chance) ? 1 : 8) / 2;
        world->catch_up = (JobCatchUp)g_rand_int_range(world->chance, 0, 2);
        world->death = g_rand_boolean(world->chance) ? 0.02 : 0;
        world->loss = g_rand_boolean(world->chance) ? 0.05 : 0;
        world->n_nodes = (unsigned)g_rand_int_range(world->chance, 1, NODES_MAX + 1);
        world->calm_from = world->now + TICKS * (usec_t)world->period * S;
}

static void world_people(World *world) {
        static const char *const names[NODES_MAX] = {"n1", "n2", "n3", "n4", "n5", "n6"};

        for (unsigned i = 0; i < world->n_nodes; i++) {
                Node *node = &world->nodes[i];

                *node = (Node){.world = world, .at = world->now};
                (void)g_strlcpy(node->name, names[i], sizeof node->name);
                node->offset = (int64_t)between(world, 0, 3 * S) - (int64_t)(3 * S / 2);
        }
}

static void world_clear(World *world) {
        for (unsigned i = 0; i < world->n_nodes; i++) {
                Node *node = &world->nodes[i];

                ledger_free(node->ledger);
                ledger_free(node->next);
                g_free(node->run);
                g_free(node->waited_run);
        }
        ledger_free(world->ledger);
        schedule_free(world->schedule);
        g_free(world->decided);
        g_rand_free(world->chance);
}

/* How long it may take, once all is well, until everything due by then is decided. */
static usec_t grace(const World *world) {
        return 130 * S + world->start_deadline + world->run_max + 2 * dead_session_time(world) +
               4 * world->takeover_delay;
}

static void expect_all_decided(World *world) {
        for (unsigned number = 1; number <= TICKS; number++)
                CHECK(world, world->decided[number] == 1, "tick %u is lost", number);
        CHECK(world, ledger_floor(world->ledger) >= EPOCH + TICKS * world->period,
              "the mark stands still");
}

/* Nothing went wrong, and every run was over before the next tick: then each was run. (With
 * `catch-up: none`, a slow answer is enough to miss one.) */
static void expect_all_run_if_calm(World *world) {
        if (world->catch_up == JOB_CATCH_UP_LATEST && world->death == 0 && world->loss == 0 &&
            world->period >= 60 && world->start_deadline >= 60 * S &&
            world->run_max < (usec_t)world->period * S)
                CHECK(world, world->n_skips == 0, "%u ticks were skipped for nothing",
                      world->n_skips);
}

typedef struct Tally {
        unsigned claims, skips, steps;
} Tally;

static void play(guint32 seed, Tally *tally) {
        World world;
        usec_t end;

        world_init(&world, seed);
        world_people(&world);
        end = world.calm_from + grace(&world);
        world.n_ticks = (unsigned)((end / S - EPOCH) / (usec_t)world.period) + 8;
        world.decided = g_new0(unsigned char, world.n_ticks);
        while (advance(&world, end))
                CHECK(&world, world.n_steps <= 200 * world.n_ticks * world.n_nodes,
                      "somebody is busy with nothing");
        expect_all_decided(&world);
        expect_all_run_if_calm(&world);
        tally->claims += world.n_claims;
        tally->skips += world.n_skips;
        tally->steps += world.n_steps;
        world_clear(&world);
}

Test(decision_simulation, every_tick_is_decided_exactly_once) {
        guint32 seed = random_seed();
        Tally tally = {0};

        for (unsigned i = 0; i < SCENARIOS; i++)
                play(seed + i, &tally);
        printf("%u claims, %u skips in %u steps\n", tally.claims, tally.skips, tally.steps);
        cr_expect_gt(tally.claims, SCENARIOS * TICKS / 10);
        cr_expect_gt(tally.skips, SCENARIOS);
}
