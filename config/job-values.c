/* See job-values.h. */
#include "job-values.h"

#include <string.h>

#include "exec-shell.h"
#include "exec.h"
#include "exit-set.h"
#include "glob.h"
#include "job.h"
#include "name.h"
#include "schedule.h"

#define VARIABLE_OF_OURS_PREFIX "JOBKEEPER_"
/* What the service manager tells the launch step, which notes it as the run's result. A unit's own
 * variables of these names would come before. What else it sets deceives nobody but the command. */
static const char *const variables_of_an_end[] = {"SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS",
                                                  NULL};

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
        if (g_strv_contains(variables_of_an_end, name))
                return "is set by systemd, to say how the command ended";
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

void job_take_environment(const Key *key, const YamlNode *node, void *target,
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
        g_strfreev(spec->command.environment);
        spec->command.environment = sorted_values(variables);
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

/* Return: newly allocated, what to do about what only a shell would understand; NULL where there is
 * nothing of that kind. */
static char *shell_advice(const YamlNode *node, const char *syntax) {
        g_autofree char *shell = exec_in_shell(node->text);

        if (g_str_has_prefix(syntax, "~"))
                return g_strdup("\"~\" is not replaced by a home directory: write the whole path");
        return g_strdup_printf("for a shell write exec: %s", shell);
}

/* Warns of what a shell would understand and nobody here does. */
static void check_shell_syntax(const Key *key, const YamlNode *node, Diagnostics *diagnostics) {
        g_autofree char *syntax = exec_shell_syntax(node->text);
        g_autofree char *advice = syntax ? shell_advice(node, syntax) : NULL;
        g_autofree char *shell = exec_in_shell(node->text);

        if (syntax)
                diagnostics_warn(diagnostics, &node->mark,
                                 "\"%s\" has \"%s\", which only a shell understands, and there is "
                                 "no shell: the program gets it as an argument. %c%s",
                                 key->name, syntax, g_ascii_toupper(*advice), advice + 1);
        else if (exec_has_lines(node->text))
                diagnostics_warn(diagnostics, &node->mark,
                                 "\"%s\" has several lines, which are one command line: each word "
                                 "is an argument of the first. For a script of a shell write exec: "
                                 "%s",
                                 key->name, shell);
}

/* The same of a list, where such a sign stands alone. */
static void check_list_signs(const Key *key, const YamlNode *node, char **argv,
                             Diagnostics *diagnostics) {
        unsigned place = 0;
        const char *sign = exec_list_sign((const char *const *)argv, &place);
        g_autofree char *shell = sign ? exec_list_in_shell((const char *const *)argv) : NULL;

        if (sign)
                diagnostics_warn(diagnostics, &((const YamlNode *)node->items->pdata[place])->mark,
                                 "\"%s\" has \"%s\", which only a shell understands, and there is "
                                 "no shell: the program gets it as an argument. For a shell write "
                                 "exec: %s",
                                 key->name, sign, shell);
}

/* A command that cannot be run is told of once, with what it was probably meant to be. */
static void report_exec(const Key *key, const YamlNode *node, const char *fault,
                        Diagnostics *diagnostics) {
        g_autofree char *syntax = node->type == YAML_SCALAR ? exec_shell_syntax(node->text) : NULL;
        g_autofree char *advice = syntax ? shell_advice(node, syntax) : NULL;

        diagnostics_add(diagnostics, &node->mark, "\"%s\" %s%s%s", key->name, fault,
                        advice ? "; " : "", advice ? advice : "");
}

void job_take_exec(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
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
        if (message) {
                report_exec(key, node, message, diagnostics);
                return;
        }
        if (node->type == YAML_SCALAR)
                check_shell_syntax(key, node, diagnostics);
        else
                check_list_signs(key, node, argv, diagnostics);
        g_strfreev(spec->command.argv);
        spec->command.argv = g_steal_pointer(&argv);
        spec->command.argv_expand = node->type == YAML_SCALAR;
}

void job_take_every(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
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

void job_take_lock_wait(const Key *key, const YamlNode *node, void *target,
                        Diagnostics *diagnostics) {
        ((JobSpec *)target)->lock_wait_set = true;
}

static int compare_resources(gconstpointer a, gconstpointer b) {
        return strcmp((*(JobResource *const *)a)->name, (*(JobResource *const *)b)->name);
}

/* Several may hold a resource of slots side by side already; "shared" would say nothing. */
static void job_resource_check_slots(const JobResource *resource, const YamlNode *node,
                                     Diagnostics *diagnostics) {
        const YamlNode *slots = yaml_node_get(node, "slots");

        if (resource->mode == JOB_LOCK_SHARED && resource->slots > 1)
                diagnostics_add(diagnostics, &slots->mark,
                                "\"slots\" and \"mode: shared\" cannot be used together");
}

void job_take_locks(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
        GPtrArray *resources = job_resources_new();
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

/* Adds a condition whose place is `mark`. `label` NULL: on the node's name. */
static void add_match(GPtrArray *matches, const Mark *mark, const char *label, const char *pattern,
                      Diagnostics *diagnostics) {
        const char *fault = label ? name_fault(label) : NULL;
        JobNodeMatch *match;

        if (fault)
                diagnostics_add(diagnostics, mark, "label \"%s\" %s", label, fault);
        if (!label && !strchr(pattern, '[') && strpbrk(pattern, " \t,"))
                diagnostics_warn(diagnostics, mark,
                                 "the pattern \"%s\" matches no node, because no node's name has a "
                                 "space or a comma: write a list with a comma between two names, "
                                 "[a, b]",
                                 pattern);
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

void job_take_nodes(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
        GPtrArray *matches = job_node_matches_new();
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
        g_ptr_array_unref(spec->place.nodes);
        spec->place.nodes = matches;
}

void job_take_after(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
        job_links_take_after(&((JobSpec *)target)->books.links, key, node, diagnostics);
}

void job_take_no_retry(const Key *key, const YamlNode *node, void *target,
                       Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) items = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        JobSpec *spec = target;

        for (guint i = 0; i < node->items->len; i++)
                g_ptr_array_add(items, ((const YamlNode *)node->items->pdata[i])->text);
        g_free(spec->retries.no_retry);
        spec->retries.no_retry = exit_set_of((const char *const *)items->pdata);
}
