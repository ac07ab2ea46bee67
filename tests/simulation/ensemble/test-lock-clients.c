/* Locks of every kind in sessions on an ensemble: exclusive ones, some of which step down to
 * shared, shared ones, slots, single nodes; each way of waiting; and whatever may befall servers,
 * the network and the clients.
 *
 * All of lock/ is the product's, above the simulated library. Whenever somebody is told that it
 * holds, nobody else holds what excludes that. In the end, when all is well again, everybody has
 * had its lock, and nobody has left a contender.
 *
 * Seeds are fresh; JOBKEEPER_TEST_SEED: that round alone.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "ensemble-inside.h"
#include "event.h"
#include "handle.h"
#include "lock.h"

#define CALLERS 3
#define HOLDERS 9
#define ROUNDS 24
#define DURATION (5 * USEC_PER_MINUTE)
#define PATIENCE (5 * USEC_PER_MINUTE)
#define PAUSE (20 * USEC_PER_MSEC)
#define SLOTS 4

/* A process with a session. */
typedef struct Caller {
        Machine *machine;
        Process *process;
        sd_event *event;
        Session *session;
} Caller;

typedef struct Holder {
        Caller *caller;
        LockSet *set;
        unsigned resources; /* bits */
        LockMode mode;      /* that it has now */
        bool slots, single, may_step, stepping;
        bool held, over;
} Holder;

static const char *const directories[] = {"/locks/a", "/locks/b", "/locks/s", "/locks/o"};

static Site *site;
static WorldChance *dice;
static Caller callers[CALLERS];
static Holder holders[HOLDERS];
static unsigned grants, steps_down, slots;
static bool meddled;      /* somebody deletes contenders, and ends sessions */
static bool fresh;        /* everybody draws its token when it holds */
static int64_t newest[2]; /* token of an exclusive holder of a, of b */

/* ---- what is to be ---- */

static const TreeNode *node_at(const char *path) {
        return data_tree_find(ensemble_tree(site_ensemble(site)), path);
}

/* Return: whether the contender at `path` stands, or the twin that it may have become. */
static bool path_stands(const Holder *holder, const char *path) {
        g_autofree char *directory = g_path_get_dirname(path),
                        *name = contender_twin(strrchr(path, '/') + 1),
                        *twin = g_strconcat(directory, "/", name, NULL);

        return node_at(path) || (holder->stepping && name && node_at(twin));
}

/* Where somebody deletes contenders, their holders hear of it a little later. Return: whether the
 * holder's belief counts: it ends at its deadline, whether or not it could be told. */
static bool holder_counts(const Holder *holder) {
        const TreeNode *single = node_at("/locks/o/lock");

        if (!holder->held || machine_clock(holder->caller->machine, CLOCK_BOOTTIME) >=
                                 lock_set_held_until(holder->set))
                return false;
        for (const char *const *path = lock_set_paths(holder->set); meddled && *path; path++)
                if (!path_stands(holder, *path))
                        return false;
        return !meddled || !holder->single ||
               (single && single->czxid <= lock_set_fencing_token(holder->set));
}

static bool holder_excludes(const Holder *holder) {
        return holder->mode == LOCK_EXCLUSIVE && !holder->stepping;
}

/* Of all that hold now. */
static void check_holders(void) {
        unsigned in_slots = 0, singles = 0;

        for (size_t i = 0; i < HOLDERS; i++) {
                const Holder *one = &holders[i];

                if (!holder_counts(one))
                        continue;
                in_slots += one->slots;
                singles += one->single;
                for (size_t j = 0; j < i; j++) {
                        const Holder *other = &holders[j];

                        /* One that steps down may be shared already, without knowing yet. */
                        cr_assert_not((one->resources & other->resources) &&
                                          (holder_excludes(one) || holder_excludes(other)) &&
                                          holder_counts(other),
                                      "both hold");
                }
        }
        cr_assert_leq(in_slots, SLOTS);
        cr_assert_leq(singles, 1);
}

/* Who holds exclusively has a larger token than whoever did so before. */
static void check_token(const Holder *holder) {
        static const char *const names[] = {"a", "b"};

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                int64_t token = lock_set_fencing_token_of(holder->set, names[i]);

                if (meddled || holder->mode == LOCK_SHARED || !(holder->resources & (1U << i)))
                        continue;
                cr_assert_gt(token, newest[i]);
                newest[i] = token;
        }
}

static void on_lock(LockSet *set, LockEvent event, void *userdata) {
        Holder *holder = userdata;

        cr_assert_not(holder->over);
        cr_assert(event != LOCK_EVENT_FAILED || holder->slots, "%s", lock_set_fault(set));
        cr_assert_neq(event, LOCK_EVENT_REVOKED);
        if (event == LOCK_EVENT_DOWNGRADED) {
                cr_assert(holder->stepping);
                holder->mode = LOCK_SHARED;
                return;
        }
        holder->held = event == LOCK_EVENT_HELD;
        holder->over = !holder->held;
        if (!holder->held)
                return;
        check_token(holder);
        check_holders();
}

/* ---- callers ---- */

static void on_session(Session *session, SessionEvent event, void *userdata) {
        (void)session;
        (void)event;
        (void)userdata;
}

static void caller_start(void *userdata) {
        Caller *caller = userdata;
        const SessionOptions options = {
            .servers = ensemble_addresses(site_ensemble(site)),
            .session_timeout = 30 * USEC_PER_SEC,
            .rule = {2 * USEC_PER_SEC, 5, USEC_PER_SEC, 8 * USEC_PER_SEC},
        };

        cr_assert_geq(sd_event_new(&caller->event), 0);
        cr_assert_eq(session_new(caller->event, &options, on_session, caller, &caller->session), 0);
}

static void caller_begin(Caller *caller, unsigned number) {
        g_autofree char *name = g_strdup_printf("n%u", number),
                        *directory = g_build_filename(g_get_tmp_dir(), name, NULL);

        caller->machine = machine_new(site_world(site), name, directory);
        machine_set_drift(caller->machine, (int32_t)number * 100 - 100);
        caller->process = process_new(caller->machine);
        process_do(caller->process, caller_start, caller);
}

static void caller_stop(void *userdata) {
        Caller *caller = userdata;

        caller->session = session_free(caller->session);
        caller->event = sd_event_unref(caller->event);
        handles_finish(caller->process);
}

static void caller_end(Caller *caller) {
        process_end(caller->process);
        process_do(caller->process, caller_stop, caller);
        caller->process = process_free(caller->process);
        caller->machine = machine_free(caller->machine);
}

/* ---- what they do ---- */

/* Half of the exclusive ones may step down. */
static void holder_draw(Holder *holder) {
        *holder = (Holder){.caller = holder->caller};
        holder->mode = world_draw_once_in(dice, 2) ? LOCK_EXCLUSIVE : LOCK_SHARED;
        holder->slots = world_draw_once_in(dice, 4);
        holder->single = !holder->slots && world_draw_once_in(dice, 4);
        if (!holder->slots && !holder->single)
                holder->resources = (unsigned)world_draw_between(dice, 1, 3);
        holder->may_step =
            holder->resources && holder->mode == LOCK_EXCLUSIVE && world_draw_once_in(dice, 2);
}

static void holder_acquire(void *userdata) {
        Holder *holder = userdata;
        LockStrategy strategy = world_draw_once_in(dice, 6)   ? LOCK_STRATEGY_PARENT
                                : world_draw_once_in(dice, 6) ? LOCK_STRATEGY_POLL
                                                              : LOCK_STRATEGY_PREDECESSOR;
        const LockRequest requests[] = {{holder->resources & 1 ? "a" : "b", holder->mode},
                                        {"b", holder->mode}};
        const LockRequest slot = {"s", LOCK_EXCLUSIVE, .slots = slots};
        const LockRequest one = {"o", LOCK_EXCLUSIVE, .naming = LOCK_NAMING_SINGLE_NODE};
        const LockOptions options = {
            .parent = "/locks",
            .persistent = true,
            .wait = world_draw_once_in(dice, 8) ? 0 : USEC_INFINITY,
            .strategy = strategy,
            .may_downgrade = holder->may_step,
            .fresh_token = fresh,
        };

        (void)lock_set_acquire(holder->caller->session,
                               holder->single  ? &one
                               : holder->slots ? &slot
                                               : requests,
                               holder->resources == 3 ? 2 : 1, &options, on_lock, holder,
                               &holder->set);
}

static void holder_step_down(void *userdata) {
        Holder *holder = userdata;

        holder->stepping = lock_set_downgrade(holder->set) == 0;
        steps_down += holder->stepping;
}

static void holder_release(void *userdata) {
        Holder *holder = userdata;

        grants += holder->held;
        holder->set = lock_set_free(holder->set);
        holder->held = holder->over = false;
}

static void change_slots(void *userdata) {
        Session *session = ((Caller *)userdata)->session;

        if (session_zk(session))
                (void)lock_change_slots(session, directories[2], slots, NULL, NULL);
}

/* Somebody else deletes what somebody stands in line with. */
static void meddle(Client *stranger) {
        const char *directory =
            directories[world_draw_between(dice, 0, G_N_ELEMENTS(directories) - 1)];
        const TreeNode *node = node_at(directory);
        g_auto(GStrv) names = node ? tree_node_children(node) : NULL;
        guint n = names ? g_strv_length(names) : 0;
        g_autofree char *path = NULL;

        if (n == 0)
                return;
        path = g_strconcat(directory, "/", names[world_draw_between(dice, 0, n - 1)], NULL);
        if (world_draw_once_in(dice, 2))
                (void)client_set(stranger, path, "x", -1);
        else
                (void)client_delete(stranger, path, -1);
}

static void holder_act(Holder *holder) {
        bool runs = holder->set && !machine_is_frozen(holder->caller->machine);
        uint64_t what = world_draw_between(dice, 0, 9);

        if (!holder->set) {
                holder->caller = &callers[world_draw_between(dice, 0, CALLERS - 1)];
                holder_draw(holder);
                if (!machine_is_frozen(holder->caller->machine))
                        process_do(holder->caller->process, holder_acquire, holder);
        } else if (runs && holder->held && holder->may_step && !holder->stepping) {
                process_do(holder->caller->process, holder_step_down, holder);
        } else if (runs && (holder->over || (holder->held && what < 7) || what == 0)) {
                process_do(holder->caller->process, holder_release, holder);
        }
}

/* ---- what befalls them ---- */

static Host *caller_host(const Caller *caller) {
        return site_host(site, machine_name(caller->machine));
}

static void befall(void) {
        Ensemble *ensemble = site_ensemble(site);
        unsigned server = (unsigned)world_draw_between(dice, 0, ensemble_size(ensemble) - 1);
        Caller *caller = &callers[world_draw_between(dice, 0, CALLERS - 1)];
        Host *host = caller_host(caller), *other = ensemble_host(ensemble, server);

        switch (world_draw_between(dice, 0, 13)) {
        case 0:
                if (ensemble_is_running(ensemble, server))
                        ensemble_kill(ensemble, server);
                break;
        case 1:
        case 2:
                ensemble_start(ensemble, server);
                break;
        case 3:
                ensemble_freeze(ensemble, server);
                break;
        case 4:
        case 5:
                ensemble_thaw(ensemble, server);
                break;
        case 6:
                network_cut(host, other);
                break;
        case 7:
                network_cut(other, host);
                break;
        case 8:
        case 9:
        case 10:
                network_mend(host, other);
                network_mend(other, host);
                break;
        case 11:
                machine_freeze(caller->machine);
                break;
        case 12:
                machine_thaw(caller->machine);
                break;
        case 13:
                ensemble_set_lag(ensemble, server,
                                 world_draw_between(dice, 0, 2) * 500 * USEC_PER_MSEC);
                break;
        }
}

static void heal(void) {
        Ensemble *ensemble = site_ensemble(site);

        for (unsigned i = 0; i < ensemble_size(ensemble); i++) {
                ensemble_start(ensemble, i);
                ensemble_thaw(ensemble, i);
                ensemble_set_lag(ensemble, i, 0);
                for (unsigned j = 0; j < CALLERS; j++) {
                        network_mend(caller_host(&callers[j]), ensemble_host(ensemble, i));
                        network_mend(ensemble_host(ensemble, i), caller_host(&callers[j]));
                }
        }
        for (unsigned i = 0; i < CALLERS; i++)
                machine_thaw(callers[i].machine);
}

/* ---- rounds ---- */

static void act(Client *stranger) {
        uint64_t what = world_draw_between(dice, 0, 999);

        if (what < 4)
                befall();
        else if (what < 12) {
                slots = (unsigned)world_draw_between(dice, 2, SLOTS);
                process_do(callers[0].process, change_slots, &callers[0]);
        } else if (meddled && what < 20)
                meddle(stranger);
        else if (meddled && what == 20 && session_id(callers[1].session) != 0)
                (void)ensemble_end_session(site_ensemble(site), session_id(callers[1].session));
        else
                holder_act(&holders[world_draw_between(dice, 0, HOLDERS - 1)]);
        check_holders();
}

static bool is_empty(const char *directory) {
        const TreeNode *node = node_at(directory);

        return !node || !node->children || g_tree_nnodes(node->children) == 0;
}

/* Whoever holds lets go. Return: whether nobody waits any more, and nothing is left. */
static bool is_quiet(void *userdata) {
        bool quiet = true;

        (void)userdata;
        for (size_t i = 0; i < HOLDERS; i++) {
                if (holders[i].held || holders[i].over)
                        process_do(holders[i].caller->process, holder_release, &holders[i]);
                quiet = quiet && !holders[i].set;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++)
                quiet = quiet && is_empty(directories[i]);
        return quiet;
}

static void play(uint64_t seed) {
        EnsembleOptions options = ENSEMBLE_DEFAULTS;
        Client *stranger;
        usec_t until;

        options.n_servers = 3;
        site = site_new(seed, &options);
        dice = world_chance_new(site_world(site), "dice");
        meddled = seed % 2;
        fresh = seed % 4 < 2;
        slots = 3;
        memset(newest, 0, sizeof(newest));
        memset(holders, 0, sizeof(holders));
        stranger = client_new(site, "stranger", NULL, 10 * USEC_PER_SEC, NULL, NULL);
        for (unsigned i = 0; i < CALLERS; i++)
                caller_begin(&callers[i], i);
        until = world_now(site_world(site)) + DURATION;
        while (world_now(site_world(site)) < until) {
                site_run(site, world_draw_between(dice, 0, PAUSE));
                act(stranger);
        }
        heal();
        cr_assert(site_await(site, is_quiet, NULL, PATIENCE), "somebody waits for ever");
        for (unsigned i = 0; i < CALLERS; i++)
                caller_end(&callers[i]);
        world_chance_free(dice);
        site = site_free(site);
}

Test(lock_clients, nobody_holds_beside_another_and_nobody_waits_for_ever, .timeout = 900) {
        const char *seed = g_getenv("JOBKEEPER_TEST_SEED");
        uint64_t first = seed ? g_ascii_strtoull(seed, NULL, 10) : g_random_int();

        for (uint64_t i = first; i < first + (seed ? 1 : ROUNDS); i++) {
                fprintf(stderr, "JOBKEEPER_TEST_SEED=%" G_GUINT64_FORMAT "\n", i);
                play(i);
        }
        fprintf(stderr, "%u grants, %u steps down\n", grants, steps_down);
        cr_expect(seed || grants > 200 * ROUNDS);
        cr_expect(seed || steps_down > 10 * ROUNDS);
}
