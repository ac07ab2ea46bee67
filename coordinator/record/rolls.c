/* See rolls.h. */
#include "rolls.h"

#include <errno.h>
#include <string.h>

#include "field.h"
#include "json-line.h"
#include "name.h"
#include "paths.h"
#include "schedule.h"

_Static_assert(sizeof(RunState) == sizeof(unsigned), "a state is a FIELD_WORD");

static const Field roll_fields[] = {
    {"tick", FIELD_TICK, offsetof(RollRun, tick), .low = 1, .high = SCHEDULE_TICK_MAX},
    {"node", FIELD_STRING, offsetof(RollRun, node)},
    {"run", FIELD_STRING, offsetof(RollRun, run)},
    {"state", FIELD_WORD, offsetof(RollRun, state), .words = run_state_words},
    {"since", FIELD_TIME, offsetof(RollRun, back.since)},
    {"boot", FIELD_STRING, offsetof(RollRun, back.boot)},
    {"again", FIELD_BOOL, offsetof(RollRun, back.again)},
    {"late", FIELD_BOOL, offsetof(RollRun, back.late)},
    {NULL},
};

static void roll_run_free(void *data) {
        field_table_clear(roll_fields, data);
        g_free(data);
}

Rolls *rolls_new(void) {
        Rolls *rolls = g_new0(Rolls, 1);

        rolls->runs = g_ptr_array_new_with_free_func(roll_run_free);
        return rolls;
}

Rolls *rolls_free(Rolls *rolls) {
        if (!rolls)
                return NULL;
        g_ptr_array_unref(rolls->runs);
        g_free(rolls);
        return NULL;
}

static const RollRun *rolls_at(const Rolls *rolls, guint place) {
        return rolls->runs->pdata[place];
}

/* Behind all of its tick. */
static void rolls_insert(Rolls *rolls, const RollRun *run) {
        RollRun *copy = g_new(RollRun, 1);
        guint place = rolls->runs->len;

        *copy = *run;
        field_table_own(roll_fields, copy);
        while (place > 0 && rolls_at(rolls, place - 1)->tick > run->tick)
                place--;
        g_ptr_array_insert(rolls->runs, (gint)place, copy);
}

Rolls *rolls_copy(const Rolls *rolls) {
        Rolls *copy = rolls_new();

        for (guint i = 0; i < rolls->runs->len; i++)
                rolls_insert(copy, rolls_at(rolls, i));
        return copy;
}

/* ---- what changes ---- */

/* Return: whether there is one; *ret_place is where. */
static bool rolls_find(const Rolls *rolls, int64_t tick, const char *node, guint *ret_place) {
        for (guint i = 0; i < rolls->runs->len; i++)
                if (rolls_at(rolls, i)->tick == tick &&
                    strcmp(rolls_at(rolls, i)->node, node) == 0) {
                        *ret_place = i;
                        return true;
                }
        return false;
}

/* Return: whether the oldest that is kept is one too many. */
static bool rolls_are_crowded(const Rolls *rolls) {
        unsigned ticks = 0;
        int64_t last = 0;

        for (guint i = 0; i < rolls->runs->len; i++) {
                ticks += rolls_at(rolls, i)->tick != last;
                last = rolls_at(rolls, i)->tick;
        }
        return rolls->runs->len > ROLL_RUNS_MAX || ticks > ROLL_TICKS_MAX;
}

/* Return: the place of the oldest that nobody waits for any more; of the oldest of all where there
 * is none. */
static guint rolls_to_forget(const Rolls *rolls) {
        for (guint i = 0; i < rolls->runs->len; i++) {
                const RollRun *run = rolls_at(rolls, i);

                if (run->state != RUN_CLAIMED && (run->back.since == 0 || run->back.late))
                        return i;
        }
        return 0;
}

const RollRun *rolls_get(const Rolls *rolls, int64_t tick, const char *node) {
        guint place;

        return rolls_find(rolls, tick, node, &place) ? rolls_at(rolls, place) : NULL;
}

/* Return: whether the two say the same of a node and a tick. */
static bool roll_run_is(const RollRun *a, const RollRun *b) {
        return a->state == b->state && strcmp(a->run, b->run) == 0 &&
               a->back.since == b->back.since && g_strcmp0(a->back.boot, b->back.boot) == 0 &&
               a->back.again == b->back.again && a->back.late == b->back.late;
}

bool rolls_put(Rolls *rolls, const RollRun *run) {
        void *before = NULL;
        guint place;

        if (rolls_find(rolls, run->tick, run->node, &place)) {
                if (roll_run_is(rolls_at(rolls, place), run))
                        return false;
                before = g_ptr_array_steal_index(rolls->runs, place);
        }
        rolls_insert(rolls, run);
        if (before) /* its texts may be those of the new one */
                roll_run_free(before);
        while (rolls_are_crowded(rolls))
                g_ptr_array_remove_index(rolls->runs, rolls_to_forget(rolls));
        return true;
}

bool rolls_note(Rolls *rolls, int64_t tick, const char *node, const char *run, RunState state) {
        const RollRun noted = {
            .tick = tick, .node = (char *)node, .run = (char *)run, .state = state};

        return rolls_put(rolls, &noted);
}

bool rolls_forget(Rolls *rolls, int64_t tick, const char *node) {
        guint place;

        if (!rolls_find(rolls, tick, node, &place))
                return false;
        g_ptr_array_remove_index(rolls->runs, place);
        return true;
}

/* ---- as it is written ---- */

char *rolls_encode(const Rolls *rolls) {
        json_t *list = json_array();

        for (guint i = 0; i < rolls->runs->len; i++)
                json_array_append_new(list, field_table_to_json(roll_fields, rolls_at(rolls, i)));
        return json_line_dump(json_pack("{s:o}", "runs", list));
}

/* Only what has ended is waited for, or was. */
static bool roll_return_is_good(const RollRun *run) {
        const RollReturn *back = &run->back;

        return (!back->boot || name_is_valid(back->boot)) &&
               (run->state != RUN_CLAIMED || !(back->since || back->again || back->late));
}

static bool roll_run_is_good(const RollRun *run) {
        return run->tick > 0 && run->node && name_is_valid(run->node) && run->run &&
               run_id_is_valid(run->run) && run->state != RUN_RUNNING &&
               run->state != RUN_SKIPPED && roll_return_is_good(run);
}

/* Return: whether it comes after those that are there. */
static bool rolls_append(Rolls *rolls, const json_t *object) {
        guint n = rolls->runs->len, place;
        RollRun run = {0};
        bool good = field_table_from_json(roll_fields, object, &run) && roll_run_is_good(&run) &&
                    n < ROLL_RUNS_MAX && (n == 0 || rolls_at(rolls, n - 1)->tick <= run.tick) &&
                    !rolls_find(rolls, run.tick, run.node, &place);

        if (good)
                rolls_insert(rolls, &run);
        field_table_clear(roll_fields, &run);
        return good;
}

int rolls_decode(const char *data, size_t size, Rolls **ret_rolls) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        json_t *object = json_line_parse(data, size);
        const json_t *list = json_object_get(object, "runs");
        bool good = json_is_array(list);

        for (size_t i = 0; good && i < json_array_size(list); i++)
                good = rolls_append(rolls, json_array_get(list, i));
        json_decref(object);
        if (!good)
                return -EBADMSG;
        *ret_rolls = g_steal_pointer(&rolls);
        return 0;
}
