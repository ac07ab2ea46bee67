/* See renamed-jobs.h. */
#include "renamed-jobs.h"

#include <string.h>

#include "job-file.h"

typedef struct Renamed {
        GHashTable *before;  /* as renamed_jobs_check() */
        GHashTable *defined; /* name → JobSpec: of those that will be in force */
        GHashTable *first;   /* name that one had → JobSpec: the first that says so */
        GHashTable *several; /* a set: names that several had */
        GHashTable *aside;   /* a set: JobSpec */
        Diagnostics *diagnostics;
} Renamed;

/* Return: whether the job of that name went on from there before this load already. */
static bool renamed_is_in_force(const Renamed *renamed, const JobSpec *job) {
        const JobSpec *before = g_hash_table_lookup(renamed->before, job->name);

        return before && g_strcmp0(before->books.was.job, job->books.was.job) == 0;
}

static void renamed_note(const Renamed *renamed, const GPtrArray *jobs) {
        for (guint i = 0; i < jobs->len; i++) {
                JobSpec *job = jobs->pdata[i];
                const JobSpec *first = NULL;
                char *was = job->books.was.job;

                g_hash_table_insert(renamed->defined, job->name, job);
                if (!was)
                        continue;
                first = g_hash_table_lookup(renamed->first, was);
                if (!first)
                        g_hash_table_insert(renamed->first, g_strdup(was), job);
                else if (strcmp(first->name, job->name) != 0)
                        g_hash_table_add(renamed->several, g_strdup(was));
        }
}

/* Where several go on from one, that does which did before; the others take effect without. */
static void renamed_part(const Renamed *renamed, JobSpec *job) {
        JobWas *was = &job->books.was;

        if (!was->job || !g_hash_table_contains(renamed->several, was->job) ||
            renamed_is_in_force(renamed, job))
                return;
        diagnostics_add(renamed->diagnostics, &was->mark,
                        "job \"%s\": \"was\" names \"%s\", and so does that of another job: keep "
                        "it in the one that goes on from there; the job takes effect without that",
                        job->name, was->job);
        g_clear_pointer(&was->job, g_free);
}

/* `other` has the name that `job` had. It gives way where it is new and of another file: whoever
 * wrote that did not see that the name is not free, and takes no good job down. */
static void renamed_choose(const Renamed *renamed, const JobSpec *job, JobSpec *other) {
        const JobWas *was = &job->books.was;
        bool stays = g_hash_table_contains(renamed->before, other->name) ||
                     g_strcmp0(job->mark.file, other->mark.file) == 0;

        if (stays) {
                diagnostics_add(renamed->diagnostics, &was->mark,
                                "job \"%s\": \"was\" names \"%s\", which is defined still, in line "
                                "%u of %s: take that out, or \"was\" where it is another job; what "
                                "was in force of \"%s\" before stays",
                                job->name, was->job, other->mark.line, other->mark.file, job->name);
                g_hash_table_add(renamed->aside, (gpointer)job);
        } else if (g_hash_table_add(renamed->aside, other)) {
                diagnostics_add(renamed->diagnostics, &other->mark,
                                "job \"%s\" has the name that job \"%s\" had before, as \"was\" "
                                "says in line %u of %s: give it another one, or take that out; it "
                                "does not take effect",
                                other->name, job->name, was->mark.line, was->mark.file);
        }
}

/* What is kept beside the files stays, whatever is new. */
static void renamed_judge(const Renamed *renamed, const GPtrArray *jobs, bool kept) {
        for (guint i = 0; i < jobs->len; i++) {
                const JobSpec *job = jobs->pdata[i];
                const char *was = job->books.was.job;
                JobSpec *other = was ? g_hash_table_lookup(renamed->defined, was) : NULL;

                if (other && !g_hash_table_contains(renamed->aside, job) &&
                    !(kept && g_hash_table_contains(renamed->before, other->name)))
                        renamed_choose(renamed, job, other);
        }
}

static void renamed_set_aside(const Renamed *renamed, JobFile *file) {
        for (guint i = 0; i < file->jobs->len;)
                if (g_hash_table_contains(renamed->aside, file->jobs->pdata[i]))
                        g_ptr_array_add(file->duplicates, g_ptr_array_steal_index(file->jobs, i));
                else
                        i++;
}

void renamed_jobs_check(const GPtrArray *files, const GPtrArray *others, GHashTable *before,
                        Diagnostics *diagnostics) {
        g_autoptr(GHashTable) defined = g_hash_table_new(g_str_hash, g_str_equal),
                              first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                              several =
                                  g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                              aside = g_hash_table_new(g_direct_hash, g_direct_equal);
        const Renamed renamed = {before, defined, first, several, aside, diagnostics};
        g_autoptr(GPtrArray) good = g_ptr_array_new();

        for (guint i = 0; i < files->len; i++)
                if (((const JobFile *)files->pdata[i])->good)
                        g_ptr_array_add(good, files->pdata[i]);
        renamed_note(&renamed, others);
        for (guint i = 0; i < good->len; i++)
                renamed_note(&renamed, ((const JobFile *)good->pdata[i])->jobs);
        for (guint i = 0; i < good->len; i++) {
                const GPtrArray *jobs = ((const JobFile *)good->pdata[i])->jobs;

                for (guint j = 0; j < jobs->len; j++)
                        renamed_part(&renamed, jobs->pdata[j]);
        }
        renamed_judge(&renamed, others, true);
        for (guint i = 0; i < good->len; i++)
                renamed_judge(&renamed, ((const JobFile *)good->pdata[i])->jobs, false);
        for (guint i = 0; i < good->len; i++)
                renamed_set_aside(&renamed, good->pdata[i]);
}
