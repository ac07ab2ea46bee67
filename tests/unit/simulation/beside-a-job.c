/* See fleet.h. */
#include "clock-watch.h"
#include "log.h"
#include "placement.h"
#include "simulation/fleet.h"
#include "waiters.h"

World *world;
Machine *current;

usec_t sim_between(usec_t low, usec_t high) {
        return low + (usec_t)(g_rand_double(world->chance) * (double)(high - low));
}

bool sim_happens(double probability) {
        return world->now < world->calm_from && g_rand_double(world->chance) < probability;
}

usec_t sim_delay(void) {
        return sim_happens(0.02) ? sim_between(0, 5 * S) : sim_between(100, world->delay_max);
}

usec_t sim_soon(void) {
        return world->now + sim_delay();
}

/* ---- time, in place of the library's ---- */

usec_t clock_boottime(void) {
        return world->now;
}

usec_t clock_monotonic(void) {
        return world->now;
}

usec_t clock_realtime(void) {
        return world->now + (usec_t)(current ? current->offset : 0);
}

usec_t usec_add(usec_t a, usec_t b) {
        return a > USEC_INFINITY - b ? USEC_INFINITY : a + b;
}

usec_t usec_sub(usec_t a, usec_t b) {
        return a == USEC_INFINITY ? USEC_INFINITY : a > b ? a - b : 0;
}

static void sim_timer_free(void *data) {
        SimTimer *timer = data;

        g_ptr_array_remove_fast(world->timers, timer);
        g_free(timer);
}

static int sim_timer_never(sd_event_source *source, uint64_t usec, void *userdata) {
        return 0;
}

int timer_at(sd_event *event, sd_event_source **slot, clockid_t clock, usec_t at, TimerFunc func,
             void *userdata) {
        SimTimer *timer = g_new0(SimTimer, 1);

        *slot = sd_event_source_disable_unref(*slot);
        *timer =
            (SimTimer){.slot = slot, .clock = clock, .at = at, .func = func, .userdata = userdata};
        for (unsigned i = 0; i < world->n_nodes; i++)
                if (world->nodes[i].event == event)
                        timer->machine = &world->nodes[i];
        cr_assert_geq(sd_event_add_time(event, slot, clock, at, 1, sim_timer_never, timer), 0);
        cr_assert_geq(sd_event_source_set_enabled(*slot, SD_EVENT_OFF), 0);
        cr_assert_geq(sd_event_source_set_destroy_callback(*slot, sim_timer_free), 0);
        g_ptr_array_add(world->timers, timer);
        return 0;
}

int timer_in(sd_event *event, sd_event_source **slot, usec_t delay, TimerFunc func,
             void *userdata) {
        return timer_at(event, slot, CLOCK_MONOTONIC, usec_add(world->now, delay), func, userdata);
}

usec_t sim_timer_due(const SimTimer *timer) {
        return timer->clock == CLOCK_REALTIME ? timer->at - (usec_t)timer->machine->offset
                                              : timer->at;
}

void sim_timer_fire(SimTimer *timer) {
        const SimTimer fired = *timer; /* it goes with its source */

        *fired.slot = sd_event_source_disable_unref(*fired.slot);
        fired.func(fired.userdata);
}

void log_write(int priority, const LogAbout *about, const char *format, ...) {
}

/* ---- members and ranks, in place of the library's ---- */

static bool is_member(const Machine *machine) {
        return machine->up || machine->session_ends != USEC_INFINITY;
}

uint32_t machine_rank(const Machine *machine) {
        const char *names[NODES_MAX + 1] = {NULL};
        unsigned n = 0;

        for (unsigned i = 0; i < world->n_nodes; i++)
                if (is_member(&world->nodes[i]))
                        names[n++] = world->nodes[i].name;
        return placement_rank("job", names, machine->name);
}

void sim_members_changed(void) {
        for (unsigned i = 0; i < world->n_nodes; i++)
                if (world->nodes[i].up)
                        world->nodes[i].members_at = MIN(world->nodes[i].members_at, sim_soon());
}

uint32_t ranks_of_job(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody) {
        *ret_nobody = false;
        return machine_rank((const Machine *)(const void *)ranks);
}

uint32_t ranks_act(const Ranks *ranks, const JobSpec *spec, bool *ret_nobody) {
        Machine *machine = (Machine *)(void *)ranks;

        machine->acted = ranks_of_job(ranks, spec, ret_nobody);
        return machine->acted;
}

bool ranks_is_undecided(const Ranks *ranks, const char *job) {
        return false;
}

const char *ranks_unfit(const Ranks *ranks, const char *job) {
        return NULL;
}

bool members_registered(const Members *members) {
        return true;
}

const GPtrArray *members_list(Members *members) {
        g_assert_not_reached(); /* every node remembers its definition */
}

void registration_set_drifted(Registration *registration, const char *job, bool drifted) {
        CHECK(!drifted, "drifted");
}

void registration_publish(Registration *registration) {
}

/* ---- what else stands beside a job, in place of the library's ---- */

Zk *session_zk(const Session *session) {
        return ((const Machine *)(const void *)session)->zk;
}

const char *digest_memory_get(const DigestMemory *memory, const char *job) {
        return NULL;
}

void digest_memory_set(DigestMemory *memory, const char *job, const char *digest) {
}

bool digest_memory_get_sent(const DigestMemory *memory, const char *job, DigestSent *ret_sent) {
        return false;
}

bool digest_memory_set_sent(DigestMemory *memory, const char *job, const char *digest,
                            int32_t version) {
        return true;
}

void digest_memory_forget_sent(DigestMemory *memory, const char *job) {
}

DigestWait *digest_memory_wait(DigestMemory *memory, DigestWaitFunc func, void *userdata) {
        g_assert_not_reached();
}

DigestWait *digest_wait_free(DigestWait *wait) {
        return NULL;
}

bool clock_watch_is_known(const ClockWatch *watch) {
        const Machine *machine = (const void *)watch;

        return clock_skew_is_known(&machine->node->skew, clock_realtime(), clock_boottime());
}

bool clock_watch_is_good(const ClockWatch *watch) {
        return clock_watch_is_known(watch) && !node_is_skewed(((Machine *)(void *)watch)->node);
}

void clock_watch_measure(ClockWatch *watch) {
        Machine *machine = (void *)watch;

        machine->measured_at = MIN(machine->measured_at, sim_soon());
}

bool gate_is_open(const Gate *gate) {
        return true;
}

void gate_wait(Gate *gate) {
}

void gate_refused(Gate *gate) {
}

bool gate_ask_place(Gate *gate, const char *job, usec_t since) {
        return true;
}

void gate_leave_place(Gate *gate, const char *job) {
}

bool gate_has_place(const Gate *gate, const char *job) {
        return false;
}

bool gate_waits_for_place(const Gate *gate, const char *job) {
        return false;
}

const char *leftovers_block(const Leftovers *leftovers, const JobSpec *spec) {
        return NULL;
}

void pruner_note(Pruner *pruner, const char *job) {
}

int32_t tree_control_version(const Tree *tree) {
        return 0;
}

void tree_refresh_control(Tree *tree) {
}

void tree_repair(Tree *tree) {
}

int waiters_look(Node *node, const GPtrArray *specs, WaitersFunc func, void *userdata,
                 Waiters **ret_waiters) {
        g_assert_not_reached(); /* for jobs that say how long they wait for locks */
}

Waiters *waiters_free(Waiters *waiters) {
        return NULL;
}
