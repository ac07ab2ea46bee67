/* See job-links.h. */
#include "job-links.h"

#include <string.h>

static void job_after_free(void *data) {
        JobAfter *after = data;

        g_free(after->job);
        g_free(after);
}

void job_links_clear(JobLinks *links) {
        g_clear_pointer(&links->after, g_ptr_array_unref);
        g_clear_pointer(&links->on_failure.job, g_free);
        g_clear_pointer(&links->on_recovery.job, g_free);
}

static guint job_links_count(const JobLinks *links) {
        return links->after ? links->after->len : 0;
}

const JobAfter *job_links_after(const JobLinks *links, const char *job) {
        for (guint i = 0; i < job_links_count(links); i++) {
                const JobAfter *after = links->after->pdata[i];

                if (strcmp(after->job, job) == 0)
                        return after;
        }
        return NULL;
}

char **job_links_parents(const JobLinks *links) {
        guint n = job_links_count(links);
        char **parents = g_new0(char *, n + 1);

        for (guint i = 0; i < n; i++)
                parents[i] = g_strdup(((const JobAfter *)links->after->pdata[i])->job);
        return parents;
}

bool job_links_equal(const JobLinks *a, const JobLinks *b) {
        if (job_links_count(a) != job_links_count(b) || a->all != b->all ||
            g_strcmp0(a->on_failure.job, b->on_failure.job) != 0 ||
            g_strcmp0(a->on_recovery.job, b->on_recovery.job) != 0)
                return false;
        for (guint i = 0; i < job_links_count(a); i++) {
                const JobAfter *x = a->after->pdata[i], *y = b->after->pdata[i];

                if (strcmp(x->job, y->job) != 0 || x->on != y->on)
                        return false;
        }
        return true;
}

static void job_after_validate(const char *job, const JobLinks *links, guint index,
                               Diagnostics *diagnostics) {
        const JobAfter *after = links->after->pdata[index];

        if (strcmp(after->job, job) == 0)
                diagnostics_add(diagnostics, &after->mark,
                                "job \"%s\" cannot run after itself: for a further attempt of what "
                                "failed use \"retries\"",
                                job);
        for (guint i = 0; i < index; i++)
                if (strcmp(after->job, ((const JobAfter *)links->after->pdata[i])->job) == 0)
                        diagnostics_add(diagnostics, &after->mark,
                                        "job \"%s\": \"after\" names \"%s\" twice: write it once, "
                                        "with \"on: any\" for a success and a failure",
                                        job, after->job);
}

static void job_hook_validate(const char *job, const JobHook *hook, const char *key,
                              Diagnostics *diagnostics) {
        if (g_strcmp0(hook->job, job) == 0)
                diagnostics_add(diagnostics, &hook->mark,
                                "job \"%s\": \"%s\" names the job itself: name another one, and "
                                "where \"defaults\" says it, give this job \"%s: []\"",
                                job, key, key);
}

void job_links_validate(const char *job, const JobLinks *links, Diagnostics *diagnostics) {
        for (guint i = 0; i < job_links_count(links); i++)
                job_after_validate(job, links, i, diagnostics);
        job_hook_validate(job, &links->on_failure, "on-failure", diagnostics);
        job_hook_validate(job, &links->on_recovery, "on-recovery", diagnostics);
}

static void job_links_add(const Key *entry, const char *label, const YamlNode *node,
                          GPtrArray *list, Diagnostics *diagnostics) {
        JobAfter *after = g_new0(JobAfter, 1);
        bool good = key_decode(entry, label, node, after, diagnostics);

        after->mark = node->mark;
        if (good && after->job) {
                g_ptr_array_add(list, after);
                return;
        }
        if (good)
                diagnostics_add(diagnostics, &node->mark,
                                "%s names no job: write \"job: NAME\" in it", label);
        job_after_free(after);
}

/* Return: whether as many stand in the list as may. */
static bool job_links_count_is_good(const char *key, const YamlNode *node, guint least, guint most,
                                    Diagnostics *diagnostics) {
        guint n = node->items->len;

        if (n < least)
                diagnostics_add(diagnostics, &node->mark,
                                n == 0 ? "\"%s\" names no job: name those that are followed, or "
                                         "leave \"after\" out"
                                       : "\"%s\" names one job alone: write it without \"all\", "
                                         "as \"after: NAME\" or \"after: {job: NAME, on: END}\"",
                                key);
        else if (n > most)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" names more than %u jobs", key,
                                most);
        return n >= least && n <= most;
}

static void job_links_add_list(const Key *key, const char *name, const YamlNode *node,
                               GPtrArray *list, Diagnostics *diagnostics) {
        g_autofree char *each = g_strdup_printf("an entry of \"%s\"", name);

        for (guint i = 0; i < node->items->len; i++)
                job_links_add(key->entry, each, node->items->pdata[i], list, diagnostics);
}

/* {all: [...]} or {any: [...]}: one of the two, and nothing beside it. Return: what is in it; NULL
 * where that is an error. */
static const YamlPair *job_links_only_pair(const YamlNode *node, Diagnostics *diagnostics) {
        const YamlPair *first = node->items->pdata[0];
        bool lists = true;

        if (node->items->len == 1)
                return first;
        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];

                lists &= pair->value->type == YAML_LIST;
        }
        diagnostics_add(diagnostics, &((const YamlPair *)node->items->pdata[1])->key->mark,
                        lists ? "\"after\" has both \"all\" and \"any\": write one of them; what "
                                "is to run after several jobs together and after others alone, is "
                                "two jobs"
                              : "in \"after\" nothing stands beside \"all\" or \"any\": write "
                                "\"{job: NAME, on: END}\" as an entry of its list");
        return NULL;
}

/* Return: whether it is a mapping of that kind, or one that is meant to be. */
static bool job_links_is_grouped(const YamlNode *node) {
        bool grouped = false;

        for (guint i = 0; node->type == YAML_MAPPING && i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                const char *name = pair->key->text;

                grouped |= pair->value->type == YAML_LIST || strcmp(name, "all") == 0 ||
                           strcmp(name, "any") == 0;
        }
        return grouped;
}

static void job_links_take_group(JobLinks *links, const Key *key, const YamlNode *node,
                                 GPtrArray *list, Diagnostics *diagnostics) {
        unsigned before = diagnostics_count(diagnostics);
        const YamlPair *pair;
        const char *name;

        key_table_decode(key->table, node, NULL, diagnostics);
        pair = diagnostics_count(diagnostics) == before ? job_links_only_pair(node, diagnostics)
                                                        : NULL;
        if (!pair)
                return;
        name = pair->key->text;
        links->all = strcmp(name, "all") == 0;
        if (job_links_count_is_good(name, pair->value, links->all ? 2 : 1,
                                    links->all ? JOB_AFTER_ALL_MAX : JOB_AFTER_MAX, diagnostics))
                job_links_add_list(key, name, pair->value, list, diagnostics);
}

void job_links_take_after(JobLinks *links, const Key *key, const YamlNode *node,
                          Diagnostics *diagnostics) {
        g_autofree char *one = g_strdup_printf("\"%s\"", key->name);
        GPtrArray *list = g_ptr_array_new_with_free_func(job_after_free);

        links->all = false;
        if (job_links_is_grouped(node))
                job_links_take_group(links, key, node, list, diagnostics);
        else if (node->type != YAML_LIST)
                job_links_add(key->entry, one, node, list, diagnostics);
        else if (job_links_count_is_good(key->name, node, 0, JOB_AFTER_MAX, diagnostics))
                job_links_add_list(key, key->name, node, list, diagnostics);
        if (links->after)
                g_ptr_array_unref(links->after);
        links->after = list;
}
