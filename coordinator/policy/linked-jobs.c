/* See linked-jobs.h. */
#include "linked-jobs.h"

#include "job-circle.h"
#include "nearest.h"

/* So many names are compared at a load to find what is meant by others. */
#define LINKED_COMPARED_MAX 10000

/* ---- circles ---- */

/* Return: where the job says that it is in the circle: that it follows the one before it, or has
 * the next one run. */
static const Mark *linked_mark(const JobSpec *job, const char *before, const char *next) {
        const JobLinks *links = &job->books.links;
        const JobAfter *after = job_links_after(links, before);

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

/* Where a job is in the circles. */
typedef struct LinkedPlace {
        const GPtrArray *circle;
        guint index;
} LinkedPlace;

/* Return: newly allocated, JobSpec → LinkedPlace. */
static GHashTable *linked_places(const GPtrArray *circles) {
        GHashTable *places = g_hash_table_new_full(NULL, NULL, NULL, g_free);

        for (guint i = 0; i < circles->len; i++) {
                const GPtrArray *circle = circles->pdata[i];

                for (guint j = 0; j < circle->len; j++) {
                        LinkedPlace *place = g_new(LinkedPlace, 1);

                        *place = (LinkedPlace){circle, j};
                        g_hash_table_insert(places, circle->pdata[j], place);
                }
        }
        return places;
}

/* Return: whether the file has jobs of the circles. */
static bool linked_set_aside(JobFile *file, GHashTable *places, Diagnostics *diagnostics) {
        bool found = false;

        for (guint i = 0; file->good && i < file->jobs->len;) {
                const LinkedPlace *place = g_hash_table_lookup(places, file->jobs->pdata[i]);

                if (!place) {
                        i++;
                        continue;
                }
                linked_report_circle(place->circle, place->index, diagnostics);
                g_ptr_array_add(file->duplicates, g_ptr_array_steal_index(file->jobs, i));
                found = true;
        }
        return found;
}

static void linked_add_all(GPtrArray *to, const GPtrArray *from) {
        for (guint i = 0; i < from->len; i++)
                g_ptr_array_add(to, from->pdata[i]);
}

bool linked_jobs_break_circles(const GPtrArray *files, const GPtrArray *others,
                               Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new(), circles = NULL;
        g_autoptr(GHashTable) places = NULL;
        bool found = false;

        linked_add_all(jobs, others);
        for (guint i = 0; i < files->len; i++)
                if (((const JobFile *)files->pdata[i])->good)
                        linked_add_all(jobs, ((const JobFile *)files->pdata[i])->jobs);
        circles = job_circles_find(jobs);
        places = linked_places(circles);
        for (guint i = 0; circles->len > 0 && i < files->len; i++)
                found |= linked_set_aside(files->pdata[i], places, diagnostics);
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

/* What there is to know of names that nobody has. */
typedef struct LinkedNames {
        GHashTable *names;
        const char **all;           /* of them, NULL-terminated; NULL: not needed so far */
        const char *last, *nearest; /* what was looked for last, and found */
        size_t compared;
        Diagnostics *diagnostics;
} LinkedNames;

/* Return: the name that may be meant, or NULL. */
static const char *linked_nearest(LinkedNames *names, const char *name) {
        if (names->last && strcmp(names->last, name) == 0)
                return names->nearest;
        if (names->compared >= LINKED_COMPARED_MAX)
                return NULL;
        if (!names->all)
                names->all = (const char **)g_hash_table_get_keys_as_array(names->names, NULL);
        names->compared += g_hash_table_size(names->names);
        names->last = name;
        names->nearest = nearest_name(name, names->all);
        return names->nearest;
}

static void linked_check_name(LinkedNames *names, const JobSpec *job, const char *key,
                              const char *name, const Mark *mark) {
        const char *nearest;

        if (!name || g_hash_table_contains(names->names, name))
                return;
        nearest = linked_nearest(names, name);
        diagnostics_add(names->diagnostics, mark,
                        "job \"%s\": \"%s\" names \"%s\", and there is no such job%s%s%s: write "
                        "the name of one that is defined; the job takes effect without that",
                        job->name, key, name, nearest ? " (did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?)" : "");
}

static void linked_check_job(LinkedNames *names, const JobSpec *job) {
        const JobLinks *links = &job->books.links;

        for (guint i = 0; links->after && i < links->after->len; i++) {
                const JobAfter *after = links->after->pdata[i];

                linked_check_name(names, job, "after", after->job, &after->mark);
        }
        linked_check_name(names, job, "on-failure", links->on_failure.job, &links->on_failure.mark);
        linked_check_name(names, job, "on-recovery", links->on_recovery.job,
                          &links->on_recovery.mark);
}

void linked_jobs_check_names(const GPtrArray *jobs, GHashTable *names, Diagnostics *diagnostics) {
        LinkedNames known = {.names = names, .diagnostics = diagnostics};

        for (guint i = 0; i < jobs->len; i++)
                linked_check_job(&known, jobs->pdata[i]);
        g_free(known.all);
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
