/* The promises of the ledger, by simulation: nodes with clocks, ranks and delays of their own, that
 * die, come back and lose answers, keep one job on one ledger.
 *
 * What runs on each is the daemon's own: a ScheduledJob with its work, its ledger, its bids and
 * claims, against the small server (small-server.h), whose requests and answers take their time
 * (slow-wire.h). Time is the test's, and what lies beside a job is not under test and stands in
 * place of the library's (simulation/fleet.h): clocks and timers, the locks' queue, members, runs,
 * and who settles those of the dead.
 *
 * The server's ledger is checked against the history after every change: no tick is decided twice,
 * none is forgotten, the mark only grows, one run at a time. In the end all nodes are well for long
 * enough, and every tick must have been decided exactly once.
 *
 * Each scenario has a seed, which a failure names: JOBKEEPER_TEST_SEED=SEED runs it first. */
#include <stdio.h>

#include "../random-seed.h"
#include "simulation/fleet.h"

#define SCENARIOS 16
#define TICKS 80

/* ---- the history ---- */

static unsigned number_of(int64_t tick) {
        return (unsigned)((tick - EPOCH) / world->period);
}

static void note_decided(int64_t tick, bool claimed) {
        unsigned number = number_of(tick);

        CHECK(number > 0 && number < world->n_ticks, "tick %u?", number);
        CHECK(world->decided[number] == 0, "tick %u %s, and decided before", number,
              claimed ? "claimed" : "skipped");
        world->decided[number]++;
        world->n_claims += claimed;
        world->n_skips += !claimed;
}

static void note_claim(int64_t tick) {
        CHECK(!ledger_first_claimed(world->ledger), "two runs at a time");
        CHECK(world->now + 2 * S >= (usec_t)tick * S, "claimed before it is due");
}

/* Which ticks does `next` decide that the ledger before it did not? */
static void note_new(const Ledger *next) {
        const LedgerEntry *claimed = ledger_first_claimed(next);
        int64_t tick = ledger_floor(world->ledger);
        int64_t end = EPOCH + (int64_t)(world->n_ticks - 1) * world->period;

        while ((tick += world->period) <= end) {
                bool is_claim = claimed && claimed->tick == tick;

                if (!ledger_is_decided(next, tick) || ledger_is_decided(world->ledger, tick))
                        continue;
                if (is_claim)
                        note_claim(tick);
                note_decided(tick, is_claim);
        }
}

/* What the mark passes has been decided, and is over. */
static void check_mark(const Ledger *next) {
        const LedgerEntry *claimed = ledger_first_claimed(next);

        CHECK(ledger_floor(next) >= ledger_floor(world->ledger), "the mark goes back");
        CHECK(!claimed || claimed->tick > ledger_floor(next), "the mark passes a run");
        for (int64_t tick = ledger_floor(world->ledger); tick <= ledger_floor(next);
             tick += world->period)
                CHECK(tick == EPOCH || world->decided[number_of(tick)] == 1,
                      "the mark passes tick %u, which nobody decided", number_of(tick));
}

/* Something may have been written. */
void sim_look_at_ledger(void) {
        const ServerNode *node = server_node(JOB);
        Ledger *next = NULL;

        if (node->stat.version == world->version)
                return;
        CHECK(ledger_decode(node->data, strlen(node->data), &next) == 0, "not a ledger: %s",
              node->data);
        CHECK(next->open->len <= LEDGER_OPEN_MAX, "%u entries", next->open->len);
        note_new(next);
        check_mark(next);
        ledger_free(world->ledger);
        world->ledger = next;
        world->version = node->stat.version;
}

/* ---- one thing after another ---- */

typedef struct Next {
        usec_t at;
        Machine *machine;
        MachineFunc machine_func;
        Wire *wire;
        LockSet *set;
        SimTimer *timer;
} Next;

static void next_of_machine(Machine *machine, Next *next) {
        MachineFunc func = NULL;
        usec_t at = machine_next(machine, &func);

        if (at < next->at)
                *next = (Next){.at = at, .machine = machine, .machine_func = func};
        if (machine->wire && wire_next(machine->wire) < next->at)
                *next = (Next){
                    .at = wire_next(machine->wire), .machine = machine, .wire = machine->wire};
        for (guint i = 0; machine->sets && i < machine->sets->len; i++)
                if (lock_set_next(machine->sets->pdata[i]) < next->at)
                        *next = (Next){.at = lock_set_next(machine->sets->pdata[i]),
                                       .machine = machine,
                                       .set = machine->sets->pdata[i]};
}

static Next next_of_all(void) {
        Next next = {.at = USEC_INFINITY};

        for (unsigned i = 0; i < world->n_nodes; i++)
                next_of_machine(&world->nodes[i], &next);
        for (guint i = 0; i < world->timers->len; i++) {
                SimTimer *timer = world->timers->pdata[i];

                if (sim_timer_due(timer) < next.at)
                        next = (Next){
                            .at = sim_timer_due(timer), .machine = timer->machine, .timer = timer};
        }
        if (sim_next_deletion() < next.at)
                next = (Next){.at = sim_next_deletion()};
        return next;
}

static void take_step(const Next *next) {
        if (next->wire)
                wire_step(next->wire);
        else if (next->set)
                lock_set_step(next->set);
        else if (next->timer)
                sim_timer_fire(next->timer);
        else if (next->machine)
                next->machine_func(next->machine);
        else
                sim_delete();
}

/* Return: false when the time is over. */
static bool advance(usec_t end) {
        Next next = next_of_all();

        if (next.at > end)
                return false;
        world->n_steps++;
        world->now = MAX(world->now, next.at);
        current = next.machine && next.machine->up ? next.machine : NULL;
        if (current && sim_happens(world->death)) {
                machine_die(current);
        } else {
                take_step(&next);
                if (current && current->wire)
                        wire_collect(current->wire);
        }
        current = NULL;
        sim_look_at_ledger();
        sim_grant_locks();
        return true;
}

/* ---- scenarios ---- */

static usec_t one_of(const usec_t *values, size_t n) {
        return values[g_rand_int_range(world->chance, 0, (gint32)n)];
}

static void world_init(guint32 seed) {
        static const usec_t periods[] = {1, 2, 5, 10, 30, 60, 300};
        static const usec_t takeovers[] = {100 * MS, S, 2 * S, 5 * S};
        static const usec_t deadlines[] = {3 * S, 10 * S, 60 * S, 600 * S, 7200 * S};
        static const usec_t slowness[] = {5 * MS, 50 * MS, 500 * MS};

        *world = (World){.seed = seed, .chance = g_rand_new_with_seed(seed), .now = EPOCH * S};
        world->timers = g_ptr_array_new();
        world->deletions = g_ptr_array_new();
        g_queue_init(&world->contenders);
        world->period = (int64_t)one_of(periods, G_N_ELEMENTS(periods));
        world->takeover_delay = one_of(takeovers, G_N_ELEMENTS(takeovers));
        world->start_deadline = one_of(deadlines, G_N_ELEMENTS(deadlines));
        world->delay_max = one_of(slowness, G_N_ELEMENTS(slowness));
        world->session_timeout = sim_between(3 * S, 30 * S);
        world->run_max = (usec_t)world->period * S * (g_rand_boolean(world->chance) ? 1 : 8) / 2;
        world->catch_up = (JobCatchUp)g_rand_int_range(world->chance, 0, 2);
        world->death = g_rand_boolean(world->chance) ? 0.002 : 0;
        world->loss = g_rand_boolean(world->chance) ? 0.02 : 0;
        world->n_nodes = (unsigned)g_rand_int_range(world->chance, 1, NODES_MAX + 1);
        world->calm_from = world->now + TICKS * (usec_t)world->period * S;
}

static void world_define(void) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *text = g_strdup_printf(
            "jobs: {job: {exec: [/bin/true], every: %" G_GINT64_FORMAT "s, start-deadline: "
            "%" G_GUINT64_FORMAT "s, catch-up: %s}}",
            world->period, (guint64)(world->start_deadline / S),
            world->catch_up == JOB_CATCH_UP_LATEST ? "latest" : "none");

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &world->file), 0);
        world->spec = world->file->jobs->pdata[0];
}

/* The tree, with the job's ledger. */
static void world_plant(void) {
        static const char *const paths[] = {ROOT,         ROOT "/control", ROOT "/nodes",
                                            ROOT "/open", ROOT "/jobs",    ROOT "/locks",
                                            OWN_LOCK};
        g_autofree char *digest = job_spec_digest(world->spec, &world->nodes[0].config),
                        *data = NULL;

        server_begin();
        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
                server_create(paths[i], "", 0);
        world->ledger = ledger_new(EPOCH, digest);
        ledger_set_schedule(world->ledger, world->spec->schedule);
        data = ledger_encode(world->ledger);
        server_create(JOB, data, 0);
        server_create(JOB "/runs", "", 0);
}

static void world_people(void) {
        static const char *const names[NODES_MAX] = {"n1", "n2", "n3", "n4", "n5", "n6"};

        for (unsigned i = 0; i < world->n_nodes; i++) {
                Machine *machine = &world->nodes[i];

                *machine = (Machine){0};
                (void)g_strlcpy(machine->name, names[i], sizeof machine->name);
                machine->offset = (int64_t)sim_between(0, 3 * S) - (int64_t)(3 * S / 2);
                machine->config = (DaemonConfig){.root = (char *)ROOT,
                                                 .node_name = machine->name,
                                                 .session_timeout = world->session_timeout,
                                                 .tick_time = 2 * S,
                                                 .takeover_delay = world->takeover_delay,
                                                 .max_skew = 2 * S};
                machine->config.labels = g_hash_table_new(g_str_hash, g_str_equal);
        }
        world_plant();
        for (unsigned i = 0; i < world->n_nodes; i++)
                machine_begin(&world->nodes[i]);
        sim_members_changed();
}

static void world_clear(void) {
        for (unsigned i = 0; i < world->n_nodes; i++) {
                Machine *machine = &world->nodes[i];

                if (machine->up)
                        machine_end(machine);
                g_hash_table_unref(machine->config.labels);
        }
        while (sim_next_deletion() != USEC_INFINITY)
                sim_delete();
        server_end();
        g_queue_clear_full(&world->contenders, g_free);
        g_ptr_array_unref(world->deletions);
        g_ptr_array_unref(world->timers);
        ledger_free(world->ledger);
        job_file_free(world->file);
        g_free(world->decided);
        g_rand_free(world->chance);
}

static usec_t dead_session_time(void) {
        return world->session_timeout + 4 * S;
}

/* How long it may take, once all is well, until everything due by then is decided. */
static usec_t grace(void) {
        return 130 * S + world->start_deadline + world->run_max + 2 * dead_session_time() +
               4 * world->takeover_delay;
}

static void expect_all_decided(void) {
        for (unsigned number = 1; number <= TICKS; number++)
                CHECK(world->decided[number] == 1, "tick %u is lost", number);
        CHECK(ledger_floor(world->ledger) >= EPOCH + TICKS * world->period,
              "the mark stands still");
}

/* Nothing went wrong, and every run was over before the next tick: then each was run. (With
 * `catch-up: none`, a slow answer is enough to miss one.) */
static void expect_all_run_if_calm(void) {
        if (world->catch_up == JOB_CATCH_UP_LATEST && world->death == 0 && world->loss == 0 &&
            world->period >= 60 && world->start_deadline >= 60 * S &&
            world->run_max < (usec_t)world->period * S)
                CHECK(world->n_skips == 0, "%u ticks were skipped for nothing", world->n_skips);
}

typedef struct Tally {
        unsigned claims, skips, steps;
} Tally;

static void play(guint32 seed, Tally *tally) {
        World played;
        usec_t end;

        world = &played;
        world_init(seed);
        world_define();
        world_people();
        end = world->calm_from + grace();
        world->n_ticks = (unsigned)((end / S - EPOCH) / (usec_t)world->period) + 8;
        world->decided = g_new0(unsigned char, world->n_ticks);
        while (advance(end))
                CHECK(world->n_steps <= 300 * world->n_ticks * world->n_nodes,
                      "somebody is busy with nothing");
        expect_all_decided();
        expect_all_run_if_calm();
        tally->claims += world->n_claims;
        tally->skips += world->n_skips;
        tally->steps += world->n_steps;
        world_clear();
        world = NULL;
}

Test(decision_simulation, every_tick_is_decided_exactly_once) {
        guint32 seed = random_seed();
        Tally tally = {0};

        for (unsigned i = 0; i < SCENARIOS; i++)
                play(seed + i, &tally);
        printf("%u claims, %u skips in %u steps\n", tally.claims, tally.skips, tally.steps);
        cr_expect_gt(tally.claims, SCENARIOS * TICKS / 10);
        cr_expect_gt(tally.skips, 0);
}
