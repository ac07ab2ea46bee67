/* See job-keys.h. The order is that of the manual. What a line cannot say (lists of several shapes,
 * names, words that exclude each other) is said by the take_*() function that the line names.
 *
 * `defaults:` of a file may have every key of a job but the four that are its own: description,
 * schedule, every, exec. A key that a job sets replaces the whole value of the defaults; lists and
 * mappings are not merged. */
#include "job-keys.h"

#include <string.h>

#include "exec-shell.h"
#include "exec.h"
#include "glob.h"
#include "name.h"
#include "schedule.h"
#include "timezone.h"

#define DESCRIPTION_LENGTH_MAX 200
#define VARIABLE_OF_OURS_PREFIX "JOBKEEPER_"

static const char *description_fault(const char *text) {
        if (strlen(text) > DESCRIPTION_LENGTH_MAX)
                return "is longer than 200 bytes";
        return line_fault(text);
}

static const char *timezone_fault(const char *text) {
        return timezone_is_valid(text)
                   ? NULL
                   : "is not the name of a time zone (such as \"Europe/Berlin\")";
}

/* Return: what is wrong with the name of an environment variable, as a sentence fragment; or NULL.
 */
static const char *variable_fault(const char *name, size_t length) {
        if (length == 0 || g_ascii_isdigit(*name))
                return "must begin with a letter or '_'";
        for (size_t i = 0; i < length; i++)
                if (!g_ascii_isalnum(name[i]) && name[i] != '_')
                        return "may only have letters, digits and '_'";
        if (g_str_has_prefix(name, VARIABLE_OF_OURS_PREFIX))
                return "is set by jobkeeper itself";
        return NULL;
}

/* The service manager refuses control characters in a variable, but for tabs and line breaks. */
static bool variable_has_control(const char *value) {
        for (; *value; value++)
                if (g_ascii_iscntrl(*value) && *value != '\t' && *value != '\n')
                        return true;
        return false;
}

/* Adds NAME=value to `variables` (name -> NAME=value) when it can stand there. */
static void add_variable(GHashTable *variables, const Mark *mark, const char *name, size_t length,
                         const char *value, Diagnostics *diagnostics) {
        g_autofree char *key = g_strndup(name, length);
        const char *fault = variable_fault(key, length);

        if (!fault && variable_has_control(value))
                fault = "may not have control characters in its value";
        if (!fault && g_hash_table_contains(variables, key))
                fault = "is given twice";
        if (!fault && g_hash_table_size(variables) >= JOB_ENVIRONMENT_MAX)
                fault = "is one variable too many";
        if (fault) {
                diagnostics_add(diagnostics, mark, "environment variable \"%s\" %s", key, fault);
                return;
        }
        g_hash_table_insert(variables, g_strdup(key), g_strdup_printf("%s=%s", key, value));
}

static int compare_variables(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Return: the hash table's values, sorted; NULL-terminated. */
static char **sorted_values(GHashTable *table) {
        GPtrArray *values = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, table);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                g_ptr_array_add(values, g_strdup(value));
        g_ptr_array_sort(values, compare_variables);
        return (char **)g_ptr_array_free(values, FALSE);
}

static void take_environment(const Key *key, const YamlNode *node, void *target,
                             Diagnostics *diagnostics) {
        g_autoptr(GHashTable) variables =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        JobSpec *spec = target;

        for (guint i = 0; i < node->items->len; i++) {
                if (node->type == YAML_MAPPING) {
                        const YamlPair *pair = node->items->pdata[i];

                        add_variable(variables, &pair->key->mark, pair->key->text,
                                     strlen(pair->key->text), pair->value->text, diagnostics);
                } else {
                        const YamlNode *item = node->items->pdata[i];
                        const char *equals = strchr(item->text, '=');

                        if (equals)
                                add_variable(variables, &item->mark, item->text,
                                             (size_t)(equals - item->text), equals + 1,
                                             diagnostics);
                        else
                                diagnostics_add(diagnostics, &item->mark,
                                                "\"%s\" is not of the form NAME=value", item->text);
                }
        }
        g_strfreev(spec->environment);
        spec->environment = sorted_values(variables);
}

/* The list form: argv to the letter. */
static char **exec_from_list(const YamlNode *list) {
        GPtrArray *argv = g_ptr_array_new_null_terminated(0, NULL, TRUE);

        for (guint i = 0; i < list->items->len; i++) {
                const YamlNode *item = list->items->pdata[i];

                g_ptr_array_add(argv, g_strdup(item->text));
        }
        return (char **)g_ptr_array_free(argv, FALSE);
}

/* Warns of what a shell would understand and nobody here does; of a bad command it is why it is
 * bad. */
static void check_shell_syntax(const Key *key, const YamlNode *node, Diagnostics *diagnostics) {
        g_autofree char *syntax = exec_shell_syntax(node->text);
        g_autofree char *shell = syntax ? exec_in_shell(node->text) : NULL;

        if (syntax)
                diagnostics_warn(diagnostics, &node->mark,
                                 "\"%s\" has \"%s\", which only a shell understands, and there is "
                                 "no shell: the program gets it as an argument. For a shell write "
                                 "exec: %s",
                                 key->name, syntax, shell);
}

static void take_exec(const Key *key, const YamlNode *node, void *target,
                      Diagnostics *diagnostics) {
        g_autofree char *message = NULL;
        g_auto(GStrv) argv = NULL;
        JobSpec *spec = target;

        if (node->type == YAML_LIST)
                argv = exec_from_list(node);
        else
                (void)exec_split(node->text, &argv, &message);
        if (argv && !argv[0])
                message = g_strdup("is empty");
        else if (argv)
                message = exec_path_fault(argv[0]);
        if (!message && g_strv_length(argv) > JOB_ARGV_MAX)
                message = g_strdup_printf("has more than %d words", JOB_ARGV_MAX);
        if (node->type == YAML_SCALAR)
                check_shell_syntax(key, node, diagnostics);
        if (message) {
                diagnostics_add(diagnostics, &node->mark, "\"%s\" %s", key->name, message);
                return;
        }
        g_strfreev(spec->argv);
        spec->argv = g_steal_pointer(&argv);
        spec->argv_expand = node->type == YAML_SCALAR;
}

static void take_every(const Key *key, const YamlNode *node, void *target,
                       Diagnostics *diagnostics) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;
        JobSpec *spec = target;
        int r;

        r = schedule_new(NULL, &schedule, &message);
        if (r == 0)
                r = schedule_add_every(schedule, key_number(key, node), &message);
        if (r < 0) {
                diagnostics_add(diagnostics, &node->mark, "\"%s\": %s", key->name,
                                message ? message : g_strerror(-r));
                return;
        }
        (void)schedule_free(spec->schedule);
        spec->schedule = g_steal_pointer(&schedule);
}

static void take_lock_wait(const Key *key, const YamlNode *node, void *target,
                           Diagnostics *diagnostics) {
        ((JobSpec *)target)->lock_wait_set = true;
}

static int compare_resources(gconstpointer a, gconstpointer b) {
        return strcmp((*(JobResource *const *)a)->name, (*(JobResource *const *)b)->name);
}

static void job_resource_destroy(gpointer data) {
        job_resource_free(data);
}

/* Several may hold a resource of slots side by side already; "shared" would say nothing. */
static void job_resource_check_slots(const JobResource *resource, const YamlNode *node,
                                     Diagnostics *diagnostics) {
        const YamlNode *slots = yaml_node_get(node, "slots");

        if (resource->mode == JOB_LOCK_SHARED && resource->slots > 1)
                diagnostics_add(diagnostics, &slots->mark,
                                "\"slots\" and \"mode: shared\" cannot be used together");
}

static void take_locks(const Key *key, const YamlNode *node, void *target,
                       Diagnostics *diagnostics) {
        GPtrArray *resources = g_ptr_array_new_with_free_func(job_resource_destroy);
        JobSpec *spec = target;

        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                const char *fault = resource_name_fault(pair->key->text);
                g_autofree char *label =
                    g_strdup_printf("\"%s\" of \"%s\"", pair->key->text, key->name);
                JobResource *resource = g_new0(JobResource, 1);

                if (fault)
                        diagnostics_add(diagnostics, &pair->key->mark, "resource \"%s\" %s",
                                        pair->key->text, fault);
                resource->name = g_strdup(pair->key->text);
                resource->mode = JOB_LOCK_EXCLUSIVE;
                resource->mark = pair->key->mark;
                if (key_decode(key->entry, label, pair->value, resource, diagnostics))
                        job_resource_check_slots(resource, pair->value, diagnostics);
                g_ptr_array_add(resources, resource);
        }
        if (resources->len > JOB_RESOURCES_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" names more than %d resources",
                                key->name, JOB_RESOURCES_MAX);
        g_ptr_array_sort(resources, compare_resources);
        g_ptr_array_unref(spec->resources);
        spec->resources = resources;
}

static void job_node_match_destroy(gpointer data) {
        job_node_match_free(data);
}

/* Adds a condition whose place is `mark`. `label` NULL: on the node's name. */
static void add_match(GPtrArray *matches, const Mark *mark, const char *label, const char *pattern,
                      Diagnostics *diagnostics) {
        const char *fault = label ? name_fault(label) : NULL;
        JobNodeMatch *match;

        if (fault)
                diagnostics_add(diagnostics, mark, "label \"%s\" %s", label, fault);
        if (!*pattern)
                diagnostics_add(diagnostics, mark, "an empty pattern matches no node");
        fault = glob_fault(pattern);
        if (fault)
                diagnostics_add(diagnostics, mark, "the pattern \"%s\" %s", pattern, fault);
        match = g_new0(JobNodeMatch, 1);
        match->label = g_strdup(label);
        match->pattern = g_strdup(pattern);
        g_ptr_array_add(matches, match);
}

static void take_nodes(const Key *key, const YamlNode *node, void *target,
                       Diagnostics *diagnostics) {
        GPtrArray *matches = g_ptr_array_new_with_free_func(job_node_match_destroy);
        JobSpec *spec = target;

        if (node->type == YAML_SCALAR)
                add_match(matches, &node->mark, NULL, node->text, diagnostics);
        for (guint i = 0; node->type == YAML_LIST && i < node->items->len; i++) {
                const YamlNode *item = node->items->pdata[i];

                add_match(matches, &item->mark, NULL, item->text, diagnostics);
        }
        for (guint i = 0; node->type == YAML_MAPPING && i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];

                add_match(matches, &pair->key->mark, pair->key->text, pair->value->text,
                          diagnostics);
        }
        if (node->type == YAML_LIST && matches->len == 0)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" is empty: omit it for every node",
                                key->name);
        if (matches->len > JOB_NODE_MATCHES_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, JOB_NODE_MATCHES_MAX);
        g_ptr_array_unref(spec->nodes);
        spec->nodes = matches;
}

static const Key text_entry = {.name = "text", .forms = KEY_TEXT};
static const Key literal_entry = {.name = "text", .forms = KEY_LITERAL};
static const Key setting_entry = {
    .name = "setting", .forms = KEY_LITERAL | KEY_LIST, .entry = &literal_entry};

static const KeyChoice mode_choices[] = {
    {"once"}, {"each-node", 1, true}, {"service", 2, true}, {NULL}};
static const KeyChoice overlap_choices[] = {
    {"skip"}, {"queue", 1, true}, {"replace", 2, true}, {"allow", 3, true}, {NULL}};
static const KeyChoice catch_up_choices[] = {
    {"latest", JOB_CATCH_UP_LATEST}, {"none", JOB_CATCH_UP_NONE}, {"all", 2, true}, {NULL}};
static const KeyChoice on_lock_loss_choices[] = {{"stop"}, {"continue", 1, true}, {NULL}};
static const KeyChoice on_owner_lost_choices[] = {{"fail"}, {"rerun", 1, true}, {NULL}};
static const KeyChoice gap_choices[] = {{"shift"}, {NULL}};
static const KeyChoice overlap_time_choices[] = {{"first"}, {NULL}};
static const KeyChoice lock_choices[] = {{"exclusive", JOB_LOCK_EXCLUSIVE},
                                         {"shared", JOB_LOCK_SHARED},
                                         {"none", JOB_LOCK_NONE},
                                         {NULL}};
static const KeyChoice resource_choices[] = {
    {"exclusive", JOB_LOCK_EXCLUSIVE}, {"shared", JOB_LOCK_SHARED}, {NULL}};

static const Key dst_keys[] = {
    {
        .name = "gap",
        .forms = KEY_CHOICE,
        .fallback = "shift",
        .choices = gap_choices,
        .documentation = "What to do when a local time does not exist: run at the end of the gap.",
    },
    {
        .name = "overlap",
        .forms = KEY_CHOICE,
        .fallback = "first",
        .choices = overlap_time_choices,
        .documentation = "What to do when a local time occurs twice: run the first time.",
    },
    {NULL},
};
static const KeyTable dst_table = {"\"dst\"", dst_keys};

static const Key retries_keys[] = {
    KEY_RESERVED("attempts", KEY_INTEGER, "1", "How often a tick is attempted.", .min = 1,
                 .max = 100),
    KEY_RESERVED("delay", KEY_DURATION, "10s",
                 "How long to wait before the second attempt; doubled for each further one.",
                 .max = USEC_PER_DAY),
    KEY_RESERVED("max-delay", KEY_DURATION, "5min",
                 "The longest time to wait between two attempts.", .max = USEC_PER_DAY),
    {NULL},
};
static const KeyTable retries_table = {"\"retries\"", retries_keys};

static const Key resource_keys[] = {
    {
        .name = "mode",
        .forms = KEY_CHOICE,
        .fallback = "exclusive",
        .choices = resource_choices,
        KEY_FIELD(JobResource, mode),
        .documentation = "How the lock is held.",
    },
    {
        .name = "slots",
        .forms = KEY_INTEGER,
        .min = 1,
        .max = RESOURCE_SLOTS_MAX,
        KEY_FIELD(JobResource, slots),
        .documentation = "The number of holders at a time; if unset, that of \"resources\" in "
                         "jobkeeper.yaml, or 1.",
    },
    {NULL},
};
static const KeyTable resource_table = {"a resource", resource_keys};
static const Key resource_entry = {
    .name = "how the resource is held",
    .forms = KEY_CHOICE | KEY_TABLE,
    .choices = resource_choices,
    .table = &resource_table,
    KEY_FIELD(JobResource, mode),
};

static const Key job_keys[] = {
    {
        .name = "description",
        .forms = KEY_TEXT,
        .flags = KEY_JOB_ONLY,
        .fault = description_fault,
        KEY_FIELD(JobSpec, description),
        .documentation = "A description of the job.",
    },
    {
        .name = "mode",
        .forms = KEY_CHOICE,
        .fallback = "once",
        .choices = mode_choices,
        .documentation = "Whether a tick is run on one node, on every matching node in turn, or "
                         "the job is kept running.",
    },
    {
        .name = "schedule",
        .forms = KEY_TEXT | KEY_LIST,
        .flags = KEY_JOB_ONLY,
        .entry = &text_entry,
        .documentation =
            "When the job runs: a calendar expression as in systemd.time(7), or a list of them.",
    },
    {
        .name = "every",
        .forms = KEY_DURATION,
        .flags = KEY_JOB_ONLY,
        .min = USEC_PER_SEC,
        .max = 366 * USEC_PER_DAY,
        .take = take_every,
        .documentation = "The interval at which the job runs, instead of a schedule.",
    },
    {
        .name = "timezone",
        .forms = KEY_TEXT,
        .fallback = "UTC",
        .fault = timezone_fault,
        KEY_FIELD(JobSpec, timezone),
        .documentation = "The time zone in which the schedule is read.",
    },
    {
        .name = "dst",
        .forms = KEY_TABLE,
        .fallback = "{gap: shift, overlap: first}",
        .table = &dst_table,
        .documentation = "What to do when the clocks change.",
    },
    KEY_RESERVED("random-delay", KEY_DURATION, "0",
                 "Delay each start by a random time of up to this length.", .max = USEC_PER_DAY),
    {
        .name = "lock",
        .forms = KEY_CHOICE,
        .fallback = "exclusive",
        .choices = lock_choices,
        KEY_FIELD(JobSpec, lock),
        .documentation = "How a run holds the job's own lock.",
    },
    KEY_RESERVED("slots", KEY_INTEGER, "1",
                 "The number of runs that may hold the job's own lock at a time.", .min = 1,
                 .max = 1000),
    {
        .name = "locks",
        .forms = KEY_MAPPING,
        .flags = KEY_BY_TAKE | KEY_NAMES,
        .fallback = "{}",
        .entry = &resource_entry,
        .take = take_locks,
        .documentation = "Further locks that a run takes, and how it holds them.",
    },
    {
        .name = "lock-wait",
        .forms = KEY_DURATION,
        .max = USEC_INFINITY,
        .take = take_lock_wait,
        KEY_FIELD(JobSpec, lock_wait),
        .documentation =
            "How long a run may wait for its locks; if unset, for the rest of the start deadline.",
    },
    {
        .name = "overlap",
        .forms = KEY_CHOICE,
        .fallback = "skip",
        .choices = overlap_choices,
        .documentation = "What to do with a tick while the previous run has not ended.",
    },
    {
        .name = "catch-up",
        .forms = KEY_CHOICE,
        .fallback = "latest",
        .choices = catch_up_choices,
        KEY_FIELD(JobSpec, catch_up),
        .documentation = "Which missed ticks are run later.",
    },
    {
        .name = "start-deadline",
        .forms = KEY_DURATION,
        .fallback = "10min",
        .min = USEC_PER_SEC,
        .max = 366 * USEC_PER_DAY,
        KEY_FIELD(JobSpec, start_deadline),
        .documentation = "How late a tick may be started.",
    },
    {
        .name = "retries",
        .forms = KEY_TABLE,
        .fallback = "{attempts: 1, delay: 10s, max-delay: 5min}",
        .table = &retries_table,
        .documentation = "Further attempts after a failure.",
    },
    {
        .name = "on-lock-loss",
        .forms = KEY_CHOICE,
        .fallback = "stop",
        .choices = on_lock_loss_choices,
        .documentation = "What to do with a run whose locks can no longer be held.",
    },
    {
        .name = "on-owner-lost",
        .forms = KEY_CHOICE,
        .fallback = "fail",
        .choices = on_owner_lost_choices,
        .documentation = "What to do about a run whose node has disappeared.",
    },
    {
        .name = "timeout",
        .forms = KEY_DURATION,
        .fallback = "infinity",
        .min = USEC_PER_MSEC,
        .max = USEC_INFINITY,
        KEY_FIELD(JobSpec, timeout),
        .documentation = "How long a run may take.",
    },
    {
        .name = "stop-timeout",
        .forms = KEY_DURATION,
        .fallback = "5s", /* + kill-slack 2 s leaves 1 s of the fence budget 8 s */
        .min = USEC_PER_MSEC,
        .max = USEC_PER_HOUR,
        KEY_FIELD(JobSpec, stop_timeout),
        KEY_MARK_FIELD(JobSpec, stop_timeout_mark),
        .documentation = "How long to wait between SIGTERM and SIGKILL when a run is stopped.",
    },
    {
        .name = "nodes",
        .forms = KEY_LITERAL | KEY_LIST | KEY_MAPPING,
        .entry = &literal_entry,
        .take = take_nodes,
        .documentation = "The nodes on which the job may run: name patterns, or labels with "
                         "patterns; if unset, all.",
    },
    {
        .name = "exec",
        .forms = KEY_TEXT | KEY_LIST,
        .flags = KEY_JOB_ONLY,
        .entry = &literal_entry,
        .take = take_exec,
        .documentation = "The command line: a list of arguments, or a text that is split like "
                         "ExecStart=. Required.",
    },
    {
        .name = "user",
        .forms = KEY_LITERAL,
        .fault = account_fault,
        KEY_FIELD(JobSpec, user),
        .documentation = "The user to run the command as; if unset, root.",
    },
    {
        .name = "group",
        .forms = KEY_LITERAL,
        .fault = account_fault,
        KEY_FIELD(JobSpec, group),
        .documentation = "The group to run the command as; if unset, that of the user.",
    },
    {
        .name = "environment",
        .forms = KEY_MAPPING | KEY_LIST,
        .fallback = "{}",
        .entry = &literal_entry,
        .take = take_environment,
        .documentation = "Environment variables for the command.",
    },
    {
        .name = "working-directory",
        .forms = KEY_TEXT,
        .fault = path_fault,
        KEY_FIELD(JobSpec, working_directory),
        .documentation = "The working directory of the command; if unset, /.",
    },
    KEY_RESERVED("credentials", KEY_MAPPING, "{}", "Credentials to pass to the command.",
                 .entry = &text_entry),
    KEY_RESERVED("unit", KEY_MAPPING, "{}", "Additional settings of the systemd unit.",
                 .entry = &setting_entry),
    {
        .name = "history",
        .forms = KEY_INTEGER,
        .fallback = "50",
        .min = 1,
        .max = JOB_HISTORY_MAX,
        KEY_FIELD(JobSpec, history),
        .documentation = "The number of runs to remember.",
    },
    {NULL},
};
const KeyTable job_table = {"a job", job_keys};

static void take_defaults(const Key *key, const YamlNode *node, void *target,
                          Diagnostics *diagnostics) {
        ((JobFileRoot *)target)->defaults = node;
}

static void take_jobs(const Key *key, const YamlNode *node, void *target,
                      Diagnostics *diagnostics) {
        ((JobFileRoot *)target)->jobs = node;
}

static const Key job_entry = {.name = "job", .forms = KEY_TABLE, .table = &job_table};
static const Key job_file_keys[] = {
    {
        .name = "defaults",
        .forms = KEY_TABLE | KEY_NOTHING,
        .flags = KEY_BY_TAKE,
        .table = &job_table,
        .take = take_defaults,
        .documentation = "Defaults for all jobs in this file.",
    },
    {
        .name = "jobs",
        .forms = KEY_MAPPING | KEY_NOTHING,
        .flags = KEY_BY_TAKE | KEY_NAMES,
        .entry = &job_entry,
        .take = take_jobs,
        .documentation = "The jobs, by name.",
    },
    {NULL},
};
const KeyTable job_file_table = {"a job file", job_file_keys};

JobSpec *job_spec_new(void) {
        JobSpec *spec = g_new0(JobSpec, 1);

        spec->environment = g_new0(char *, 1);
        spec->resources = g_ptr_array_new_with_free_func(job_resource_destroy);
        spec->nodes = g_ptr_array_new_with_free_func(job_node_match_destroy);
        key_table_set_defaults(&job_table, spec);
        return spec;
}
