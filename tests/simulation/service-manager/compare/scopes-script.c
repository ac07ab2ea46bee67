/* Scopes, in the same way: see script.h and script.c. A command is begun by somebody else, and
 * moved into a scope; each step is over when the service manager is ending none, and everybody who
 * follows one was told.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "scope.h"
#include "script.h"

#define SLOTS 3
#define STOP_TIMEOUT (400 * USEC_PER_MSEC)

typedef struct ScopeSlot {
        unsigned number;
        char *name; /* NULL: never had one */
        ScriptConduct conduct;
        bool fenced;
        bool main_ends, ends; /* the main process; all of it */
        Scope *scope;
        char *cgroup;
        char told[8]; /* s(tarted), f(ailed), e(mpty), in their order */
        bool adopted;
        char *printed; /* last */
} ScopeSlot;

static struct {
        GRand *random;
        UnitManager *manager;
        ScopeSlot slots[SLOTS];
        unsigned serial;
} scopes;

static unsigned scopes_draw(unsigned n) {
        return (unsigned)g_rand_int_range(scopes.random, 0, (gint32)n);
}

/* ---- what is told, and printed ---- */

static void slot_on_event(Scope *scope, ScopeEvent event, void *userdata) {
        ScopeSlot *slot = userdata;
        size_t length = strlen(slot->told);

        g_assert_cmpuint(length + 1, <, sizeof(slot->told));
        slot->told[length] = "sfe"[event];
        if (event != SCOPE_EVENT_STARTED)
                return;
        g_free(slot->cgroup);
        slot->cgroup = g_strdup(scope_cgroup(scope));
}

static bool slot_was_told(const ScopeSlot *slot, const char *letters) {
        return strpbrk(slot->told, letters);
}

static void slot_print(ScopeSlot *slot) {
        g_autofree char *text = NULL;

        if (!slot->name)
                return;
        text = g_strdup_printf("scope %u: %s, main process %d%s%s%s", slot->number,
                               stage_has_scope(slot->name) ? "there" : "absent",
                               stage_status(slot->name), slot->scope ? "; owner told " : "",
                               slot->scope ? slot->told : "",
                               slot->scope && scope_is_populated(slot->scope) ? ", populated" : "");
        if (g_strcmp0(text, slot->printed) == 0)
                return;
        printf("%s\n", text);
        g_free(slot->printed);
        slot->printed = g_steal_pointer(&text);
}

static bool slot_is_calm(const ScopeSlot *slot) {
        if (!slot->name)
                return true;
        if ((slot->main_ends && stage_status(slot->name) < 0) ||
            (slot->ends && stage_has_scope(slot->name)))
                return false;
        if (!slot->main_ends && !stage_is_ready(slot->name))
                return false;
        return !slot->scope || slot_was_told(slot, "fe") ||
               (!slot->ends && (slot->adopted || slot_was_told(slot, "s")));
}

static bool scopes_are_calm(void *userdata) {
        (void)userdata;
        if (unit_manager_busy(scopes.manager))
                return false;
        for (unsigned i = 0; i < SLOTS; i++)
                if (!slot_is_calm(&scopes.slots[i]))
                        return false;
        return true;
}

static void scopes_settle(void) {
        stage_await(scopes_are_calm, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                slot_print(&scopes.slots[i]);
        (void)fflush(stdout);
}

/* ---- one scope ---- */

static bool slot_lives(const ScopeSlot *slot) {
        return slot->name && !slot->ends;
}

static void slot_ends(ScopeSlot *slot) {
        slot->main_ends = slot->ends = true;
}

static void slot_leave(void *userdata) {
        ScopeSlot *slot = userdata;

        slot->scope = scope_free(slot->scope);
        slot->adopted = false;
        memset(slot->told, 0, sizeof(slot->told));
}

static char *scopes_next_name(void) {
        return g_strdup_printf(SCRIPT_PREFIX "lock-%u.scope", scopes.serial++);
}

static void slot_draw_conduct(ScopeSlot *slot) {
        slot->conduct = (ScriptConduct){
            .manners = (ScriptManners)scopes_draw(SCRIPT_MANNERS),
            .lives = true,
            .status = scopes_draw(2) > 0 ? 0 : (int)(1 + scopes_draw(3)),
            .remains = scopes_draw(3) == 0,
        };
}

typedef struct Start {
        const char *name;
        pid_t pid;
        bool fenced;
        ScopeSlot *slot; /* that is told */
        bool stops;      /* at once */
} Start;

static void slot_start(void *userdata) {
        const Start *start = userdata;
        const ScopeSpec spec = {.name = start->name,
                                .description = "a scope that is compared",
                                .slice = SCRIPT_SLICE,
                                .fenced = start->fenced,
                                .pid = start->pid,
                                .stop_timeout = STOP_TIMEOUT};

        g_assert_cmpint(
            scope_start(scopes.manager, &spec, slot_on_event, start->slot, &start->slot->scope), >=,
            0);
        if (start->stops)
                scope_stop(start->slot->scope);
}

static void slot_begin(ScopeSlot *slot, bool stops) {
        Start start;

        if (slot_lives(slot))
                return;
        stage_do(slot_leave, slot);
        g_free(slot->name);
        slot->name = scopes_next_name();
        slot_draw_conduct(slot);
        slot->fenced = scopes_draw(2) > 0;
        slot->main_ends = slot->ends = stops;
        start =
            (Start){slot->name, stage_begin(slot->name, &slot->conduct), slot->fenced, slot, stops};
        stage_do(slot_start, &start);
}

/* ---- steps: what a daemon does ---- */

static void step_begin(ScopeSlot *slot) {
        slot_begin(slot, false);
}

static void step_begin_and_stop(ScopeSlot *slot) {
        slot_begin(slot, true);
}

static bool slot_has_failed(void *userdata) {
        return slot_was_told(userdata, "f");
}

/* With the name of a scope that is there, or with a process that is not. */
static void step_begin_in_vain(ScopeSlot *slot) {
        const ScriptConduct conduct = {.lives = true};
        g_autofree char *name = scopes_next_name();
        bool taken = slot_lives(slot);
        ScopeSlot vain = {0};
        Start start = {taken ? slot->name : name, stage_begin(name, &conduct), false, &vain, false};

        if (!taken)
                stage_end(name);
        stage_do(slot_start, &start);
        stage_await(slot_has_failed, &vain);
        stage_do(slot_leave, &vain);
        if (taken)
                stage_end(name);
        printf("scope %u: %s\n", slot->number, taken ? "its name is taken" : "nobody is there");
}

static void slot_stop(void *userdata) {
        scope_stop(((ScopeSlot *)userdata)->scope);
}

static void slot_kill(void *userdata) {
        scope_kill(((ScopeSlot *)userdata)->scope);
}

static void step_stop(ScopeSlot *slot) {
        if (!slot->scope)
                return;
        slot_ends(slot);
        stage_do(slot_stop, slot);
}

static void step_kill(ScopeSlot *slot) {
        if (!slot->scope)
                return;
        slot_ends(slot);
        stage_do(slot_kill, slot);
}

static void step_leave(ScopeSlot *slot) {
        stage_do(slot_leave, slot);
}

static void slot_adopt(void *userdata) {
        ScopeSlot *slot = userdata;

        slot->adopted = true;
        g_assert_cmpint(scope_adopt(scopes.manager, slot->name, slot->cgroup, slot_on_event, slot,
                                    &slot->scope),
                        >=, 0);
}

static void step_adopt(ScopeSlot *slot) {
        if (slot->name && slot->cgroup && !slot->scope)
                stage_do(slot_adopt, slot);
}

/* ---- steps: what happens ---- */

static void step_release(ScopeSlot *slot) {
        if (!slot_lives(slot) || slot->main_ends)
                return;
        slot->main_ends = true;
        slot->ends = !slot->conduct.remains;
        stage_release(slot->name);
}

static void step_order(ScopeSlot *slot) {
        StageOrder order = scopes_draw(2) > 0 ? STAGE_STOP : STAGE_KILL;

        if (!slot->name)
                return;
        slot_ends(slot);
        stage_order(slot->name, order);
}

static bool scopes_is_connected(void *userdata) {
        (void)userdata;
        return stage_is_connected(scopes.manager);
}

static bool scopes_is_cut_off(void *userdata) {
        (void)userdata;
        return !unit_manager_connected(scopes.manager);
}

static void scopes_begin_daemon(void *userdata) {
        (void)userdata;
        g_assert_cmpint(stage_manager_new(&scopes.manager), >=, 0);
}

static void scopes_end_daemon(void *userdata) {
        (void)userdata;
        for (unsigned i = 0; i < SLOTS; i++)
                slot_leave(&scopes.slots[i]);
        scopes.manager = unit_manager_free(scopes.manager);
}

static bool slot_is_through(void *userdata) {
        const ScopeSlot *slot = userdata;

        return !slot->name || ((!slot->main_ends || stage_status(slot->name) >= 0) &&
                               (!slot->ends || !stage_has_scope(slot->name)));
}

static bool scopes_are_through(void *userdata) {
        (void)userdata;
        for (unsigned i = 0; i < SLOTS; i++)
                if (!slot_is_through(&scopes.slots[i]))
                        return false;
        return true;
}

static void scopes_lose_fence(void) {
        bool says = scopes_draw(2) > 0;

        printf("the fence %s\n", says ? "stops" : "dies");
        for (unsigned i = 0; i < SLOTS; i++)
                if (scopes.slots[i].name && scopes.slots[i].fenced)
                        slot_ends(&scopes.slots[i]);
        stage_fence_leaves(says);
        stage_await(scopes_are_through, NULL);
}

/* Who is to be bound to it does not move as long as it is not there. */
static void step_fence(ScopeSlot *slot) {
        scopes_lose_fence();
        if (scopes_draw(2) > 0)
                slot_begin(slot, false);
        stage_fence_returns();
}

static void scopes_something_happens(ScopeSlot *slot) {
        if (scopes_draw(4) == 0) {
                scopes_lose_fence();
                stage_fence_returns();
        } else if (scopes_draw(2) > 0)
                step_release(slot);
        else
                step_order(slot);
        stage_await(slot_is_through, slot);
}

static void step_restart(ScopeSlot *slot) {
        stage_do(scopes_end_daemon, NULL);
        scopes_something_happens(slot);
        stage_do(scopes_begin_daemon, NULL);
        stage_await(scopes_is_connected, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                step_adopt(&scopes.slots[i]);
}

/* What the daemon wants meanwhile it asks for afterwards. */
static void step_lose_connection(ScopeSlot *slot) {
        ScopeSlot *wanted = &scopes.slots[scopes_draw(SLOTS)];

        stage_break();
        stage_await(scopes_is_cut_off, NULL);
        scopes_something_happens(slot);
        step_stop(wanted);
        stage_mend();
        stage_await(scopes_is_connected, NULL);
}

/* ---- the script ---- */

static const struct {
        unsigned weight;
        const char *name;
        void (*func)(ScopeSlot *slot);
} steps[] = {
    {20, "begin", step_begin},
    {3, "begin, stop", step_begin_and_stop},
    {4, "begin in vain", step_begin_in_vain},
    {8, "stop", step_stop},
    {5, "kill", step_kill},
    {5, "leave", step_leave},
    {10, "adopt", step_adopt},
    {8, "release", step_release},
    {8, "others", step_order},
    {6, "restart", step_restart},
    {5, "connection", step_lose_connection},
    {6, "fence", step_fence},
};

static void scopes_step(uint32_t seed, unsigned number) {
        unsigned sum = 0, at, i = 0;
        ScopeSlot *slot;

        g_rand_set_seed_array(scopes.random, (const guint32[]){seed, number, 1}, 3);
        slot = &scopes.slots[scopes_draw(SLOTS)];
        for (size_t j = 0; j < G_N_ELEMENTS(steps); j++)
                sum += steps[j].weight;
        for (at = scopes_draw(sum); at >= steps[i].weight; i++)
                at -= steps[i].weight;
        printf("scopes, step %u: %s %u\n", number, steps[i].name, slot->number);
        steps[i].func(slot);
        scopes_settle();
}

static void slot_clear(ScopeSlot *slot) {
        g_free(slot->name);
        g_free(slot->cgroup);
        g_free(slot->printed);
}

void scopes_play(uint32_t seed, unsigned n_steps) {
        scopes.random = g_rand_new_with_seed(seed);
        stage_do(scopes_begin_daemon, NULL);
        stage_await(scopes_is_connected, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                scopes.slots[i] = (ScopeSlot){.number = i};
        for (unsigned i = 0; i < n_steps; i++)
                scopes_step(seed, i);
        for (unsigned i = 0; i < SLOTS; i++)
                if (slot_lives(&scopes.slots[i])) {
                        slot_ends(&scopes.slots[i]);
                        stage_order(scopes.slots[i].name, STAGE_KILL);
                }
        scopes_settle();
        stage_do(scopes_end_daemon, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                slot_clear(&scopes.slots[i]);
        g_rand_free(scopes.random);
}
