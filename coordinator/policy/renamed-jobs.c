/* See renamed-jobs.h. */
#include "renamed-jobs.h"

#include <string.h>

#include "job-file.h"

typedef struct Renamed {
        GHashTable *defined; /* name → JobSpec: of those that are defined */
        GHashTable *first;   /* name that one had → JobSpec: the first that says so */
        GHashTable *several; /* a set: names that several had */
} Renamed;

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
                        g_hash_table_insert(renamed->first, was, job);
                else if (strcmp(first->name, job->name) != 0)
                        g_hash_table_add(renamed->several, was);
        }
}

static bool renamed_is_refused(const Renamed *renamed, const JobSpec *job,
                               Diagnostics *diagnostics) {
        const JobWas *was = &job->books.was;
        const JobSpec *other = was->job ? g_hash_table_lookup(renamed->defined, was->job) : NULL;

        if (!was->job)
                return false;
        if (other) {
                diagnostics_add(diagnostics, &was->mark,
                                "job \"%s\": \"was\" names \"%s\", which is defined still, in line "
                                "%u of %s: take that out, or \"was\" where it is another job; what "
                                "was in force of \"%s\" before stays",
                                job->name, was->job, other->mark.line, other->mark.file, job->name);
                return true;
        }
        if (!g_hash_table_contains(renamed->several, was->job))
                return false;
        diagnostics_add(
            diagnostics, &was->mark,
            "job \"%s\": \"was\" names \"%s\", and so does that of another job: keep it "
            "in the one that goes on from there; what was in force of \"%s\" before "
            "stays",
            job->name, was->job, job->name);
        return true;
}

void renamed_jobs_check(const GPtrArray *files, const GPtrArray *others, Diagnostics *diagnostics) {
        g_autoptr(GHashTable) defined = g_hash_table_new(g_str_hash, g_str_equal),
                              first = g_hash_table_new(g_str_hash, g_str_equal),
                              several = g_hash_table_new(g_str_hash, g_str_equal);
        const Renamed renamed = {defined, first, several};

        renamed_note(&renamed, others);
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                renamed_note(&renamed, file->jobs);
                renamed_note(&renamed, file->refused);
                renamed_note(&renamed, file->duplicates);
        }
        for (guint i = 0; i < files->len; i++) {
                JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len;)
                        if (renamed_is_refused(&renamed, file->jobs->pdata[j], diagnostics))
                                g_ptr_array_add(file->duplicates,
                                                g_ptr_array_steal_index(file->jobs, j));
                        else
                                j++;
        }
}
