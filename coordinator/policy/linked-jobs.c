/* See linked-jobs.h. */
#include "linked-jobs.h"

#include <string.h>

#include "job-circle.h"
#include "name.h"
#include "nearest.h"

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

/* What is in circles, as it is taken apart. */
typedef struct Knot {
        GPtrArray *jobs;    /* JobSpec */
        GPtrArray *circle;  /* of them, one to show */
        GHashTable *spared; /* JobFile: others' links lead to its jobs, so that it did not tie it */
        bool tied;          /* by one file or some: the jobs of the others stay */
} Knot;

static void knot_free(void *data) {
        Knot *knot = data;

        g_ptr_array_unref(knot->circle);
        g_hash_table_unref(knot->spared);
        g_free(knot);
}

static void linked_report_circle(const GPtrArray *circle, const JobSpec *job,
                                 Diagnostics *diagnostics) {
        guint index = 0;
        const Mark *mark = &job->mark;
        g_autofree char *text = job_circle_to_string(circle);

        if (g_ptr_array_find((GPtrArray *)circle, job, &index)) {
                const JobSpec *before = circle->pdata[(index + circle->len - 1) % circle->len],
                              *next = circle->pdata[(index + 1) % circle->len];

                mark = linked_mark(job, before->name, next->name);
        }
        diagnostics_add(diagnostics, mark,
                        "job \"%s\" is in a circle that would never end: %s: take one of these "
                        "links out; what was in force of the job before stays",
                        job->name, text);
}

/* The link between the two is said by `job`. Where they are of two files, the other one's did not
 * ask for it. */
static void knot_spare(Knot *knot, GHashTable *inside, GHashTable *files, const JobSpec *job,
                       const char *other) {
        const JobSpec *named = other ? g_hash_table_lookup(inside, other) : NULL;
        gpointer file = named ? g_hash_table_lookup(files, named) : NULL;

        if (named && file != g_hash_table_lookup(files, job))
                g_hash_table_add(knot->spared, file);
}

/* A file ties a knot alone where it says every link between its jobs in it and those of others:
 * whoever did not name the others' jobs could do nothing about it. `files`: JobSpec → JobFile; what
 * is kept is of none. */
static Knot *knot_new(GPtrArray *jobs, GHashTable *files) {
        g_autoptr(GHashTable) inside = g_hash_table_new(g_str_hash, g_str_equal);
        Knot *knot = g_new0(Knot, 1);

        knot->jobs = jobs;
        knot->circle = job_circle_find(jobs);
        knot->spared = g_hash_table_new(g_direct_hash, g_direct_equal);
        for (guint i = 0; i < jobs->len; i++)
                g_hash_table_insert(inside, ((JobSpec *)jobs->pdata[i])->name, jobs->pdata[i]);
        for (guint i = 0; i < jobs->len; i++) {
                const JobSpec *job = jobs->pdata[i];
                const JobLinks *links = &job->books.links;

                for (guint j = 0; links->after && j < links->after->len; j++)
                        knot_spare(knot, inside, files, job,
                                   ((const JobAfter *)links->after->pdata[j])->job);
                knot_spare(knot, inside, files, job, links->on_failure.job);
                knot_spare(knot, inside, files, job, links->on_recovery.job);
        }
        for (guint i = 0; i < jobs->len; i++) {
                gpointer file = g_hash_table_lookup(files, jobs->pdata[i]);

                knot->tied |= file && !g_hash_table_contains(knot->spared, file);
        }
        return knot;
}

/* Return: whether the file has jobs that are set aside. */
static bool linked_set_aside(JobFile *file, GHashTable *knots, Diagnostics *diagnostics) {
        bool found = false;

        for (guint i = 0; file->good && i < file->jobs->len;) {
                const JobSpec *job = file->jobs->pdata[i];
                const Knot *knot = g_hash_table_lookup(knots, job);

                if (!knot || (knot->tied && g_hash_table_contains(knot->spared, file))) {
                        i++;
                        continue;
                }
                linked_report_circle(knot->circle, job, diagnostics);
                g_ptr_array_add(file->duplicates, g_ptr_array_steal_index(file->jobs, i));
                found = true;
        }
        return found;
}

/* But for services, which neither follow nor are followed: what names one is told so for itself. */
static void linked_add_all(GPtrArray *to, const GPtrArray *from) {
        for (guint i = 0; i < from->len; i++) {
                const JobSpec *job = from->pdata[i];

                if (!job || job->place.mode != JOB_MODE_SERVICE)
                        g_ptr_array_add(to, from->pdata[i]);
        }
}

bool linked_jobs_break_circle(const GPtrArray *files, const GPtrArray *others,
                              Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new(), found = NULL,
                             knots = g_ptr_array_new_with_free_func(knot_free);
        g_autoptr(GHashTable) file_of = g_hash_table_new(g_direct_hash, g_direct_equal),
                              knot_of = g_hash_table_new(g_direct_hash, g_direct_equal);
        bool aside = false;

        linked_add_all(jobs, others);
        for (guint i = 0; i < files->len; i++) {
                JobFile *file = files->pdata[i];

                if (!file->good)
                        continue;
                linked_add_all(jobs, file->jobs);
                for (guint j = 0; j < file->jobs->len; j++)
                        g_hash_table_insert(file_of, file->jobs->pdata[j], file);
        }
        found = job_knots_find(jobs);
        for (guint i = 0; i < found->len; i++) {
                GPtrArray *members = found->pdata[i];
                Knot *knot = knot_new(members, file_of);

                g_ptr_array_add(knots, knot);
                for (guint j = 0; j < members->len; j++)
                        g_hash_table_insert(knot_of, members->pdata[j], knot);
        }
        for (guint i = 0; i < files->len; i++)
                aside |= linked_set_aside(files->pdata[i], knot_of, diagnostics);
        return aside;
}

/* ---- names ---- */

/* What is looked for among all names takes time, in which the daemon does nothing else: as many
 * slips of the finger as a person corrects at a time. */
#define NEAREST_SOUGHT_MAX 20

struct LinkedNames {
        GHashTable *set;
        GHashTable *each;     /* of mode each-node, by their names in the files; owns them */
        GHashTable *services; /* of mode service */
        const char **list;    /* as the set */
        unsigned sought;
};

static void linked_add_names(LinkedNames *names, const GPtrArray *jobs) {
        for (guint i = 0; i < jobs->len; i++) {
                const JobSpec *job = jobs->pdata[i];

                if (job && job->place.mode == JOB_MODE_EACH_NODE)
                        g_hash_table_add(names->each, job_name_base(job->name));
                else if (job && job->place.mode == JOB_MODE_SERVICE)
                        g_hash_table_add(names->services, job->name);
                else if (job)
                        g_hash_table_add(names->set, job->name);
        }
}

LinkedNames *linked_names_new(const GPtrArray *files, const GPtrArray *jobs) {
        LinkedNames *names = g_new0(LinkedNames, 1);

        names->set = g_hash_table_new(g_str_hash, g_str_equal);
        names->services = g_hash_table_new(g_str_hash, g_str_equal);
        names->each = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                linked_add_names(names, file->jobs);
                linked_add_names(names, file->refused);
                linked_add_names(names, file->duplicates);
        }
        if (jobs)
                linked_add_names(names, jobs);
        names->list = (const char **)g_hash_table_get_keys_as_array(names->set, NULL);
        return names;
}

LinkedNames *linked_names_free(LinkedNames *names) {
        if (!names)
                return NULL;
        g_free(names->list);
        g_hash_table_unref(names->each);
        g_hash_table_unref(names->services);
        g_hash_table_unref(names->set);
        g_free(names);
        return NULL;
}

static void linked_check_name(const JobSpec *job, const char *key, const char *name,
                              const Mark *mark, LinkedNames *names, Diagnostics *diagnostics) {
        const char *nearest = NULL;

        if (!name || g_hash_table_contains(names->set, name))
                return;
        if (g_hash_table_contains(names->each, name)) {
                diagnostics_add(
                    diagnostics, mark,
                    "job \"%s\": \"%s\" names \"%s\", which is of mode each-node, a job "
                    "of its own on every node: name one of mode once; the job takes "
                    "effect without that",
                    job->name, key, name);
                return;
        }
        if (g_hash_table_contains(names->services, name)) {
                diagnostics_add(
                    diagnostics, mark,
                    "job \"%s\": \"%s\" names \"%s\", which is of mode service, and neither runs "
                    "after others nor has an end that could be followed: name one of mode once; "
                    "the job takes effect without that",
                    job->name, key, name);
                return;
        }
        if (names->sought++ < NEAREST_SOUGHT_MAX)
                nearest = nearest_name(name, names->list);
        diagnostics_add(diagnostics, mark,
                        "job \"%s\": \"%s\" names \"%s\", and there is no such job%s%s%s: write "
                        "the name of one that is defined; the job takes effect without that",
                        job->name, key, name, nearest ? " (did you mean \"" : "",
                        nearest ? nearest : "", nearest ? "\"?)" : "");
}

void linked_jobs_check_names(const JobSpec *job, LinkedNames *names, Diagnostics *diagnostics) {
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

typedef enum LinkedTurn {
        LINKED_BEFORE,
        LINKED_OF_ITS_FILE,
        LINKED_OTHER,
        LINKED_TURNS
} LinkedTurn;

/* Where the places are given out. */
typedef struct LinkedIndex {
        GHashTable *index;
        GHashTable *before; /* as it was; or NULL */
        GHashTable *files;  /* name of a job → the file that it is in */
        Diagnostics *diagnostics;
} LinkedIndex;

/* Who follows a job keeps its place, and whoever comes with it has one: no new file takes those of
 * others. */
static LinkedTurn linked_turn(const LinkedIndex *linked, const JobSpec *job,
                              const JobAfter *after) {
        const GPtrArray *old =
            linked->before ? g_hash_table_lookup(linked->before, after->job) : NULL;

        for (guint i = 0; old && i < old->len; i++)
                if (strcmp(((const JobSpec *)old->pdata[i])->name, job->name) == 0)
                        return LINKED_BEFORE;
        return g_strcmp0(g_hash_table_lookup(linked->files, after->job), after->mark.file) == 0
                   ? LINKED_OF_ITS_FILE
                   : LINKED_OTHER;
}

typedef struct LinkedLink {
        JobSpec *job;
        const JobAfter *after;
} LinkedLink;

/* To whose turn each of its links belongs. */
static void linked_take_turns(const LinkedIndex *linked, JobSpec *job, GArray **turns) {
        const GPtrArray *list = job->books.links.after;

        for (guint i = 0; list && i < list->len; i++) {
                const LinkedLink link = {job, list->pdata[i]};

                g_array_append_val(turns[linked_turn(linked, job, link.after)], link);
        }
}

static void linked_index_link(const LinkedIndex *linked, const LinkedLink *link) {
        const JobAfter *after = link->after;
        GPtrArray *followers = linked_followers(linked->index, after->job);

        if (followers->len < JOB_AFTER_MAX)
                g_ptr_array_add(followers, link->job);
        else
                diagnostics_add(linked->diagnostics, &after->mark,
                                "job \"%s\" does not run after \"%s\", which is followed "
                                "by %d jobs already: let it follow one of those",
                                link->job->name, after->job, JOB_AFTER_MAX);
}

GHashTable *linked_jobs_index(const GPtrArray *jobs, GHashTable *before, Diagnostics *diagnostics) {
        g_autoptr(GHashTable) files = g_hash_table_new(g_str_hash, g_str_equal);
        const LinkedIndex linked = {
            .index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                           (GDestroyNotify)g_ptr_array_unref),
            .before = before,
            .files = files,
            .diagnostics = diagnostics,
        };
        GArray *turns[LINKED_TURNS];

        for (guint i = 0; i < jobs->len; i++) {
                JobSpec *job = jobs->pdata[i];
                g_hash_table_insert(files, job->name, (gpointer)job->mark.file);
        }
        for (LinkedTurn turn = 0; turn < LINKED_TURNS; turn++)
                turns[turn] = g_array_new(FALSE, FALSE, sizeof(LinkedLink));
        for (guint i = 0; i < jobs->len; i++)
                linked_take_turns(&linked, jobs->pdata[i], turns);
        for (LinkedTurn turn = 0; turn < LINKED_TURNS; turn++) {
                for (guint i = 0; i < turns[turn]->len; i++)
                        linked_index_link(&linked, &g_array_index(turns[turn], LinkedLink, i));
                g_array_unref(turns[turn]);
        }
        return linked.index;
}
