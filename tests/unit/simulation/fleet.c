/* See fleet.h. */
#include "simulation/fleet.h"

#include "paths.h"

/* ---- runs, and what settles them, in place of the library's ---- */

static void settle(const char *run, int64_t tick, const char *node, RunState state,
                   const char *lock) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, node, state);
        _cleanup_(ledger_freep) Ledger *next = ledger_copy(world->ledger);
        g_autofree char *open = path_open_run(ROOT, node, "job", run), *data = NULL;
        ZkOp ops[3] = {{.type = ZK_OP_SET, .path = JOB, .version = -1},
                       {.type = ZK_OP_DELETE, .path = open, .version = -1},
                       {.type = ZK_OP_DELETE, .path = lock, .version = -1}};
        g_autofree ZkOpResult *results = NULL;

        if (ledger_settle(next, record, world->spec->schedule) != 0)
                return;
        data = ledger_encode(next);
        ops[0].data = data;
        CHECK(server_transact(ops, lock && server_node(lock) ? 3 : 2, 0, &results) == ZK_OK,
              "%s cannot be settled", run);
        sim_look_at_ledger();
}

void runs_start(Runs *runs, const JobSpec *spec, RunRecord *record, LockSet *locks) {
        Machine *machine = (void *)runs;

        CHECK(!machine->run, "%s runs already", machine->name);
        machine->run = record;
        machine->run_locks = locks;
        machine->run_ends = world->now + sim_between(MS, world->run_max);
}

static void hear_later(Machine *machine) {
        ledger_free(machine->settled);
        machine->settled = ledger_copy(world->ledger);
        machine->settled_version = world->version;
        machine->settled_at = sim_soon();
}

static void end_run(Machine *machine) {
        _cleanup_(run_record_freep) RunRecord *record = g_steal_pointer(&machine->run);

        machine->run_ends = USEC_INFINITY;
        settle(record->run, record->tick, machine->name, RUN_SUCCEEDED,
               lock_set_path(machine->run_locks));
        machine->run_locks = lock_set_free(machine->run_locks);
        hear_later(machine);
}

/* It hears that its run is settled, and knows the ledger as it then was. */
static void hear_of_settled(Machine *machine) {
        int32_t version = -1;

        machine->settled_at = USEC_INFINITY;
        (void)ledger_cache_get(machine->ledgers, "job", &version);
        if (machine->settled && version < machine->settled_version)
                ledger_cache_set(machine->ledgers, "job", g_steal_pointer(&machine->settled),
                                 machine->settled_version);
        scheduled_job_consider(machine->job);
}

char *run_key(const char *job, const char *run) {
        return g_strdup_printf("%s %s", job, run);
}

bool runs_knows(const Runs *runs, const char *key) {
        const Machine *machine = (const void *)runs;
        g_autofree char *own = machine->run ? run_key("job", machine->run->run) : NULL;

        return g_strcmp0(own, key) == 0 || g_strcmp0(machine->claiming, key) == 0;
}

GPtrArray *runs_list(const Runs *runs) {
        return g_ptr_array_new(); /* none is being ended whose run is settled */
}

void runs_claim_begins(Runs *runs, const char *key) {
        Machine *machine = (void *)runs;

        CHECK(!machine->claiming, "two claims at a time");
        machine->claiming = g_strdup(key);
}

void runs_claim_ends(Runs *runs, const char *key) {
        g_clear_pointer(&((Machine *)(void *)runs)->claiming, g_free);
}

void recovery_check(Recovery *recovery) {
        Machine *machine = (void *)recovery;

        machine->recovered_at = MIN(machine->recovered_at, sim_soon());
}

/* Whatever is claimed in a node's name without being run by it. */
static void settle_orphans(Machine *machine) {
        const LedgerEntry *claimed = ledger_first_claimed(world->ledger);
        g_autofree char *run = NULL, *key = NULL;

        if (!claimed || strcmp(claimed->node, machine->name) != 0)
                return;
        run = g_strdup(claimed->run);
        key = run_key("job", run);
        if (!runs_knows((const Runs *)(void *)machine, key))
                settle(run, claimed->tick, machine->name, RUN_UNKNOWN, NULL);
}

/* ---- life and death ---- */

static usec_t machine_now(void *userdata) {
        return world->now;
}

static usec_t machine_delay(void *userdata) {
        return sim_delay();
}

/* A connection breaks: nobody knows whether a write was done. */
static ServerWay machine_way(const ZkCall *call, void *userdata) {
        if (!sim_happens(world->loss))
                return SERVER_ANSWER;
        return g_rand_boolean(world->chance) ? SERVER_LOSE : SERVER_LOSE_ANSWER;
}

static void machine_stay(Machine *machine) {
        machine->run_ends = machine->settled_at = machine->measured_at = machine->members_at =
            machine->recovered_at = machine->back_at = machine->session_ends = machine->orphans_at =
                USEC_INFINITY;
}

static void machine_connect(Machine *machine) {
        const ZkOptions options = {.session_timeout = world->session_timeout};
        const WireParts wire = {machine_now, machine_delay, machine_way, machine};
        g_autofree char *member = path_node(ROOT, machine->name),
                        *open = path_open_node(ROOT, machine->name);

        cr_assert_geq(zk_connect(machine->event, &options, &machine->zk), 0);
        machine->wire = wire_new(machine->zk, &wire);
        machine->session = machine->zk->session.id;
        server_create(member, "", machine->session);
        if (!server_node(open))
                server_create(open, "", 0);
}

/* What a job uses of the daemon is the machine itself. */
static JobParts machine_parts(Machine *machine) {
        void *self = machine;

        return (JobParts){.node = machine->node,
                          .tree = self,
                          .ledgers = machine->ledgers,
                          .digests = self,
                          .registration = self,
                          .members = self,
                          .ranks = self,
                          .clock = self,
                          .gate = self,
                          .pruner = self,
                          .runs = self,
                          .recovery = self,
                          .leftovers = self};
}

void machine_begin(Machine *machine) {
        machine_stay(machine);
        machine->up = true;
        cr_assert_geq(sd_event_new(&machine->event), 0);
        machine->node = node_new(machine->event, "/nowhere", "/nowhere");
        machine->node->config = &machine->config;
        machine->node->session = (Session *)(void *)machine;
        machine->node->session_phase = SESSION_PHASE_READY;
        machine->ledgers = ledger_cache_new();
        machine->sets = g_ptr_array_new();
        machine->parts = machine_parts(machine);
        machine_connect(machine);
        machine->job = scheduled_job_new(&machine->parts, world->spec);
}

void machine_end(Machine *machine) {
        machine->up = false;
        machine_stay(machine);
        machine->job = scheduled_job_free(machine->job);
        machine->run = run_record_free(machine->run);
        machine->run_locks = lock_set_free(machine->run_locks);
        machine->wire = wire_free(machine->wire);
        machine->zk = zk_free(machine->zk);
        machine->ledgers = ledger_cache_free(machine->ledgers);
        machine->settled = ledger_free(machine->settled);
        machine->node = node_free(machine->node);
        machine->event = sd_event_unref(machine->event);
        g_clear_pointer(&machine->sets, g_ptr_array_unref);
        g_clear_pointer(&machine->claiming, g_free);
}

void machine_die(Machine *machine) {
        /* what is on its way to the server may arrive */
        while (wire_has_requests(machine->wire) && sim_happens(0.5)) {
                wire_arrive(machine->wire);
                sim_look_at_ledger();
        }
        machine_end(machine);
        machine->session_ends = world->now + sim_between(S, world->session_timeout);
        machine->back_at = world->now + sim_between(S, 120 * S);
}

static void end_session(Machine *machine) {
        server_expire(machine->session);
        machine->session_ends = USEC_INFINITY;
        machine->orphans_at = sim_soon();
        sim_members_changed();
}

static void come_back(Machine *machine) {
        if (machine->session_ends != USEC_INFINITY)
                server_expire(machine->session);
        machine_begin(machine);
        settle_orphans(machine);
        sim_members_changed();
}

/* Somebody has to be alive to settle what the dead left. */
static bool anybody_up(void) {
        for (unsigned i = 0; i < world->n_nodes; i++)
                if (world->nodes[i].up)
                        return true;
        return false;
}

static void hear_of_members(Machine *machine) {
        machine->members_at = USEC_INFINITY;
        if (!ledger_cache_get(machine->ledgers, "job", NULL) ||
            machine->acted != machine_rank(machine))
                scheduled_job_begin(machine->job);
}

static void hear_of_clock(Machine *machine) {
        machine->measured_at = USEC_INFINITY;
        node_clock_sample(machine->node, (int64_t)(world->now / MS), clock_realtime());
}

static void recover(Machine *machine) {
        machine->recovered_at = USEC_INFINITY;
        settle_orphans(machine);
        hear_later(machine);
}

static void settle_dead(Machine *machine) {
        machine->orphans_at = USEC_INFINITY;
        settle_orphans(machine);
}

usec_t machine_next(const Machine *machine, MachineFunc *ret_func) {
        const struct {
                usec_t at;
                MachineFunc func;
        } things[] = {
            {machine->run_ends, end_run},
            {machine->settled_at, hear_of_settled},
            {machine->measured_at, hear_of_clock},
            {machine->members_at, hear_of_members},
            {machine->recovered_at, recover},
            {machine->back_at, come_back},
            {machine->session_ends, end_session},
            {anybody_up() ? machine->orphans_at : USEC_INFINITY, settle_dead},
        };

        usec_t first = USEC_INFINITY;

        for (size_t i = 0; i < G_N_ELEMENTS(things); i++)
                if (things[i].at < first) {
                        first = things[i].at;
                        *ret_func = things[i].func;
                }
        return first;
}
