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

bool job_links_equal(const JobLinks *a, const JobLinks *b) {
        if (job_links_count(a) != job_links_count(b) ||
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

void job_links_take_after(JobLinks *links, const Key *key, const YamlNode *node,
                          Diagnostics *diagnostics) {
        g_autofree char *one = g_strdup_printf("\"%s\"", key->name),
                        *each = g_strdup_printf("an entry of \"%s\"", key->name);
        GPtrArray *list = g_ptr_array_new_with_free_func(job_after_free);

        if (node->type != YAML_LIST)
                job_links_add(key->entry, one, node, list, diagnostics);
        for (guint i = 0; node->type == YAML_LIST && i < node->items->len; i++)
                job_links_add(key->entry, each, node->items->pdata[i], list, diagnostics);
        if (list->len > JOB_AFTER_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" names more than %d jobs",
                                key->name, JOB_AFTER_MAX);
        if (links->after)
                g_ptr_array_unref(links->after);
        links->after = list;
}
