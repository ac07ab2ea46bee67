/* See run-parent.h. */
#include "run-parent.h"

#include <glib.h>

#include "field.h"
#include "name.h"
#include "paths.h"
#include "run-state.h"
#include "schedule.h"
#include "statement.h"

#define STRING(member)                                                                             \
        { .key = #member, .kind = FIELD_STRING, .offset = offsetof(RunParent, member) }

static const Field run_parent_fields[] = {
    STRING(job),
    STRING(run),
    STRING(state),
    STRING(why),
    STRING(node),
    {.key = "tick",
     .kind = FIELD_TICK,
     .offset = offsetof(RunParent, tick),
     .high = SCHEDULE_TICK_MAX},
    {.key = "exit",
     .kind = FIELD_INT,
     .offset = offsetof(RunParent, exit_status),
     .none = -1,
     .high = 255},
    {.key = "chain",
     .kind = FIELD_UNSIGNED,
     .offset = offsetof(RunParent, chain),
     .high = RUN_PARENTS_MAX},
    {NULL},
};

RunParent run_parent_copy(const RunParent *parent) {
        RunParent copy = *parent;

        field_table_own(run_parent_fields, &copy);
        return copy;
}

void run_parent_clear(RunParent *parent) {
        field_table_clear(run_parent_fields, parent);
        *parent = RUN_PARENT_NONE;
}

/* Return: whether it is as statement_clean() leaves it. */
static bool is_clean(const char *text) {
        g_autofree char *clean = statement_clean(text);

        return g_str_equal(text, clean);
}

bool run_parent_is_good(const RunParent *parent) {
        RunState state;

        if (!parent->job)
                return !parent->run && !parent->state && !parent->why && !parent->node;
        return job_name_is_valid(parent->job) && run_id_is_valid(parent->run) && parent->state &&
               run_state_from_string(parent->state, &state) == 0 &&
               (!parent->node || name_is_valid(parent->node)) &&
               (!parent->why || is_clean(parent->why));
}

json_t *run_parent_to_json(const RunParent *parent) {
        return field_table_to_json(run_parent_fields, parent);
}

bool run_parent_from_json(const json_t *object, RunParent *ret) {
        RunParent read = RUN_PARENT_NONE;

        if (json_is_object(object) && field_table_from_json(run_parent_fields, object, &read) &&
            read.job && run_parent_is_good(&read)) {
                *ret = read;
                return true;
        }
        run_parent_clear(&read);
        return false;
}
