/* See job.h. */
#include "job.h"

#include <fnmatch.h>
#include <string.h>

#include "daemon-keys.h"
#include "duration.h"
#include "name.h"

/* Grows when the digest's text below changes its meaning: nodes of two versions then call each
 * other's jobs drifted. */
#define DIGEST_VERSION 1

JobResource *job_resource_free(JobResource *resource) {
        if (!resource)
                return NULL;
        g_free(resource->name);
        g_free(resource);
        return NULL;
}

JobNodeMatch *job_node_match_free(JobNodeMatch *match) {
        if (!match)
                return NULL;
        g_free(match->label);
        g_free(match->pattern);
        g_free(match);
        return NULL;
}

static void job_resource_destroy(gpointer data) {
        job_resource_free(data);
}

GPtrArray *job_resources_new(void) {
        return g_ptr_array_new_with_free_func(job_resource_destroy);
}

static void job_node_match_destroy(gpointer data) {
        job_node_match_free(data);
}

GPtrArray *job_node_matches_new(void) {
        return g_ptr_array_new_with_free_func(job_node_match_destroy);
}

JobSpec *job_spec_free(JobSpec *spec) {
        if (!spec)
                return NULL;
        if (spec->refs > 0) {
                spec->refs--;
                return NULL;
        }
        g_free(spec->name);
        g_free(spec->description);
        (void)schedule_free(spec->schedule);
        g_free(spec->timezone);
        g_strfreev(spec->command.argv);
        g_free(spec->command.user);
        g_free(spec->command.group);
        g_strfreev(spec->command.environment);
        g_strfreev(spec->command.environment_files);
        g_strfreev(spec->command.credentials);
        g_free(spec->command.working_directory);
        g_strfreev(spec->command.settings.unit);
        g_strfreev(spec->command.settings.service);
        g_free(spec->retries.no_retry);
        job_links_clear(&spec->books.links);
        g_free(spec->books.was.job);
        if (spec->resources)
                g_ptr_array_unref(spec->resources);
        g_free(spec->place.node);
        if (spec->place.nodes)
                g_ptr_array_unref(spec->place.nodes);
        g_free(spec);
        return NULL;
}

JobSpec *job_spec_ref(const JobSpec *spec) {
        JobSpec *counted = (JobSpec *)spec; /* const is what it says, not who else knows it */

        counted->refs++;
        return counted;
}

/* ---- comparing ---- */

static bool schedules_equal(const Schedule *a, const Schedule *b) {
        g_autofree char *text_a = a ? schedule_to_string(a) : NULL,
                        *text_b = b ? schedule_to_string(b) : NULL;

        return g_strcmp0(text_a, text_b) == 0;
}

static bool job_strings_equal(char *const *a, char *const *b) {
        return a && b ? g_strv_equal((const char *const *)a, (const char *const *)b) : a == b;
}

static bool resources_equal(const GPtrArray *a, const GPtrArray *b) {
        if (a->len != b->len)
                return false;
        for (guint i = 0; i < a->len; i++) {
                const JobResource *x = a->pdata[i], *y = b->pdata[i];
                if (strcmp(x->name, y->name) != 0 || x->mode != y->mode || x->slots != y->slots)
                        return false;
        }
        return true;
}

static bool node_matches_equal(const GPtrArray *a, const GPtrArray *b) {
        if (a->len != b->len)
                return false;
        for (guint i = 0; i < a->len; i++) {
                const JobNodeMatch *x = a->pdata[i], *y = b->pdata[i];
                if (g_strcmp0(x->label, y->label) != 0 || strcmp(x->pattern, y->pattern) != 0)
                        return false;
        }
        return true;
}

bool job_spec_waits_alike(const JobSpec *a, const JobSpec *b) {
        return strcmp(a->name, b->name) == 0 && a->lock == b->lock && a->slots == b->slots &&
               a->lock_wait_set == b->lock_wait_set && a->lock_wait == b->lock_wait &&
               a->overlap == b->overlap && a->catch_up == b->catch_up &&
               a->start_deadline == b->start_deadline &&
               resources_equal(a->resources, b->resources) && a->place.mode == b->place.mode &&
               g_strcmp0(a->place.node, b->place.node) == 0 &&
               node_matches_equal(a->place.nodes, b->place.nodes) &&
               schedules_equal(a->schedule, b->schedule);
}

static bool retries_equal(const JobRetries *a, const JobRetries *b) {
        return a->attempts == b->attempts && a->delay == b->delay && a->max_delay == b->max_delay &&
               a->on_owner_lost == b->on_owner_lost && g_strcmp0(a->no_retry, b->no_retry) == 0;
}

static bool rolls_equal(const JobRoll *a, const JobRoll *b) {
        return a->max_failures == b->max_failures && a->rejoin_timeout == b->rejoin_timeout &&
               a->reboot == b->reboot;
}

static bool services_equal(const JobService *a, const JobService *b) {
        return a->delay == b->delay && a->max_delay == b->max_delay && a->ready == b->ready;
}

static bool runs_alike(const JobSpec *a, const JobSpec *b) {
        return job_strings_equal(a->command.argv, b->command.argv) &&
               a->command.argv_expand == b->command.argv_expand &&
               g_strcmp0(a->command.user, b->command.user) == 0 &&
               g_strcmp0(a->command.group, b->command.group) == 0 &&
               job_strings_equal(a->command.environment, b->command.environment) &&
               job_strings_equal(a->command.environment_files, b->command.environment_files) &&
               job_strings_equal(a->command.credentials, b->command.credentials) &&
               g_strcmp0(a->command.working_directory, b->command.working_directory) == 0 &&
               job_strings_equal(a->command.settings.unit, b->command.settings.unit) &&
               job_strings_equal(a->command.settings.service, b->command.settings.service) &&
               a->command.timeout == b->command.timeout &&
               a->command.stop_timeout == b->command.stop_timeout &&
               a->on_lock_loss == b->on_lock_loss && a->takeover_after == b->takeover_after &&
               retries_equal(&a->retries, &b->retries) &&
               services_equal(&a->place.service, &b->place.service) &&
               rolls_equal(&a->place.roll, &b->place.roll);
}

bool job_spec_equal(const JobSpec *a, const JobSpec *b) {
        return runs_alike(a, b) && g_strcmp0(a->description, b->description) == 0 &&
               g_strcmp0(a->timezone, b->timezone) == 0 && a->books.history == b->books.history &&
               a->books.expect_within == b->books.expect_within &&
               g_strcmp0(a->books.was.job, b->books.was.job) == 0 &&
               job_links_equal(&a->books.links, &b->books.links) && job_spec_waits_alike(a, b);
}

bool job_spec_keeps_rolls(const JobSpec *spec) {
        return spec->place.roll.max_failures > 0 || spec->place.roll.rejoin_timeout > 0;
}

unsigned job_spec_beside(const JobSpec *spec) {
        return spec->overlap == JOB_OVERLAP_ALLOW ? JOB_BESIDE_MAX : MAX(spec->slots, 1);
}

/* Return: the bytes that the strings take in a process's argument space. */
static size_t strv_size(char **strings) {
        size_t size = 0;

        for (; strings && *strings; strings++)
                size += strlen(*strings) + 1;
        return size;
}

/* What may outlive its locks rests on its record alone, and ends when the daemon is stopped. */
static void validate_continue(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->on_lock_loss != JOB_LOCK_LOSS_CONTINUE)
                return;
        if (spec->resources->len > 0)
                diagnostics_add(
                    diagnostics, &spec->on_lock_loss_mark,
                    "job \"%s\": \"on-lock-loss: continue\" and \"locks\" cannot be used "
                    "together: whoever waits for \"%s\" would not be kept from it by a "
                    "run that has lost it",
                    spec->name, ((const JobResource *)spec->resources->pdata[0])->name);
        if (spec->command.stop_timeout > JOB_CONTINUE_STOP_MAX)
                diagnostics_add(
                    diagnostics, &spec->command.stop_timeout_mark,
                    "job \"%s\": \"stop-timeout\" may be 1min at most with "
                    "\"on-lock-loss: continue\": jobkeeperd, when it is stopped, could "
                    "not wait for the end of a run and record it, and the job would not "
                    "run anywhere until \"takeover-after\"",
                    spec->name);
}

static const char *lock_mode_to_string(JobLockMode mode) {
        switch (mode) {
        case JOB_LOCK_EXCLUSIVE:
                return "exclusive";
        case JOB_LOCK_SHARED:
                return "shared";
        case JOB_LOCK_NONE:
                return "none";
        }
        g_assert_not_reached();
}

static void validate_slots(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->slots < 2)
                return;
        if (spec->place.mode == JOB_MODE_EACH_NODE && spec->lock != JOB_LOCK_EXCLUSIVE)
                diagnostics_add(
                    diagnostics, &spec->slots_mark,
                    "job \"%s\": \"slots\" and \"lock: %s\" cannot be used together: by "
                    "that the nodes do not wait for each other; use \"lock: exclusive\", "
                    "by which that many run it at a time",
                    spec->name, lock_mode_to_string(spec->lock));
        if (spec->place.mode == JOB_MODE_EACH_NODE)
                return; /* on a node its runs are one after the other */
        if (spec->lock != JOB_LOCK_EXCLUSIVE)
                diagnostics_add(diagnostics, &spec->slots_mark,
                                "job \"%s\": \"slots\" and \"lock: %s\" cannot be used together: "
                                "such runs are not counted; use \"lock: exclusive\", where each "
                                "run holds one slot",
                                spec->name, lock_mode_to_string(spec->lock));
        if (spec->overlap == JOB_OVERLAP_QUEUE || spec->overlap == JOB_OVERLAP_REPLACE)
                diagnostics_add(diagnostics, &spec->overlap_mark,
                                "job \"%s\": \"overlap: %s\" is for runs that are one after the "
                                "other: with \"slots: %u\" use \"overlap: skip\", by which a tick "
                                "is skipped when all slots are taken",
                                spec->name,
                                spec->overlap == JOB_OVERLAP_QUEUE ? "queue" : "replace",
                                spec->slots);
}

/* What the nodes of a roll cannot do for each other, and what is said of one run while there is one
 * on each node. */
static void validate_each_node(const JobSpec *spec, Diagnostics *diagnostics) {
        const JobLinks *links = &spec->books.links;

        if (spec->place.mode != JOB_MODE_EACH_NODE)
                return;
        if (links->after && links->after->len > 0)
                diagnostics_add(
                    diagnostics, &((const JobAfter *)links->after->pdata[0])->mark,
                    "job \"%s\": \"after\" and \"mode: each-node\" cannot be used "
                    "together: the end of one run would ask for one on each node; use a "
                    "\"schedule\", or \"mode: once\"",
                    spec->name);
        if (spec->overlap == JOB_OVERLAP_ALLOW)
                diagnostics_add(
                    diagnostics, &spec->overlap_mark,
                    "job \"%s\": \"overlap: allow\" and \"mode: each-node\" cannot be "
                    "used together: on a node one run follows the other; \"slots: 3\" or "
                    "\"lock: shared\" lets several nodes run it at the same time",
                    spec->name);
        if (spec->on_lock_loss == JOB_LOCK_LOSS_CONTINUE && spec->lock != JOB_LOCK_NONE)
                diagnostics_add(
                    diagnostics, &spec->on_lock_loss_mark,
                    "job \"%s\": \"on-lock-loss: continue\" and \"mode: each-node\" "
                    "cannot be used together: the next node would not be kept from "
                    "beginning by a run that has lost the lock; only with \"lock: none\" "
                    "do the nodes not wait for each other at all",
                    spec->name);
        if (spec->retries.on_owner_lost == JOB_OWNER_LOST_RERUN)
                diagnostics_add(
                    diagnostics, &spec->place.mode_mark,
                    "job \"%s\": \"on-owner-lost: rerun\" and \"mode: each-node\" "
                    "cannot be used together: what was to run on the node that was lost "
                    "cannot run on another one; use \"on-owner-lost: fail\"",
                    spec->name);
}

/* Return: whether the nodes of the job take turns. */
static bool takes_turns(const JobSpec *spec) {
        return spec->place.mode == JOB_MODE_EACH_NODE && spec->lock == JOB_LOCK_EXCLUSIVE;
}

static void validate_rejoin(const JobSpec *spec, Diagnostics *diagnostics) {
        const JobRoll *roll = &spec->place.roll;
        g_autofree char *timeout = duration_to_string(roll->rejoin_timeout),
                        *wait = duration_to_string(spec->lock_wait);

        if (spec->place.mode != JOB_MODE_EACH_NODE)
                diagnostics_add(diagnostics, &roll->rejoin_timeout_mark,
                                "job \"%s\": \"rejoin-timeout\" is for \"mode: each-node\", where "
                                "the next node begins when the one before is back: a job of "
                                "\"mode: once\" waits for no node",
                                spec->name);
        else if (!takes_turns(spec))
                diagnostics_add(diagnostics, &roll->rejoin_timeout_mark,
                                "job \"%s\": \"rejoin-timeout\" and \"lock: %s\" cannot be used "
                                "together: by that the nodes do not wait for each other; use "
                                "\"lock: exclusive\"",
                                spec->name, lock_mode_to_string(spec->lock));
        else if (spec->lock_wait_set && spec->lock_wait < roll->rejoin_timeout)
                diagnostics_add(diagnostics, &roll->rejoin_timeout_mark,
                                "job \"%s\": \"rejoin-timeout\" is %s, which is longer than "
                                "\"lock-wait\" (%s): the nodes behind would have given up by then; "
                                "set \"lock-wait\" to more, or take it out",
                                spec->name, timeout, wait);
}

static void validate_reboot(const JobSpec *spec, Diagnostics *diagnostics) {
        const Mark *mark = &spec->place.roll.reboot_mark;

        if (spec->place.mode != JOB_MODE_EACH_NODE)
                diagnostics_add(
                    diagnostics, mark,
                    "job \"%s\": \"reboot\" is for \"mode: each-node\", where each node "
                    "settles its own run when it is back: in \"mode: once\" a run that "
                    "its node's reboot ended is interrupted or unknown",
                    spec->name);
        else if (spec->place.roll.rejoin_timeout == 0)
                diagnostics_add(
                    diagnostics, mark,
                    "job \"%s\": \"reboot\" needs \"rejoin-timeout\": so long the other "
                    "nodes wait for one that is rebooted before they record its run as "
                    "unknown",
                    spec->name);
}

static void validate_roll(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->place.roll.rejoin_timeout > 0)
                validate_rejoin(spec, diagnostics);
        if (spec->place.roll.reboot != JOB_REBOOT_INTERRUPTS)
                validate_reboot(spec, diagnostics);
        if (spec->place.roll.max_failures > 0 && spec->place.mode != JOB_MODE_EACH_NODE)
                diagnostics_add(diagnostics, &spec->place.roll.max_failures_mark,
                                "job \"%s\": \"max-failures\" is for \"mode: each-node\", where a "
                                "tick is run on one node after the other: a job of \"mode: once\" "
                                "has \"retries\" and \"on-failure\"",
                                spec->name);
}

static void validate_expectation(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->books.expect_within > JOB_EXPECT_WITHIN_MAX &&
            spec->books.expect_within != USEC_INFINITY)
                diagnostics_add(diagnostics, &spec->books.expect_within_mark,
                                "job \"%s\": \"expect-within\" may be 366d at most, or infinity",
                                spec->name);
}

/* Whoever holds a lock alone is alone. */
static void validate_overlap(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->overlap != JOB_OVERLAP_ALLOW || spec->lock != JOB_LOCK_EXCLUSIVE ||
            spec->place.mode == JOB_MODE_EACH_NODE)
                return;
        diagnostics_add(
            diagnostics, &spec->overlap_mark,
            "job \"%s\": \"overlap: allow\" needs \"lock: shared\" or \"lock: none\": a "
            "run that holds the job's own lock exclusively keeps the next one from "
            "beginning beside it (\"slots: 3\" without \"overlap\" lets three be side by side)",
            spec->name);
}

/* Each tick that is caught up with would be ended by the next one. */
static void validate_replace(const JobSpec *spec, Diagnostics *diagnostics) {
        if (spec->overlap == JOB_OVERLAP_REPLACE && spec->catch_up == JOB_CATCH_UP_ALL)
                diagnostics_add(diagnostics, &spec->overlap_mark,
                                "job \"%s\": \"overlap: replace\" and \"catch-up: all\" cannot be "
                                "used together: of the ticks that were missed each would take the "
                                "place of the one before; use \"catch-up: latest\"",
                                spec->name);
}

static void validate_delays(const char *job, usec_t delay, const Mark *delay_mark, usec_t most,
                            const Mark *most_mark, Diagnostics *diagnostics) {
        g_autofree char *delay_text = duration_to_string(delay),
                        *most_text = duration_to_string(most);
        bool said = delay_mark->file;

        if (delay > most)
                diagnostics_add(diagnostics, said ? delay_mark : most_mark,
                                "job \"%s\": \"delay\" is %s, which is longer than \"max-delay\" "
                                "(%s): set %s, too",
                                job, delay_text, most_text, said ? "that" : "\"delay\"");
}

static void validate_pauses(const JobSpec *spec, Diagnostics *diagnostics) {
        const JobRetries *retries = &spec->retries;
        const JobService *service = &spec->place.service;

        validate_delays(spec->name, retries->delay, &retries->delay_mark, retries->max_delay,
                        &retries->max_delay_mark, diagnostics);
        if (spec->place.mode == JOB_MODE_SERVICE)
                validate_delays(spec->name, service->delay, &service->delay_mark,
                                service->max_delay, &service->max_delay_mark, diagnostics);
}

static void validate_was(const JobSpec *spec, Diagnostics *diagnostics) {
        if (g_strcmp0(spec->books.was.job, spec->name) == 0)
                diagnostics_add(diagnostics, &spec->books.was.mark,
                                "job \"%s\": \"was\" names the job itself: write the name that it "
                                "had before, or take \"was\" out",
                                spec->name);
        if (spec->books.was.job && spec->place.mode == JOB_MODE_EACH_NODE)
                diagnostics_add(diagnostics, &spec->books.was.mark,
                                "job \"%s\": \"was\" and \"mode: each-node\" cannot be used "
                                "together: nodes with the old file would not wait for those with "
                                "the new one; give all of them the new name without it",
                                spec->name);
}

void job_spec_validate(const JobSpec *spec, Diagnostics *diagnostics) {
        const char *fault = name_fault(spec->name);

        if (fault)
                diagnostics_add(diagnostics, &spec->mark, "job name \"%s\" %s", spec->name, fault);
        if (!spec->command.argv && !spec->command.mark.file)
                diagnostics_add(diagnostics, &spec->mark, "job \"%s\" has no \"exec\"", spec->name);
        if (strv_size(spec->command.argv) + strv_size(spec->command.environment) >=
            JOB_COMMAND_SIZE_MAX)
                diagnostics_add(diagnostics, &spec->command.mark,
                                "the command and its environment have %zu KiB or more",
                                JOB_COMMAND_SIZE_MAX / 1024);
        validate_continue(spec, diagnostics);
        validate_slots(spec, diagnostics);
        validate_roll(spec, diagnostics);
        validate_overlap(spec, diagnostics);
        validate_each_node(spec, diagnostics);
        validate_expectation(spec, diagnostics);
        validate_replace(spec, diagnostics);
        validate_pauses(spec, diagnostics);
        job_links_validate(spec->name, &spec->books.links, diagnostics);
        validate_was(spec, diagnostics);
}

int64_t job_spec_start(const JobSpec *spec, int64_t tick) {
        return spec->schedule ? schedule_start(spec->schedule, spec->name, tick) : tick;
}

usec_t job_spec_closes(const JobSpec *spec, int64_t due) {
        WindowStretch stretch = {.open = true, .to = INT64_MAX};

        if (spec->schedule)
                stretch = schedule_window(spec->schedule, due);
        if (!stretch.open)
                stretch.to = due;
        return stretch.to == INT64_MAX ? USEC_INFINITY : (usec_t)stretch.to * USEC_PER_SEC;
}

usec_t job_spec_start_by(const JobSpec *spec, int64_t due) {
        return MIN(usec_add((usec_t)due * USEC_PER_SEC, spec->start_deadline),
                   job_spec_closes(spec, due));
}

int64_t job_spec_started(const JobSpec *spec, int64_t second) {
        return spec->schedule ? schedule_started(spec->schedule, spec->name, second) : second;
}

/* Return: whether the node has the label, with a value that the glob matches. */
static bool label_matches(const JobNodeMatch *match, GHashTable *labels) {
        const char *value = labels ? g_hash_table_lookup(labels, match->label) : NULL;

        return value && fnmatch(match->pattern, value, 0) == 0;
}

bool job_spec_matches_node(const JobSpec *spec, const char *node, GHashTable *labels) {
        bool names = false, named = false;

        if (spec->place.node && strcmp(spec->place.node, node) != 0)
                return false;
        for (guint i = 0; i < spec->place.nodes->len; i++) {
                const JobNodeMatch *match = spec->place.nodes->pdata[i];

                if (match->label) {
                        if (!label_matches(match, labels))
                                return false;
                        continue;
                }
                names = true;
                named |= fnmatch(match->pattern, node, 0) == 0;
        }
        return named || !names;
}

/* Nodes that look for one resource in two places, or count its slots differently, exclude nobody.
 * What is not declared adds nothing to the text. */
static void add_resource(GString *text, const JobResource *resource, const DaemonConfig *config) {
        const DaemonResource *declared =
            config ? daemon_config_resource(config, resource->name) : NULL;
        unsigned slots = resource->slots;

        if (slots == 0 && declared)
                slots = declared->slots;
        g_string_append_printf(text, "resource %s %s slots %u", resource->name,
                               lock_mode_to_string(resource->mode), MAX(slots, 1));
        if (declared && declared->naming != DAEMON_NAMING_CURATOR_RW)
                g_string_append_printf(text, " naming %s",
                                       daemon_naming_to_string(declared->naming));
        if (declared && declared->path)
                g_string_append_printf(text, " path %s", declared->path);
        g_string_append_c(text, '\n');
}

char *job_spec_digest(const JobSpec *spec, const DaemonConfig *config) {
        static const char *const modes[] = {[JOB_MODE_ONCE] = "once",
                                            [JOB_MODE_EACH_NODE] = "each-node",
                                            [JOB_MODE_SERVICE] = "service"};
        g_autofree char *schedule = spec->schedule ? schedule_to_string(spec->schedule) : NULL;
        g_autoptr(GString) text = g_string_new(NULL);

        g_string_append_printf(text, "version %d\nmode %s\n", DIGEST_VERSION,
                               modes[spec->place.mode]);
        g_string_append_printf(text, "schedule %s\n", schedule ? schedule : "none");
        g_string_append(text,
                        "transitions \ndst shift first\n"); /* none: as it always was for UTC */
        g_string_append_printf(text, "lock %s slots %u\n", lock_mode_to_string(spec->lock),
                               spec->slots);
        for (guint i = 0; i < spec->resources->len; i++)
                add_resource(text, spec->resources->pdata[i], config);
        /* The others add nothing, as it always was: which of them holds costs no run. */
        if (spec->overlap == JOB_OVERLAP_ALLOW)
                g_string_append(text, "overlap allow\n");
        if (spec->overlap == JOB_OVERLAP_REPLACE)
                g_string_append(text, "overlap replace\n");
        return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, (gssize)text->len);
}
