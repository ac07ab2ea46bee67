/* See script.h.
 *
 * A few units at a time. Each step does one thing, and is over when nothing moves any more: a unit
 * that is followed has told its end or lives until somebody ends it, and the service manager is not
 * ending any. Then all that is known is printed: what was told, in its order, the results, and what
 * the service manager still has.
 */
#include "script.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clearing.h"

#define SLOTS 4
#define STOP_TIMEOUT (400 * USEC_PER_MSEC)
#define TIME_LIMIT (800 * USEC_PER_MSEC)

/* Who follows a unit. */
typedef struct Follower {
        Unit *unit;
        char told[8]; /* s(tarted), e(x)ited, e(nded), a(bsent), in their order */
} Follower;

typedef struct Slot {
        unsigned number;
        char *name; /* NULL: never had a unit */
        char nonce[33];
        ScriptConduct conduct;
        usec_t limit;
        bool fenced;
        bool ending; /* somebody asked for its end, or it ends by itself */
        Follower owner, guest;
        char *printed; /* last */
} Slot;

typedef struct Clearance {
        Clearing *clearing;
        GTree *found, *over; /* sets of names */
        const char *spared;
        bool gone;
} Clearance;

static struct {
        GRand *random;
        UnitManager *manager;
        Slot slots[SLOTS];
        unsigned serial;
        Clearance clearance;
        bool vague; /* what the service manager still has is not printed */
} script;

static const char *const script_slices[] = {SCRIPT_SLICE, NULL};

static unsigned draw(unsigned n) {
        return (unsigned)g_rand_int_range(script.random, 0, (gint32)n);
}

/* ---- what is told, and printed ---- */

static void follower_on_event(Unit *unit, UnitEvent event, void *userdata) {
        Follower *follower = userdata;
        size_t length = strlen(follower->told);

        (void)unit;
        g_assert_cmpuint(length + 1, <, sizeof(follower->told));
        follower->told[length] = "sxea"[event];
}

static bool follower_has(const Follower *follower, const char *letters) {
        return strpbrk(follower->told, letters);
}

static void follower_describe(const Follower *follower, const char *who, GString *text) {
        static const char *const stops[] = {"", ", stopped", ", stopped by others", ", shutdown",
                                            ", fenced"};
        const UnitResult *result = follower->unit ? unit_result(follower->unit) : NULL;

        if (result)
                g_string_append_printf(
                    text, "; %s told %s: %s %d%s \"%s\"%s%s%s%s", who, follower->told,
                    unit_outcome_to_string(result->outcome), result->exit_status,
                    stops[result->stop], result->detail, result->invocation_id[0] ? " id" : "",
                    result->started > 0 ? " began" : "", result->ended > 0 ? " ended" : "",
                    result->cpu != USEC_INFINITY ? " cpu" : "");
}

/* What is as it was is not printed again. */
static void slot_print(Slot *slot) {
        g_autoptr(GString) text = g_string_new(NULL);

        if (!slot->name)
                return;
        g_string_printf(
            text, "%u: %s%s", slot->number, script.vague ? "somehow" : stage_state(slot->name),
            unit_is_populated(script.manager, script_slices, slot->name) ? ", alive" : "");
        follower_describe(&slot->owner, "owner", text);
        follower_describe(&slot->guest, "guest", text);
        if (g_strcmp0(text->str, slot->printed) == 0)
                return;
        printf("%s\n", text->str);
        g_free(slot->printed);
        slot->printed = g_strdup(text->str);
}

/* ---- until nothing moves ---- */

static bool slot_lives(const Slot *slot) {
        return slot->conduct.lives && !slot->ending;
}

static bool follower_is_calm(const Slot *slot, const Follower *follower) {
        if (!follower->unit || follower_has(follower, "ea"))
                return true;
        return slot_lives(slot) && follower_has(follower, "s");
}

static bool slot_is_calm(const Slot *slot) {
        const char *state;

        if (!slot->name)
                return true;
        if (!follower_is_calm(slot, &slot->owner) || !follower_is_calm(slot, &slot->guest))
                return false;
        state = stage_state(slot->name);
        if (strcmp(state, "ends") == 0)
                return false;
        return strcmp(state, "runs") != 0 || (slot_lives(slot) && stage_is_ready(slot->name));
}

static bool script_is_calm(void *userdata) {
        (void)userdata;
        if (unit_manager_busy(script.manager))
                return false;
        for (unsigned i = 0; i < SLOTS; i++)
                if (!slot_is_calm(&script.slots[i]))
                        return false;
        return true;
}

static void script_settle(void) {
        stage_await(script_is_calm, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                slot_print(&script.slots[i]);
        (void)fflush(stdout);
}

/* ---- one unit ---- */

static void slot_draw_conduct(Slot *slot) {
        slot->conduct = (ScriptConduct){
            .fault = draw(5) > 0 ? SCRIPT_SOUND : (ScriptFault)draw(SCRIPT_FAULTS),
            .manners = (ScriptManners)draw(SCRIPT_MANNERS),
            .lives = draw(4) > 0,
            .status = draw(2) > 0 ? 0 : (int)(1 + draw(3)),
            .remains = draw(3) == 0,
        };
        slot->fenced = draw(2) > 0;
        slot->ending = !slot->conduct.lives || slot->conduct.fault != SCRIPT_SOUND;
        slot->limit = USEC_INFINITY;
        if (slot_lives(slot) && draw(8) == 0) {
                slot->limit = TIME_LIMIT;
                slot->ending = true;
        }
}

static void slot_fill_in(const Slot *slot, const char *nonce, UnitSpec *ret_spec) {
        static const char *const nobody[] = {"/nonexistent/command", NULL};
        ScriptFault fault = slot->conduct.fault;

        *ret_spec = (UnitSpec){.name = slot->name,
                               .description = "a unit that is compared",
                               .argv = stage_command(slot->name, &slot->conduct),
                               .slice = SCRIPT_SLICE,
                               .fenced = slot->fenced,
                               .nonce = nonce,
                               .timeout = slot->limit,
                               .stop_timeout = STOP_TIMEOUT};
        if (fault == SCRIPT_NO_COMMAND)
                ret_spec->argv = nobody;
        else if (fault == SCRIPT_NO_USER)
                ret_spec->user = "no-such-user";
        else if (fault == SCRIPT_NO_DIRECTORY)
                ret_spec->working_directory = "/nonexistent";
}

static void follower_start(Follower *follower, const Slot *slot, const char *nonce) {
        UnitSpec spec;

        slot_fill_in(slot, nonce, &spec);
        memset(follower->told, 0, sizeof(follower->told));
        g_assert_cmpint(
            unit_start(script.manager, &spec, follower_on_event, follower, &follower->unit), >=, 0);
}

static void follower_adopt(Follower *follower, const Slot *slot, const char *nonce) {
        memset(follower->told, 0, sizeof(follower->told));
        g_assert_cmpint(unit_adopt(script.manager, slot->name, nonce, follower_on_event, follower,
                                   &follower->unit),
                        >=, 0);
}

static void follower_leave(Follower *follower) {
        follower->unit = unit_free(follower->unit);
}

static void slot_leave(Slot *slot) {
        follower_leave(&slot->owner);
        follower_leave(&slot->guest);
}

static void slot_leave_what_is_over(void *userdata) {
        Slot *slot = userdata;

        if (follower_has(&slot->owner, "ea"))
                follower_leave(&slot->owner);
        if (follower_has(&slot->guest, "ea"))
                follower_leave(&slot->guest);
}

static void slot_begin(void *userdata) {
        Slot *slot = userdata;

        slot_leave(slot);
        g_free(slot->name);
        slot->name = g_strdup_printf(SCRIPT_PREFIX "%u.service", script.serial++);
        (void)g_snprintf(slot->nonce, sizeof(slot->nonce), "%032u", script.serial);
        slot_draw_conduct(slot);
        follower_start(&slot->owner, slot, slot->nonce);
}

/* ---- steps: what a daemon does with one ---- */

static void step_start(void *userdata) {
        Slot *slot = userdata;

        if (!slot->name || strcmp(stage_state(slot->name), "absent") == 0)
                slot_begin(slot);
}

static void step_start_and_stop(void *userdata) {
        Slot *slot = userdata;

        if (slot->name && strcmp(stage_state(slot->name), "absent") != 0)
                return;
        slot_begin(slot);
        slot->ending = true;
        unit_stop(slot->owner.unit);
}

static void step_stop(void *userdata) {
        Slot *slot = userdata;

        if (!slot->owner.unit)
                return;
        slot->ending |= !follower_has(&slot->owner, "a");
        unit_stop(slot->owner.unit);
}

static void step_kill(void *userdata) {
        Slot *slot = userdata;

        if (!slot->owner.unit)
                return;
        slot->ending |= !follower_has(&slot->owner, "a");
        /* Whether the stop that follows finds a job to take back is a question of time. */
        follower_leave(&slot->guest);
        unit_kill(slot->owner.unit);
}

static void step_discard(void *userdata) {
        Slot *slot = userdata;

        if (slot->owner.unit)
                unit_discard(slot->owner.unit);
        follower_leave(&slot->owner);
}

static void step_leave(void *userdata) {
        slot_leave(userdata);
}

static void step_adopt(void *userdata) {
        Slot *slot = userdata;

        if (slot->name && !slot->owner.unit)
                follower_adopt(&slot->owner, slot, slot->nonce);
}

/* One who believes that the name is theirs. */
static void step_visit(void *userdata) {
        static const char stranger[] = "99999999999999999999999999999999";
        Slot *slot = userdata;
        const char *nonce = draw(2) > 0 ? slot->nonce : stranger;

        if (!slot->name || slot->guest.unit || strcmp(stage_state(slot->name), "absent") == 0)
                return;
        if (draw(2) > 0)
                follower_start(&slot->guest, slot, nonce);
        else
                follower_adopt(&slot->guest, slot, nonce);
}

/* ---- steps: what happens to one ---- */

static void slot_release(Slot *slot) {
        if (!slot->name || !slot_lives(slot))
                return;
        slot->ending = true;
        stage_release(slot->name);
}

static void slot_order(Slot *slot) {
        StageOrder order = (StageOrder)draw(STAGE_ORDERS);

        if (!slot->name)
                return;
        printf("%u others: %s\n", slot->number,
               (const char *const[]){"stop", "kill", "reset"}[order]);
        if (order != STAGE_RESET)
                slot->ending = true;
        stage_order(slot->name, order);
}

/* ---- steps: what happens to all ---- */

static void script_leave_all(void *userdata) {
        (void)userdata;
        for (unsigned i = 0; i < SLOTS; i++)
                slot_leave(&script.slots[i]);
}

static void script_end_daemon(void *userdata) {
        script_leave_all(NULL);
        script.manager = unit_manager_free(script.manager);
        (void)userdata;
}

static bool script_is_connected(void *userdata) {
        (void)userdata;
        return stage_is_connected(script.manager);
}

static bool script_is_cut_off(void *userdata) {
        (void)userdata;
        return !unit_manager_connected(script.manager);
}

static void script_begin_daemon(void *userdata) {
        (void)userdata;
        g_assert_cmpint(stage_manager_new(&script.manager), >=, 0);
}

static bool slot_is_through(void *userdata) {
        const Slot *slot = userdata;
        const char *state = slot->name ? stage_state(slot->name) : "absent";

        return strcmp(state, "ends") != 0 && (strcmp(state, "runs") != 0 || !slot->ending);
}

static bool script_is_through(void *userdata) {
        (void)userdata;
        for (unsigned i = 0; i < SLOTS; i++)
                if (!slot_is_through(&script.slots[i]))
                        return false;
        return true;
}

static void script_lose_fence(void) {
        bool says = draw(2) > 0;

        printf("the fence %s\n", says ? "stops" : "dies");
        for (unsigned i = 0; i < SLOTS; i++)
                script.slots[i].ending |= script.slots[i].fenced;
        stage_fence_leaves(says);
        stage_await(script_is_through, NULL);
}

/* What is started without it waits, if it is bound to it. */
static void script_replace_fence(void) {
        Slot *slot = &script.slots[draw(SLOTS)];

        script_lose_fence();
        if (!slot->name || strcmp(stage_state(slot->name), "absent") == 0)
                stage_do(draw(4) > 0 ? step_start : step_start_and_stop, slot);
        stage_fence_returns();
}

/* What somebody else does meanwhile it finds done. */
static void script_something_happens(void) {
        Slot *slot = &script.slots[draw(SLOTS)];

        if (draw(4) == 0) {
                script_lose_fence();
                stage_fence_returns();
        } else if (draw(2) > 0)
                slot_release(slot);
        else
                slot_order(slot);
        stage_await(slot_is_through, slot);
}

static void script_restart(void) {
        stage_do(script_end_daemon, NULL);
        script_something_happens();
        stage_do(script_begin_daemon, NULL);
        stage_await(script_is_connected, NULL);
        script_settle();
        for (unsigned i = 0; i < SLOTS; i++)
                if (draw(4) > 0)
                        stage_do(step_adopt, &script.slots[i]);
}

static void script_lose_connection(void) {
        stage_break();
        stage_await(script_is_cut_off, NULL);
        script_something_happens();
        stage_mend();
        stage_await(script_is_connected, NULL);
        /* Whether what is over was referred to anew, and so is kept, is a question of time. */
        script.vague = true;
        script_settle();
        script.vague = false;
        for (unsigned i = 0; i < SLOTS; i++)
                stage_do(slot_leave_what_is_over, &script.slots[i]);
}

/* ---- steps: clearing ---- */

static bool clearance_spares(const char *unit, void *userdata) {
        return g_strcmp0(unit, ((const Clearance *)userdata)->spared) == 0;
}

static void clearance_found(const char *unit, bool exited, void *userdata) {
        g_tree_insert(((Clearance *)userdata)->found, g_strdup(unit), NULL);
}

static void clearance_over(const char *unit, void *userdata) {
        g_tree_insert(((Clearance *)userdata)->over, g_strdup(unit), NULL);
}

static void clearance_gone(void *userdata) {
        ((Clearance *)userdata)->gone = true;
}

static bool clearance_is_gone(void *userdata) {
        return ((const Clearance *)userdata)->gone;
}

static void clearance_begin(void *userdata) {
        static const char *const patterns[] = {"none-*.service", SCRIPT_PREFIX "*.service", NULL};
        Clearance *clearance = userdata;
        const ClearingOptions options = {.patterns = patterns,
                                         .slices = script_slices,
                                         .spare = clearance_spares,
                                         .found = clearance_found,
                                         .over = clearance_over,
                                         .gone = clearance_gone,
                                         .userdata = clearance};

        g_assert_cmpint(clearing_new(script.manager, &options, &clearance->clearing), >=, 0);
        if (draw(3) == 0)
                clearing_kill(clearance->clearing);
}

static void clearance_end(void *userdata) {
        Clearance *clearance = userdata;

        clearance->clearing = clearing_free(clearance->clearing);
}

static int clearance_compare(const void *one, const void *other, void *userdata) {
        (void)userdata;
        return strcmp(one, other);
}

static gboolean clearance_print(gpointer name, gpointer nothing, gpointer verb) {
        (void)nothing;
        printf("clearing %s %s\n", (const char *)verb, (const char *)name);
        return FALSE;
}

/* Which of those that are over it was told of depends on when they were. */
static void script_clear(void) {
        Clearance *clearance = &script.clearance;
        Slot *spared = &script.slots[draw(SLOTS)];

        stage_do(script_leave_all, NULL);
        script_settle();
        *clearance = (Clearance){
            .found = g_tree_new_full(clearance_compare, NULL, g_free, NULL),
            .over = g_tree_new_full(clearance_compare, NULL, g_free, NULL),
            .spared = spared->name,
        };
        stage_do(clearance_begin, clearance);
        stage_await(clearance_is_gone, clearance);
        stage_do(clearance_end, clearance);
        for (unsigned i = 0; i < SLOTS; i++)
                script.slots[i].ending |= &script.slots[i] != spared;
        g_tree_foreach(clearance->found, clearance_print, (void *)"found");
        g_tree_unref(clearance->found);
        g_tree_unref(clearance->over);
}

/* ---- the script ---- */

static const struct {
        unsigned weight;
        const char *name;
        void (*of_slot)(void *slot); /* of the daemon */
        void (*of_world)(Slot *slot);
        void (*of_all)(void);
} steps[] = {
    {20, "start", step_start, NULL, NULL},
    {2, "start, stop", step_start_and_stop, NULL, NULL},
    {10, "stop", step_stop, NULL, NULL},
    {6, "kill", step_kill, NULL, NULL},
    {8, "discard", step_discard, NULL, NULL},
    {4, "leave", step_leave, NULL, NULL},
    {10, "adopt", step_adopt, NULL, NULL},
    {6, "visit", step_visit, NULL, NULL},
    {10, "release", NULL, slot_release, NULL},
    {10, "others", NULL, slot_order, NULL},
    {6, "restart", NULL, NULL, script_restart},
    {6, "connection", NULL, NULL, script_lose_connection},
    {2, "clear", NULL, NULL, script_clear},
    {8, "fence", NULL, NULL, script_replace_fence},
};

/* Each has dice of its own, so that what is different has no part in what comes later. */
static void script_step(uint32_t seed, unsigned number) {
        unsigned sum = 0, at, i = 0;
        Slot *slot;

        g_rand_set_seed_array(script.random, (const guint32[]){seed, number}, 2);
        slot = &script.slots[draw(SLOTS)];
        for (size_t j = 0; j < G_N_ELEMENTS(steps); j++)
                sum += steps[j].weight;
        for (at = draw(sum); at >= steps[i].weight; i++)
                at -= steps[i].weight;
        printf("step %u: %s %u\n", number, steps[i].name, slot->number);
        if (steps[i].of_slot)
                stage_do(steps[i].of_slot, slot);
        else if (steps[i].of_world)
                steps[i].of_world(slot);
        else
                steps[i].of_all();
        script_settle();
}

static void slot_clear(Slot *slot) {
        g_clear_pointer(&slot->name, g_free);
        g_clear_pointer(&slot->printed, g_free);
}

static void script_do_all(void (*func)(void *slot)) {
        for (unsigned i = 0; i < SLOTS; i++)
                stage_do(func, &script.slots[i]);
        script_settle();
}

void script_play(uint32_t seed, unsigned n_steps) {
        script.random = g_rand_new_with_seed(seed);
        script.serial = 0;
        stage_do(script_begin_daemon, NULL);
        stage_await(script_is_connected, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                script.slots[i] = (Slot){.number = i};
        for (unsigned i = 0; i < n_steps; i++)
                script_step(seed, i);
        script_do_all(step_leave);
        script_do_all(step_adopt);
        script_do_all(step_kill);
        script_do_all(step_discard);
        stage_do(script_end_daemon, NULL);
        for (unsigned i = 0; i < SLOTS; i++)
                slot_clear(&script.slots[i]);
        g_rand_free(script.random);
}
