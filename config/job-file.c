/* See job-file.h.
 *
 * Each job begins with the built-in defaults, then takes over the file's `defaults:`, then its own
 * keys. Faults in `defaults:` are reported once, when they are decoded for themselves; after that
 * they are decoded for each job without a word. The schedule comes last, because its expressions
 * are read in the job's time zone, which may come from either.
 */
#include "job-file.h"

#include <errno.h>

#include "duration.h"
#include "foreign-file.h"
#include "job-keys.h"
#include "job-service.h"
#include "job-windows.h"
#include "trusted-file.h"

static void spec_free(gpointer data) {
        job_spec_free(data);
}

JobFile *job_file_free(JobFile *file) {
        if (!file)
                return NULL;
        g_free(file->path);
        g_free(file->name);
        if (file->jobs)
                g_ptr_array_unref(file->jobs);
        if (file->refused)
                g_ptr_array_unref(file->refused);
        if (file->duplicates)
                g_ptr_array_unref(file->duplicates);
        g_free(file);
        return NULL;
}

JobFile *job_file_new_refused(const char *path) {
        JobFile *file = g_new0(JobFile, 1);

        file->path = g_strdup(path);
        file->name = g_path_get_basename(path);
        file->jobs = g_ptr_array_new_with_free_func(spec_free);
        file->refused = g_ptr_array_new_with_free_func(spec_free);
        file->duplicates = g_ptr_array_new_with_free_func(spec_free);
        return file;
}

/* What is no text has been reported. */
static void add_exception(Schedule *schedule, const char *zone, const YamlNode *text,
                          Diagnostics *diagnostics) {
        g_autofree char *fault = NULL;
        int r;

        if (yaml_node_kind(text) != YAML_KIND_TEXT)
                return;
        r = schedule_add_exception(schedule, text->text, zone, &fault);
        if (r < 0)
                diagnostics_add(diagnostics, &text->mark, "\"except\": %s",
                                fault ? fault : g_strerror(-r));
}

/* `schedule` NULL: they are only judged. */
static void add_exceptions(Schedule *schedule, const char *zone, const YamlNode *node,
                           Diagnostics *diagnostics) {
        _cleanup_(schedule_freep) Schedule *scratch = NULL;
        g_autofree char *message = NULL;

        if (!schedule && schedule_new(NULL, &scratch, &message) >= 0)
                schedule = scratch;
        for (guint i = 0; schedule && node->type == YAML_LIST && i < node->items->len; i++)
                add_exception(schedule, zone, node->items->pdata[i], diagnostics);
        if (schedule && node->type == YAML_SCALAR)
                add_exception(schedule, zone, node, diagnostics);
}

/* Checks `defaults:` for itself, so that its faults are reported once. */
static void check_defaults(const YamlNode *defaults, Diagnostics *diagnostics) {
        _cleanup_(job_spec_freep) JobSpec *spec = job_spec_new();
        const YamlNode *except = yaml_node_get(defaults, "except");

        key_table_decode(&job_table, defaults, spec, diagnostics);
        if (except)
                add_exceptions(NULL, spec->timezone, except, diagnostics);
        job_windows_judge(yaml_node_get(defaults, "window"), spec->timezone, diagnostics);
        for (const Key *key = job_table.keys; key->name; key++) {
                const YamlPair *pair = yaml_node_pair(defaults, key->name);

                if (pair && (key->flags & KEY_JOB_ONLY))
                        diagnostics_add(diagnostics, &pair->key->mark,
                                        "\"%s\" cannot stand in \"defaults\": each job has its own",
                                        key->name);
        }
}

/* Makes the schedule of the expressions, in the job's time zone (UTC where that was refused, so
 * that the expressions are judged all the same). */
static void read_calendar(JobSpec *spec, const YamlNode *node, Diagnostics *diagnostics) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;
        guint count = node->type == YAML_LIST ? node->items->len : 1;
        unsigned before = diagnostics_count(diagnostics);
        int r;

        r = schedule_new(spec->timezone, &schedule, &message);
        if (r < 0) {
                diagnostics_add(diagnostics, &node->mark, "\"schedule\": %s",
                                message ? message : g_strerror(-r));
                return;
        }
        schedule_set_dst(schedule, &spec->times.dst);
        for (guint i = 0; i < count; i++) {
                const YamlNode *text = node->type == YAML_LIST ? node->items->pdata[i] : node;
                g_autofree char *fault = NULL;

                if (yaml_node_kind(text) != YAML_KIND_TEXT) /* which has been reported */
                        continue;
                r = schedule_add_calendar(schedule, text->text, &fault);
                if (r < 0)
                        diagnostics_add(diagnostics, &text->mark, "\"schedule\": %s",
                                        fault ? fault : g_strerror(-r));
        }
        if (count == 0)
                diagnostics_add(
                    diagnostics, &node->mark,
                    "\"schedule\" is empty: omit it for a job that is started only on request");
        if (diagnostics_count(diagnostics) > before)
                return;
        spec->schedule = g_steal_pointer(&schedule);
}

static bool is_scheduled(const YamlNode *job) {
        return yaml_node_get(job, "schedule") || yaml_node_get(job, "every");
}

/* Those of the job itself, or those of "defaults", which have been judged for themselves. */
static void read_exceptions(JobSpec *spec, const YamlNode *job, const YamlNode *defaults,
                            Diagnostics *diagnostics) {
        _cleanup_(diagnostics_freep) Diagnostics *faults = diagnostics_new();
        g_autofree char *who = g_strdup_printf("job \"%s\": ", spec->name);
        const YamlNode *own = yaml_node_get(job, "except"),
                       *except = own || !defaults ? own : yaml_node_get(defaults, "except");
        int64_t tick;

        if (!except || (except->type == YAML_LIST && except->items->len == 0))
                return;
        if (own && !is_scheduled(job)) {
                diagnostics_add(diagnostics, &yaml_node_pair(job, "except")->key->mark,
                                "\"except\" needs \"schedule\" or \"every\": what is started by "
                                "hand has no ticks");
                return;
        }
        add_exceptions(spec->schedule, spec->timezone, except, faults);
        diagnostics_add_unknown(diagnostics, faults, own ? "" : who);
        if (spec->schedule && (!own || diagnostics_count(faults) == 0) &&
            !schedule_next(spec->schedule, -1, &tick))
                diagnostics_add(diagnostics, &except->mark,
                                "job \"%s\": \"except\" leaves nothing of its schedule",
                                spec->name);
}

/* What "defaults" says does not concern a job without a schedule. */
static void read_delay(JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *delay = yaml_node_pair(job, "random-delay");
        g_autofree char *fault = NULL;

        if (spec->times.random_delay == 0)
                return;
        if (delay && !is_scheduled(job))
                diagnostics_add(diagnostics, &delay->key->mark,
                                "\"random-delay\" needs \"schedule\" or \"every\": what is started "
                                "by hand begins at once");
        else if (spec->schedule &&
                 schedule_set_random_delay(spec->schedule, spec->times.random_delay, &fault) < 0)
                diagnostics_add(diagnostics, &spec->times.random_delay_mark,
                                "job \"%s\": \"random-delay\" %s", spec->name, fault);
}

static void read_schedule(JobSpec *spec, const YamlNode *job, const YamlNode *defaults,
                          Diagnostics *diagnostics) {
        const YamlNode *schedule = yaml_node_get(job, "schedule");
        const YamlPair *every = yaml_node_pair(job, "every");

        if (schedule && every) {
                diagnostics_add(diagnostics, &every->key->mark,
                                "\"every\" and \"schedule\" cannot be used together");
                return;
        }
        if (schedule && (schedule->type == YAML_LIST || yaml_node_kind(schedule) == YAML_KIND_TEXT))
                read_calendar(spec, schedule, diagnostics);
        read_exceptions(spec, job, defaults, diagnostics);
        read_delay(spec, job, diagnostics);
        job_windows_read(spec, job, defaults, diagnostics);
}

/* What is said of ticks alone; "defaults" may mean it for those jobs that have some. */
static void warn_of_tick_keys(const YamlNode *job, Diagnostics *diagnostics) {
        static const char *const keys[] = {"retries", "no-retry", "on-owner-lost", "catch-up",
                                           "dst"};

        for (size_t i = 0; !is_scheduled(job) && i < G_N_ELEMENTS(keys); i++) {
                const YamlPair *pair = yaml_node_pair(job, keys[i]);

                if (pair)
                        diagnostics_warn(diagnostics, &pair->key->mark,
                                         "\"%s\" has no effect on a job without \"schedule\" or "
                                         "\"every\": it is for what comes due by itself",
                                         keys[i]);
        }
}

/* What is said of further attempts, where there are none. */
static void warn_of_retry_keys(const JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *retries = yaml_node_pair(job, "retries"),
                       *except = yaml_node_pair(job, "no-retry");

        if (!is_scheduled(job) || spec->retries.attempts > 1)
                return;
        if (retries && retries->value->type == YAML_MAPPING &&
            !yaml_node_pair(retries->value, "attempts"))
                diagnostics_warn(
                    diagnostics, &retries->key->mark,
                    "\"retries\" has no effect without \"attempts\": a tick is attempted "
                    "once unless that says otherwise, as in \"attempts: 3\"");
        if (except && except->value->type == YAML_LIST && except->value->items->len > 0)
                diagnostics_warn(
                    diagnostics, &except->key->mark,
                    "\"no-retry\" has no effect without \"retries\" that has more than "
                    "one of \"attempts\"");
}

/* By the default only the last minutes are made up for. */
static void warn_of_catch_up(const JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *pair = yaml_node_pair(job, "catch-up");
        g_autofree char *deadline = duration_to_string(spec->start_deadline);

        if (pair && is_scheduled(job) && spec->catch_up == JOB_CATCH_UP_ALL &&
            !spec->times.start_deadline_mark.file)
                diagnostics_warn(diagnostics, &pair->key->mark,
                                 "\"catch-up: all\" makes up for no more than the last %s without "
                                 "\"start-deadline\", as in \"start-deadline: 6h\"",
                                 deadline);
}

/* "defaults" may mean it for those jobs that it concerns; the default written out asks nothing. */
static void check_takeover(const JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics) {
        const YamlPair *after = yaml_node_pair(job, "takeover-after");
        bool refused = yaml_node_get(job, "on-lock-loss") && !spec->on_lock_loss_mark.file;

        if (after && !refused && spec->takeover_after != USEC_INFINITY &&
            spec->on_lock_loss != JOB_LOCK_LOSS_CONTINUE)
                diagnostics_add(
                    diagnostics, &after->key->mark,
                    "\"takeover-after\" needs \"on-lock-loss: continue\": a run that is "
                    "stopped when its locks cannot be held is over by the time that "
                    "others have them");
}

/* Reads one job of the file. Return: never NULL; its faults are in `diagnostics`. */
static JobSpec *read_job(const YamlPair *pair, const YamlNode *defaults, Diagnostics *diagnostics) {
        _cleanup_(diagnostics_freep) Diagnostics *reported = diagnostics_new();
        const YamlNode *exec = yaml_node_get(pair->value, "exec");
        JobSpec *spec = job_spec_new();

        spec->name = g_strdup(pair->key->text);
        spec->mark = pair->key->mark;
        if (defaults)
                key_table_decode(&job_table, defaults, spec, reported);
        key_table_decode(&job_table, pair->value, spec, diagnostics);
        if (pair->value->type != YAML_MAPPING)
                return spec;
        if (exec)
                spec->command.mark = exec->mark;
        if (yaml_node_get(pair->value, "stop-timeout") && !spec->command.stop_timeout_mark.file)
                spec->command.stop_timeout =
                    0; /* it was refused, and so is not the default either */
        if (spec->place.mode == JOB_MODE_SERVICE) {
                job_service_read(spec, pair->value, diagnostics);
        } else {
                job_service_refuse_keys(spec, pair->value, diagnostics);
                read_schedule(spec, pair->value, defaults, diagnostics);
                warn_of_tick_keys(pair->value, diagnostics);
                warn_of_retry_keys(spec, pair->value, diagnostics);
                warn_of_catch_up(spec, pair->value, diagnostics);
        }
        check_takeover(spec, pair->value, diagnostics);
        job_spec_validate(spec, diagnostics);
        return spec;
}

/* Return: whether the pair would be right if it stood elsewhere: a job outside of `jobs:`, or a key
 * of a job outside of any. It is then reported. */
static bool report_misplaced(const YamlPair *pair, Diagnostics *diagnostics) {
        const char *name = pair->key->text;

        if (key_table_find(&job_file_table, name))
                return false;
        if (key_table_find(&job_table, name)) {
                diagnostics_add(
                    diagnostics, &pair->key->mark,
                    "\"%s\" belongs to a job: write \"jobs:\" first, below it the job's "
                    "name, and below that its keys, each indented further",
                    name);
                return true;
        }
        for (guint i = 0; pair->value->type == YAML_MAPPING && i < pair->value->items->len; i++) {
                const YamlPair *inner = pair->value->items->pdata[i];

                if (!key_table_find(&job_table, inner->key->text))
                        continue;
                diagnostics_add(
                    diagnostics, &pair->key->mark,
                    "\"%s\" looks like a job, but there is no \"jobs:\": write \"jobs:\" "
                    "first and indent the jobs below it",
                    name);
                return true;
        }
        return false;
}

/* Looks for the one slip that would give an error in every line: no `jobs:`. Return: whether the
 * root can be decoded as a job file. */
static bool check_shape(const YamlNode *root, Diagnostics *diagnostics) {
        if (root->type == YAML_LIST) {
                diagnostics_add(
                    diagnostics, &root->mark,
                    "a job file must be a mapping, not a list: write \"jobs:\" first and "
                    "below it each job under its name, without \"- \"");
                return false;
        }
        if (root->type != YAML_MAPPING || yaml_node_pair(root, "jobs"))
                return true;
        for (guint i = 0; i < root->items->len; i++)
                if (report_misplaced(root->items->pdata[i], diagnostics))
                        return false;
        return true;
}

static void read_root(const YamlNode *root, GPtrArray *jobs, Diagnostics *diagnostics) {
        JobFileRoot found = {0};

        if (yaml_node_kind(root) == YAML_KIND_NOTHING)
                return;
        if (!check_shape(root, diagnostics))
                return;
        key_table_decode(&job_file_table, root, &found, diagnostics);
        if (found.defaults)
                check_defaults(found.defaults, diagnostics);
        for (guint i = 0; found.jobs && i < found.jobs->items->len; i++)
                g_ptr_array_add(jobs,
                                read_job(found.jobs->items->pdata[i], found.defaults, diagnostics));
}

/* Reads what is no mistake as a whole. Return: 0 with the root, -EBADMSG when it is one, which is
 * said, negative errno. */
static int parse_text(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                      YamlNode **ret_root) {
        Mark mark = {g_intern_string(file), 0, 0};
        g_autofree char *whole = g_strndup(text, MIN(size, JOB_FILE_SIZE_MAX));
        g_autofree char *foreign = foreign_file_explain(whole, &mark);

        if (size == 0) /* what a full disk and a broken copy leave */
                diagnostics_add(diagnostics, &mark,
                                "is empty: to withdraw its jobs, delete it, or hide it by a link "
                                "to /dev/null");
        else if (foreign)
                diagnostics_add(diagnostics, &mark, "%s", foreign);
        else
                return yaml_tree_parse(file, text, size, diagnostics, ret_root);
        return -EBADMSG;
}

int job_file_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                   JobFile **ret_file) {
        _cleanup_(job_file_freep) JobFile *result = job_file_new_refused(file);
        _cleanup_(yaml_node_freep) YamlNode *root = NULL;
        const Mark mark = {g_intern_string(file), 0, 0};
        unsigned before = diagnostics_count(diagnostics);
        int r;

        r = parse_text(file, text, size, diagnostics, &root);
        if (r < 0 && r != -EBADMSG)
                return r;
        if (root)
                read_root(root, result->jobs, diagnostics);
        result->good = diagnostics_count(diagnostics) == before;
        if (result->good && result->jobs->len == 0)
                diagnostics_warn(diagnostics, &mark, "defines no jobs%s",
                                 yaml_node_pair(root, "defaults") && !yaml_node_pair(root, "jobs")
                                     ? ": there is no \"jobs:\""
                                     : "");
        if (!result->good) {
                GPtrArray *none = result->refused;

                result->refused = result->jobs;
                result->jobs = none;
        }
        *ret_file = g_steal_pointer(&result);
        return 0;
}

int job_file_load(const char *path, Diagnostics *diagnostics, JobFile **ret_file) {
        g_autofree char *text = NULL;
        Mark mark = {g_intern_string(path), 0, 0};
        size_t size = 0;
        int r;

        r = trusted_file_read(path, JOB_FILE_SIZE_MAX, diagnostics, &text, &size);
        if (r == 0)
                return job_file_parse(path, text, size, diagnostics, ret_file);
        if (r == -ENOENT)
                diagnostics_add(diagnostics, &mark, "does not exist");
        *ret_file = job_file_new_refused(path);
        (*ret_file)->good = r == TRUSTED_FILE_MASKED;
        return 0;
}
