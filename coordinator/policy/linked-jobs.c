/* See linked-jobs.h. */
#include "linked-jobs.h"

#include <string.h>

#include "job-circle.h"
#include "nearest.h"

/* ---- circles ---- */

static const JobAfter *linked_after(const JobSpec *job, const char *parent) {
        const GPtrArray *after = job->books.links.after;

        for (guint i = 0; after && i < after->len; i++)
                if (strcmp(((const JobAfter *)after->pdata[i])->job, parent) == 0)
                        return after->pdata[i];
        return NULL;
}

/* Return: where the job says that it is in the circle: that it follows the one before it, or has
 * the next one run. */
static const Mark *linked_mark(const JobSpec *job, const char *before, const char *next) {
        const JobLinks *links = &job->books.links;
        const JobAfter *after = linked_after(job, before);

        if (after)
                return &after->mark;
        if (g_strcmp0(links->on_failure.job, next) == 0)
                return &links->on_failure.mark;
        return g_strcmp0(links->on_recovery.job, next) == 0 ? &links->on_recovery.mark : &job->mark;
}

static void linked_report_circle(const GPtrArray *circle, guint index, Diagnostics *diagnostics) {
        const JobSpec *job = circle->pdata[index],
                      *before = circle->pdata[(index + circle->len - 1) % circle->len],
                      *next = circle->pdata[(index + 1) % circle->len];
        g_autofree char *text = job_circle_to_string(circle);

        diagnostics_add(diagnostics, linked_mark(job, before->name, next->name),
                        "job \"%s\" is in a circle that would never end: %s: take one of these "
                        "links out; what was in force of the job before stays",
                        job->name, text);
}

/* Return: whether the file has jobs of the circle. */
static bool linked_set_aside(JobFile *file, const GPtrArray *circle, Diagnostics *diagnostics) {
        bool found = false;

        for (guint i = 0; file->good && i < file->jobs->len;) {
                guint index;

                if (!g_ptr_array_find((GPtrArray *)circle, file->jobs->pdata[i], &index)) {
                        i++;
                        continue;
                }
                linked_report_circle(circle, index, diagnostics);
                g_ptr_array_add(file->duplicates, g_ptr_array_steal_index(file->jobs, i));
                found = true;
        }
        return found;
}

static void linked_add_all(GPtrArray *to, const GPtrArray *from) {
        for (guint i = 0; i < from->len; i++)
                g_ptr_array_add(to, from->pdata[i]);
}

bool linked_jobs_break_circle(const GPtrArray *files, const GPtrArray *others,
                              Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new(), circle = NULL;
        bool found = false;

        linked_add_all(jobs, others);
        for (guint i = 0; i < files->len; i++)
                if (((const JobFile *)files->pdata[i])->good)
                        linked_add_all(jobs, ((const JobFile *)files->pdata[i])->jobs);
        circle = job_circle_find(jobs);
        for (guint i = 0; circle && i < files->len; i++)
                found |= linked_set_aside(files->pdata[i], circle, diagnostics);
        return found;
}

/* ---- names ---- */

static void linked_add_names(GHashTable *names, const GPtrArray *jobs) {
        for (guint i = 0; i < jobs->len; i++)
                if (jobs->pdata[i])
                        g_hash_table_add(names, ((const JobSpec *)jobs->pdata[i])->name);
}

GHashTable *linked_jobs_names(const GPtrArray *files) {
        GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                linked_add_names(names, file->jobs);
                linked_add_names(names, file->refused);
                linked_add_names(names, file->duplicates);
        }
        return names;
}

static void linked_check_name(const JobSpec *job, const char *key, const char *name,
                              const Mark *mark, GHashTable *names, Diagnostics *diagnostics) {
        g_autofree const char **known = NULL;
        const char *nearest;

        if (!name || g_hash_table_contains(names, name))
                return;
        known = (const char **)g_hash_table_get_keys_as_array(names, NULL);
        nearest = nearest_name(name, known);
        diagnostics_add(diagnostics, mark,
                        "job \"%s\": \"%s\" names \"%s\", and there is no such job%s%s%s: write "
                        "the name of one that is defined; the job takes effect without that",
                        job->name, key, name, nearest ? " (did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?)" : "");
}

void linked_jobs_check_names(const JobSpec *job, GHashTable *names, Diagnostics *diagnostics) {
        const JobLinks *links = &job->books.links;

        for (guint i = 0; links->after && i < links->after->len; i++) {
                const JobAfter *after = links->after->pdata[i];

                linked_check_name(job, "after", after->job, &after->mark, names, diagnostics);
        }
        linked_check_name(job, "on-failure", links->on_failure.job, &links->on_failure.mark, names,
                          diagnostics);
        linked_check_name(job, "on-recovery", links->on_recovery.job, &links->on_recovery.mark,
                          names, diagnostics);
}

/* ---- who follows whom ---- */

static GPtrArray *linked_followers(GHashTable *index, const char *name) {
        GPtrArray *followers = g_hash_table_lookup(index, name);

        if (!followers) {
                followers = g_ptr_array_new();
                g_hash_table_insert(index, g_strdup(name), followers);
        }
        return followers;
}

static void linked_index_job(GHashTable *index, JobSpec *job, Diagnostics *diagnostics) {
        const GPtrArray *list = job->books.links.after;

        for (guint i = 0; list && i < list->len; i++) {
                const JobAfter *after = list->pdata[i];
                GPtrArray *followers = linked_followers(index, after->job);

                if (followers->len < JOB_AFTER_MAX)
                        g_ptr_array_add(followers, job);
                else
                        diagnostics_add(diagnostics, &after->mark,
                                        "job \"%s\" does not run after \"%s\", which is followed "
                                        "by %d jobs already: let it follow one of those",
                                        job->name, after->job, JOB_AFTER_MAX);
        }
}

GHashTable *linked_jobs_index(const GPtrArray *jobs, Diagnostics *diagnostics) {
        GHashTable *index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                  (GDestroyNotify)g_ptr_array_unref);

        for (guint i = 0; i < jobs->len; i++)
                linked_index_job(index, jobs->pdata[i], diagnostics);
        return index;
}
