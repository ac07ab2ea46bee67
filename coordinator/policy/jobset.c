/* See jobset.h.
 *
 * An entry is a job with the name of the file that it came from (directories are not part of it: a
 * file that moved from /usr/lib to /etc is the same file). At a load, entries are made in this
 * order, and a name that has one is not given another:
 *
 *   1. what bad files last had: their old entries stay;
 *   2. what names in several files last were: their old entries stay;
 *   3. the jobs of the good files.
 *
 * So whatever was in force stays so until somebody's files say clearly what shall come after it.
 *
 * A job of mode each-node stands in all that under the name of its instance on this node. Where it
 * is not to run here it is no entry, but remembered: what is asked about other nodes' instances,
 * and whoever settles a run of a dead one, goes by its definition.
 *
 * Room for jobs is given out in the same spirit. What was in force of a file is set aside for it
 * before any file gets more, so that no new file takes the room of an old one, whatever its name. A
 * file that does not find room is refused like one with an error. What is refused takes no room.
 */
#include "jobset.h"

#include <string.h>

#include "duration.h"
#include "job-chain.h"
#include "job-instance.h"
#include "job-room.h"
#include "job-ways.h"
#include "linked-jobs.h"
#include "name.h"
#include "renamed-jobs.h"

/* How many of the files that have errors a summary names. */
#define FAULTY_NAMED_MAX 5

typedef struct Entry {
        JobSpec *spec;
        char *file; /* the file's name without its directory */
} Entry;

struct JobSet {
        GPtrArray *entries;   /* Entry, sorted by the job's name */
        GHashTable *by_name;  /* job name -> Entry; owns nothing */
        GHashTable *by_was;   /* name that a job had -> JobSpec; owns nothing */
        GPtrArray *elsewhere; /* Entry: jobs of mode each-node that do not run on this node */
        GHashTable *each;     /* name in the files -> JobSpec: of mode each-node, all of them; owns
                                 nothing but the name */
        GHashTable *after;    /* as linked_jobs_index() */
        char **errors, **warnings;
        unsigned error_count;
        int fault;           /* negative errno: the directories could not be read the last time */
        GPtrArray *refused;  /* the names of the files that have errors */
        GPtrArray *unloaded; /* of those, the ones that always had; NULL-terminated */
        GPtrArray *left_out; /* names of jobs; NULL-terminated */
        GHashTable *known;   /* a set: names of the files there are that were good once */
};

static void entry_free(gpointer data) {
        Entry *entry = data;

        job_spec_free(entry->spec);
        g_free(entry->file);
        g_free(entry);
}

JobSet *jobset_new(void) {
        JobSet *set = g_new0(JobSet, 1);

        set->entries = g_ptr_array_new_with_free_func(entry_free);
        set->by_name = g_hash_table_new(g_str_hash, g_str_equal);
        set->by_was = g_hash_table_new(g_str_hash, g_str_equal);
        set->elsewhere = g_ptr_array_new_with_free_func(entry_free);
        set->each = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        set->after = g_hash_table_new(g_str_hash, g_str_equal);
        set->errors = g_new0(char *, 1);
        set->warnings = g_new0(char *, 1);
        set->refused = g_ptr_array_new_with_free_func(g_free);
        set->unloaded = g_ptr_array_new();
        g_ptr_array_add(set->unloaded, NULL);
        set->left_out = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(set->left_out, NULL);
        set->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return set;
}

JobSet *jobset_free(JobSet *set) {
        if (!set)
                return NULL;
        g_hash_table_unref(set->after);
        g_hash_table_unref(set->by_was);
        g_hash_table_unref(set->by_name);
        g_hash_table_unref(set->each);
        g_ptr_array_unref(set->elsewhere);
        g_ptr_array_unref(set->entries);
        g_strfreev(set->errors);
        g_strfreev(set->warnings);
        g_ptr_array_unref(set->unloaded);
        g_ptr_array_unref(set->left_out);
        g_ptr_array_unref(set->refused);
        g_hash_table_unref(set->known);
        g_free(set);
        return NULL;
}

DeadlineRule deadline_rule_of(const DaemonConfig *config) {
        return (DeadlineRule){
            .tick_time = config->tick_time,
            .sync_limit = config->sync_limit,
            .heartbeat = config->heartbeat,
            .fence_budget = config->fence_budget,
        };
}

static bool stop_fits(const JobSpec *spec, const DaemonConfig *config) {
        return spec->on_lock_loss == JOB_LOCK_LOSS_CONTINUE ||
               usec_add(spec->command.stop_timeout, config->kill_slack) <= config->fence_budget;
}

static void refuse_stop(const JobSpec *spec, const DaemonConfig *config, Diagnostics *diagnostics) {
        bool written = spec->command.stop_timeout_mark.file;
        g_autofree char *stop = duration_to_string(spec->command.stop_timeout);
        g_autofree char *slack = duration_to_string(config->kill_slack);
        g_autofree char *budget = duration_to_string(config->fence_budget);
        g_autofree char *sum =
            duration_to_string(usec_add(spec->command.stop_timeout, config->kill_slack));
        g_autofree char *most = duration_to_string(config->fence_budget - config->kill_slack);

        diagnostics_add(
            diagnostics, written ? &spec->command.stop_timeout_mark : &spec->mark,
            "job \"%s\" could not be stopped in time: stop-timeout %s%s + kill-slack "
            "%s = %s, more than the fence-budget %s: set \"stop-timeout\" to %s or less",
            spec->name, stop, written ? "" : " (the default)", slack, sum, budget, most);
}

/* Where even the second machine comes too late, only one can run it. */
static bool deadline_fits(const JobSpec *spec, const DaemonConfig *config) {
        return spec->start_deadline >= config->takeover_delay;
}

static void refuse_deadline(const JobSpec *spec, const DaemonConfig *config,
                            Diagnostics *diagnostics) {
        bool written = spec->times.start_deadline_mark.file;
        g_autofree char *deadline = duration_to_string(spec->start_deadline);
        g_autofree char *delay = duration_to_string(config->takeover_delay);

        diagnostics_add(diagnostics, written ? &spec->times.start_deadline_mark : &spec->mark,
                        "job \"%s\" could not be taken over in time: start-deadline %s%s is "
                        "shorter than the takeover-delay %s: set \"start-deadline\" to %s or more",
                        spec->name, deadline, written ? "" : " (the default)", delay, delay);
}

static bool config_fits(const JobSpec *spec, const DaemonConfig *config) {
        return stop_fits(spec, config) && deadline_fits(spec, config);
}

static void check_specs(const GPtrArray *specs, const DaemonConfig *config,
                        Diagnostics *diagnostics) {
        for (guint i = 0; i < specs->len; i++) {
                if (!stop_fits(specs->pdata[i], config))
                        refuse_stop(specs->pdata[i], config, diagnostics);
                if (!deadline_fits(specs->pdata[i], config))
                        refuse_deadline(specs->pdata[i], config, diagnostics);
        }
}

void jobset_check_file(const JobFile *file, const DaemonConfig *config, Diagnostics *diagnostics) {
        check_specs(file->jobs, config, diagnostics);
        check_specs(file->refused, config, diagnostics);
}

static Entry *entry_new(JobSpec *spec, const char *file) {
        Entry *entry = g_new(Entry, 1);

        *entry = (Entry){.spec = spec, .file = g_strdup(file)};
        return entry;
}

/* Puts an entry into the set. Return: false when the name has one already; nothing has changed
 * then. */
static bool add_entry(JobSet *set, JobSpec *spec, const char *file) {
        Entry *entry;

        if (g_hash_table_contains(set->by_name, spec->name))
                return false;
        entry = entry_new(spec, file);
        g_ptr_array_add(set->entries, entry);
        g_hash_table_insert(set->by_name, spec->name, entry);
        return true;
}

/* Moves an old entry over, unless the daemon's configuration has changed so that it no longer fits.
 */
static void keep_entry(JobSet *set, Entry *old, const DaemonConfig *config) {
        if (old->spec && config_fits(old->spec, config) && add_entry(set, old->spec, old->file))
                old->spec = NULL;
}

/* Return: newly allocated, the entries by the file they came from: its name -> GPtrArray of Entry.
 * Borrows both. */
static GHashTable *jobset_by_file(const JobSet *set) {
        GHashTable *files =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);

        for (guint i = 0; i < set->entries->len; i++) {
                Entry *entry = set->entries->pdata[i];
                GPtrArray *entries = g_hash_table_lookup(files, entry->file);

                if (!entries) {
                        entries = g_ptr_array_new();
                        g_hash_table_insert(files, entry->file, entries);
                }
                g_ptr_array_add(entries, entry);
        }
        return files;
}

static void keep_entries_of_bad_file(JobSet *set, GHashTable *old_files, const JobFile *file,
                                     const DaemonConfig *config) {
        const GPtrArray *entries = g_hash_table_lookup(old_files, file->name);

        for (guint i = 0; entries && i < entries->len; i++)
                keep_entry(set, entries->pdata[i], config);
}

static void keep_entries_of_duplicates(JobSet *set, const JobSet *old, const JobFile *file,
                                       const DaemonConfig *config) {
        for (guint i = 0; i < file->duplicates->len; i++) {
                const JobSpec *spec = file->duplicates->pdata[i];
                Entry *entry = g_hash_table_lookup(old->by_name, spec->name);

                if (entry)
                        keep_entry(set, entry, config);
        }
}

/* A name that two files have is a duplicate of both. */
static void jobset_note_left_out(JobSet *set, const GPtrArray *files) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

        for (guint i = 0; i < files->len; i++) {
                const GPtrArray *duplicates = ((const JobFile *)files->pdata[i])->duplicates;

                for (guint j = 0; j < duplicates->len; j++) {
                        char *name = ((const JobSpec *)duplicates->pdata[j])->name;

                        if (!jobset_find(set, name) && g_hash_table_add(seen, name))
                                g_ptr_array_insert(set->left_out, (gint)set->left_out->len - 1,
                                                   g_strdup(name));
                }
        }
}

static void add_entries_of_good_file(JobSet *set, const JobFile *file, Diagnostics *diagnostics) {
        for (guint i = 0; i < file->jobs->len; i++) {
                JobSpec *spec = file->jobs->pdata[i];
                const Entry *kept;

                if (add_entry(set, spec, file->name)) {
                        file->jobs->pdata[i] =
                            NULL; /* ours now; the array's free function takes NULL */
                        continue;
                }
                kept = g_hash_table_lookup(set->by_name, spec->name);
                diagnostics_add(diagnostics, &spec->mark,
                                "job \"%s\" stays as it last was in %s, which has errors",
                                spec->name, kept->spec->mark.file);
        }
}

static int compare_entries(gconstpointer a, gconstpointer b) {
        return strcmp((*(const Entry *const *)a)->spec->name,
                      (*(const Entry *const *)b)->spec->name);
}

/* Takes over what the load found (NULL: nothing): errors for people, with a line that counts those
 * that were not kept, and warnings. */
static void jobset_set_found(JobSet *set, const Diagnostics *diagnostics) {
        char **lines = diagnostics ? diagnostics_to_strv(diagnostics) : g_new0(char *, 1);
        guint shown = g_strv_length(lines),
              count = diagnostics ? diagnostics_count(diagnostics) : 0;

        if (count > shown) {
                lines = g_renew(char *, lines, shown + 2);
                lines[shown] = g_strdup_printf("and %u more errors", count - shown);
                lines[shown + 1] = NULL;
        }
        g_strfreev(set->errors);
        set->errors = lines;
        set->error_count = count;
        g_strfreev(set->warnings);
        set->warnings = diagnostics ? diagnostics_warnings_to_strv(diagnostics) : g_new0(char *, 1);
}

/* The old one had no file of this name, or always a bad one. */
static void jobset_note_unloaded(JobSet *set, const char *file) {
        g_ptr_array_insert(set->unloaded, (int)set->unloaded->len - 1, (gpointer)file);
}

/* What the bad file last had that runs on other nodes. */
static void jobset_keep_elsewhere(JobSet *set, const JobSet *old, const JobFile *file) {
        for (guint i = 0; i < old->elsewhere->len; i++) {
                const Entry *entry = old->elsewhere->pdata[i];

                if (g_str_equal(entry->file, file->name))
                        g_ptr_array_add(set->elsewhere,
                                        entry_new(job_spec_ref(entry->spec), file->name));
        }
}

static void jobset_refuse_file(JobSet *set, const JobSet *old, GHashTable *old_files,
                               const JobFile *file, const DaemonConfig *config) {
        char *name = g_strdup(file->name);

        g_ptr_array_add(set->refused, name);
        if (g_hash_table_contains(old->known, name))
                g_hash_table_add(set->known, g_strdup(name));
        else
                jobset_note_unloaded(set, name);
        keep_entries_of_bad_file(set, old_files, file, config);
        jobset_keep_elsewhere(set, old, file);
}

/* Return: how many of the file's jobs would become entries. */
static guint jobset_wanted(const JobSet *set, const JobFile *file) {
        guint wanted = 0;

        for (guint i = 0; i < file->jobs->len; i++)
                wanted += !jobset_find(set, ((const JobSpec *)file->jobs->pdata[i])->name);
        return wanted;
}

/* Return: for how many of the file's jobs room is set aside: as many as are in force of it and have
 * not been kept yet, but no more than it has. */
static guint jobset_aside(GHashTable *old_files, const JobFile *file, guint wanted) {
        const GPtrArray *entries = g_hash_table_lookup(old_files, file->name);
        guint aside = 0;

        for (guint i = 0; entries && i < entries->len; i++)
                aside += ((const Entry *)entries->pdata[i])->spec != NULL;
        return MIN(aside, wanted);
}

/* Refuses the good files that there is no room for. */
static void jobset_limit(JobSet *set, const JobSet *old, GHashTable *old_files,
                         const GPtrArray *files, const DaemonConfig *config,
                         Diagnostics *diagnostics) {
        g_autofree guint *wanted = g_new0(guint, files->len), *aside = g_new0(guint, files->len);
        JobRoom room = {JOBS_MAX - set->entries->len};

        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                if (!file->good)
                        continue;
                wanted[i] = jobset_wanted(set, file);
                aside[i] = jobset_aside(old_files, file, wanted[i]);
                room.left -= aside[i];
        }
        for (guint i = 0; i < files->len; i++) {
                JobFile *file = files->pdata[i];

                if (!file->good || job_room_take(&room, file, wanted[i], aside[i], diagnostics))
                        continue;
                file->good = false;
                jobset_refuse_file(set, old, old_files, file, config);
        }
}

/* Return: newly allocated, what will be in force besides the jobs of good files: what was kept of
 * bad ones, and what will be of jobs that do not take effect. */
static GPtrArray *jobset_kept(const JobSet *set, const JobSet *old, const GPtrArray *files) {
        GPtrArray *kept = g_ptr_array_new();

        for (guint i = 0; i < set->entries->len; i++)
                g_ptr_array_add(kept, ((const Entry *)set->entries->pdata[i])->spec);
        for (guint i = 0; i < files->len; i++) {
                const GPtrArray *duplicates = ((const JobFile *)files->pdata[i])->duplicates;

                for (guint j = 0; j < duplicates->len; j++) {
                        const JobSpec *spec = duplicates->pdata[j];
                        const Entry *entry = g_hash_table_lookup(old->by_name, spec->name);

                        if (entry && entry->spec)
                                g_ptr_array_add(kept, entry->spec);
                }
        }
        return kept;
}

/* What was in force before may close another circle. */
static void jobset_break_circles(const JobSet *set, const JobSet *old, const GPtrArray *files,
                                 Diagnostics *diagnostics) {
        bool found = true;

        while (found) {
                g_autoptr(GPtrArray) kept = jobset_kept(set, old, files);

                found = linked_jobs_break_circle(files, kept, diagnostics);
        }
}

static void jobset_add_before(GHashTable *before, const GPtrArray *entries) {
        for (guint i = 0; i < entries->len; i++) {
                JobSpec *spec = ((const Entry *)entries->pdata[i])->spec;

                if (spec)
                        g_hash_table_insert(before, job_name_base(spec->name), spec);
        }
}

static void jobset_check_renamed(const JobSet *set, const JobSet *old, const GPtrArray *files,
                                 Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) kept = jobset_kept(set, old, files);
        g_autoptr(GHashTable) before = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        jobset_add_before(before, set->entries);
        jobset_add_before(before, old->entries);
        jobset_add_before(before, old->elsewhere);
        renamed_jobs_check(files, kept, before, diagnostics);
}

static void jobset_index_was(const JobSet *set) {
        for (guint i = 0; i < set->entries->len; i++) {
                JobSpec *spec = ((const Entry *)set->entries->pdata[i])->spec;

                if (spec->books.was.job)
                        g_hash_table_insert(set->by_was, spec->books.was.job, spec);
        }
}

/* The set is whole, and sorted: whom its jobs follow. What runs elsewhere alone is told of here,
 * too, as the files are. */
static void jobset_link(JobSet *set, const JobSet *old, const GPtrArray *files,
                        Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();
        _cleanup_(linked_names_freep) LinkedNames *names = NULL;

        for (guint i = 0; i < set->entries->len; i++)
                g_ptr_array_add(jobs, ((const Entry *)set->entries->pdata[i])->spec);
        for (guint i = 0; i < set->elsewhere->len; i++)
                g_ptr_array_add(jobs, ((const Entry *)set->elsewhere->pdata[i])->spec);
        names = linked_names_new(files, jobs);
        for (guint i = 0; i < jobs->len; i++)
                linked_jobs_check_names(jobs->pdata[i], names, diagnostics);
        job_chain_check(jobs, diagnostics);
        g_ptr_array_set_size(jobs, (gint)set->entries->len);
        g_hash_table_unref(set->after);
        set->after = linked_jobs_index(jobs, old->after, diagnostics);
        job_ways_limit(jobs, set->after, old->after, diagnostics);
}

/* Of jobs of mode each-node: those that run on this node become what they are here; the others are
 * taken out, and where `set` is given kept there. */
static void jobset_place(GPtrArray *jobs, const char *file, const DaemonConfig *config,
                         JobSet *set) {
        for (guint i = 0; i < jobs->len;) {
                JobSpec *spec = jobs->pdata[i];
                bool each = spec->place.mode == JOB_MODE_EACH_NODE,
                     here = each && job_spec_matches_node(spec, config->node_name, config->labels);

                if (here)
                        job_spec_instantiate(spec, config->node_name);
                if (!each || here) {
                        i++;
                        continue;
                }
                spec = g_ptr_array_steal_index(jobs, i);
                if (set)
                        g_ptr_array_add(set->elsewhere, entry_new(spec, file));
                else
                        job_spec_free(spec);
        }
}

static void jobset_place_all(JobSet *set, const GPtrArray *files, const DaemonConfig *config) {
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                jobset_place(file->jobs, file->name, config, file->good ? set : NULL);
                jobset_place(file->duplicates, file->name, config, NULL);
        }
}

static void jobset_index_each(JobSet *set, const GPtrArray *entries) {
        for (guint i = 0; i < entries->len; i++) {
                JobSpec *spec = ((const Entry *)entries->pdata[i])->spec;

                if (spec->place.mode == JOB_MODE_EACH_NODE)
                        g_hash_table_insert(set->each, job_name_base(spec->name), spec);
        }
}

/* Makes the new set of the files and of what is left of the old one. */
static JobSet *jobset_merge(const JobSet *old, const GPtrArray *files, const DaemonConfig *config,
                            Diagnostics *diagnostics) {
        g_autoptr(GHashTable) old_files = jobset_by_file(old);
        JobSet *set = jobset_new();

        for (guint i = 0; i < files->len; i++) {
                JobFile *file = files->pdata[i];
                unsigned before = diagnostics_count(diagnostics);

                jobset_check_file(file, config, diagnostics);
                file->good &= diagnostics_count(diagnostics) == before;
                if (!file->good)
                        jobset_refuse_file(set, old, old_files, file, config);
        }
        jobset_check_renamed(set, old, files, diagnostics);
        jobset_place_all(set, files, config);
        jobset_break_circles(set, old, files, diagnostics);
        for (guint i = 0; i < files->len; i++)
                keep_entries_of_duplicates(set, old, files->pdata[i], config);
        jobset_limit(set, old, old_files, files, config, diagnostics);
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                if (!file->good)
                        continue;
                g_hash_table_add(set->known, g_strdup(file->name));
                add_entries_of_good_file(set, file, diagnostics);
        }
        jobset_note_left_out(set, files);
        g_ptr_array_sort(set->entries, compare_entries);
        jobset_index_was(set);
        jobset_index_each(set, set->elsewhere);
        jobset_index_each(set, set->entries);
        jobset_link(set, old, files, diagnostics);
        return set;
}

void jobset_take(JobSet *set, int r, GPtrArray *files, Diagnostics *diagnostics,
                 const DaemonConfig *config) {
        _cleanup_(jobset_freep) JobSet *merged = NULL;
        JobSet swap;

        set->fault = r;
        if (r < 0) {
                jobset_set_found(set, diagnostics);
                return;
        }
        merged = jobset_merge(set, files, config, diagnostics);
        jobset_set_found(merged, diagnostics);
        swap = *set;
        *set = *merged;
        *merged = swap;
}

int jobset_load(JobSet *set, const char *const *directories, const DaemonConfig *config) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autoptr(GPtrArray) files = NULL;
        int r = job_files_load(directories, diagnostics, &files);

        jobset_take(set, r, files, diagnostics, config);
        return r;
}

guint jobset_size(const JobSet *set) {
        return set->entries->len;
}

const JobSpec *jobset_get(const JobSet *set, guint index) {
        const Entry *entry = g_ptr_array_index(set->entries, index);

        return entry->spec;
}

const JobSpec *jobset_find(const JobSet *set, const char *name) {
        const Entry *entry = g_hash_table_lookup(set->by_name, name);

        return entry ? entry->spec : NULL;
}

const JobSpec *jobset_find_was(const JobSet *set, const char *name) {
        return g_hash_table_lookup(set->by_was, name);
}

const JobSpec *jobset_find_each(const JobSet *set, const char *name) {
        return g_hash_table_lookup(set->each, name);
}

const JobSpec *jobset_definition(const JobSet *set, const char *name) {
        const JobSpec *own = jobset_find(set, name);
        g_autofree char *base = NULL;

        if (own || !job_name_node(name))
                return own;
        base = job_name_base(name);
        return jobset_find_each(set, base);
}

const JobSpec *jobset_find_of_run(const JobSet *set, const char *name) {
        const JobSpec *job = jobset_definition(set, name);

        return job ? job : jobset_find_was(set, name);
}

const GPtrArray *jobset_after(const JobSet *set, const char *name) {
        return g_hash_table_lookup(set->after, name);
}

const char *const *jobset_errors(const JobSet *set) {
        return (const char *const *)set->errors;
}

const char *const *jobset_warnings(const JobSet *set) {
        return (const char *const *)set->warnings;
}

const char *const *jobset_unloaded(const JobSet *set) {
        return (const char *const *)set->unloaded->pdata;
}

const char *const *jobset_left_out(const JobSet *set) {
        return (const char *const *)set->left_out->pdata;
}

/* Return: newly allocated, the names of the files that have errors, each once: those that are
 * refused for them, then the others. */
static GPtrArray *jobset_faulty_files(const JobSet *set) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < set->refused->len; i++) {
                g_ptr_array_add(names, g_strdup(set->refused->pdata[i]));
                g_hash_table_add(seen, names->pdata[i]);
        }
        for (char **error = set->errors; *error; error++) {
                g_auto(GStrv) parts = g_strsplit(*error, ":", 2);
                g_autofree char *name = g_path_get_basename(parts[0]);

                if (g_hash_table_contains(seen, name))
                        continue;
                g_hash_table_add(seen, name);
                g_ptr_array_add(names, g_steal_pointer(&name));
        }
        return names;
}

static void jobset_name_faulty_files(const JobSet *set, GString *text) {
        g_autoptr(GPtrArray) names = jobset_faulty_files(set);
        guint named = MIN(names->len, FAULTY_NAMED_MAX);

        for (guint i = 0; i < named; i++)
                g_string_append_printf(
                    text, "%s%s%s", i == 0 ? ": " : ", ", (const char *)names->pdata[i],
                    i < set->refused->len &&
                            g_ptr_array_find(set->unloaded, set->refused->pdata[i], NULL)
                        ? " (its jobs are not loaded)"
                        : "");
        if (names->len > named)
                g_string_append_printf(text, " and %u more", names->len - named);
}

char *jobset_summary(const JobSet *set) {
        GString *text = g_string_new(NULL);
        guint jobs = jobset_size(set), refused = set->refused->len;

        g_string_append_printf(text, "%u %s", jobs, jobs == 1 ? "job" : "jobs");
        if (set->fault < 0) {
                g_string_append_printf(text, "; the job files cannot be read (%s)",
                                       g_strerror(-set->fault));
                return g_string_free(text, FALSE);
        }
        if (refused > 0)
                g_string_append_printf(text, ", %u %s refused", refused,
                                       refused == 1 ? "file" : "files");
        if (set->error_count > 0)
                g_string_append_printf(text, refused > 0 ? " (%u %s)" : ", %u %s", set->error_count,
                                       set->error_count == 1 ? "error" : "errors");
        jobset_name_faulty_files(set, text);
        return g_string_free(text, FALSE);
}
