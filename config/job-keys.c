/* See job-keys.h. The order is that of the manual. What a line cannot say (lists of several shapes,
 * names, words that exclude each other) is said by a function of job-values.h that the line names.
 *
 * `defaults:` of a file may have every key of a job but those that are its own: description, was,
 * schedule, every, after, exec. A key that a job sets replaces the whole value of the defaults;
 * lists and mappings are not merged. */
#include "job-keys.h"

#include <string.h>

#include "cron-hint.h"
#include "exit-set.h"
#include "job-inputs.h"
#include "job-unit.h"
#include "job-values.h"
#include "name.h"
#include "schedule.h"
#include "timezone.h"
#include "unit-setting.h"
#include "window-keys.h"

#define DESCRIPTION_LENGTH_MAX 200
/* For editors: a name as name_fault() takes it. */
#define JOB_NAME_PATTERN "^[a-z0-9][a-z0-9._-]{0,99}$"

static const char *description_fault(const char *text) {
        if (strlen(text) > DESCRIPTION_LENGTH_MAX)
                return "is longer than 200 bytes";
        return line_fault(text);
}

static const char *timezone_fault(const char *text) {
        return timezone_is_valid(text)
                   ? NULL
                   : "is not the name of a time zone (such as \"Europe/Berlin\")";
}

/* Of what is no duration. */
static const char *every_fault(const char *text) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL, *cron = NULL;

        if (schedule_new(NULL, &schedule, &message) < 0 ||
            (schedule_add_calendar(schedule, text, &message) < 0 && !cron_explain(text, &cron)))
                return NULL;
        return "is no interval but times of the calendar: use \"schedule:\" instead";
}

static const Key text_entry = {.name = "text", .forms = KEY_TEXT};
static const Key literal_entry = {.name = "text", .forms = KEY_LITERAL};
static const Key exit_entry = {.name = "exit status",
                               .forms = KEY_LITERAL,
                               .fault = exit_range_fault,
                               .pattern = "^[1-9][0-9]{0,2}(\\.\\.[1-9][0-9]{0,2})?$"};
static const Key environment_file_entry = {.name = "text", .forms = KEY_TEXT, .pattern = "^-?/"};
static const Key credential_entry = {.name = "text", .forms = KEY_LITERAL, .pattern = "^/"};
static const Key setting_entry = {
    .name = "setting", .forms = KEY_LITERAL | KEY_LIST, .entry = &literal_entry};

static const KeyChoice mode_choices[] = {{"once", JOB_MODE_ONCE},
                                         {"each-node", JOB_MODE_EACH_NODE},
                                         {"service", JOB_MODE_SERVICE},
                                         {NULL}};
static const KeyChoice ready_choices[] = {
    {"at-start", JOB_READY_AT_START}, {"notify", JOB_READY_NOTIFY}, {NULL}};
static const KeyChoice overlap_choices[] = {{"skip", JOB_OVERLAP_SKIP},
                                            {"queue", JOB_OVERLAP_QUEUE},
                                            {"replace", JOB_OVERLAP_REPLACE},
                                            {"allow", JOB_OVERLAP_ALLOW},
                                            {NULL}};
static const KeyChoice catch_up_choices[] = {{"latest", JOB_CATCH_UP_LATEST},
                                             {"none", JOB_CATCH_UP_NONE},
                                             {"all", JOB_CATCH_UP_ALL},
                                             {NULL}};
static const KeyChoice on_lock_loss_choices[] = {
    {"stop", JOB_LOCK_LOSS_STOP}, {"continue", JOB_LOCK_LOSS_CONTINUE}, {NULL}};
static const KeyChoice on_owner_lost_choices[] = {
    {"fail", JOB_OWNER_LOST_FAIL}, {"rerun", JOB_OWNER_LOST_RERUN}, {NULL}};
static const KeyChoice reboot_choices[] = {
    {"success", JOB_REBOOT_SUCCESS}, {"fail", JOB_REBOOT_FAIL}, {NULL}};
static const KeyChoice gap_choices[] = {{"shift", DST_GAP_SHIFT}, {"skip", DST_GAP_SKIP}, {NULL}};
static const KeyChoice overlap_time_choices[] = {
    {"first", DST_OVERLAP_FIRST}, {"last", DST_OVERLAP_LAST}, {"both", DST_OVERLAP_BOTH}, {NULL}};
static const KeyChoice lock_choices[] = {{"exclusive", JOB_LOCK_EXCLUSIVE},
                                         {"shared", JOB_LOCK_SHARED},
                                         {"none", JOB_LOCK_NONE},
                                         {NULL}};
static const KeyChoice resource_choices[] = {
    {"exclusive", JOB_LOCK_EXCLUSIVE}, {"shared", JOB_LOCK_SHARED}, {NULL}};

static const KeyChoice after_choices[] = {
    {"success", JOB_AFTER_SUCCESS}, {"failure", JOB_AFTER_FAILURE}, {"any", JOB_AFTER_ANY}, {NULL}};

static const Key dst_keys[] = {
    {
        .name = "gap",
        .forms = KEY_CHOICE,
        .fallback = "shift",
        .choices = gap_choices,
        KEY_FIELD(JobSpec, times.dst.gap),
        .documentation = "What to do when a local time does not exist: run right after the gap, or "
                         "not on that day.",
    },
    {
        .name = "overlap",
        .forms = KEY_CHOICE,
        .fallback = "first",
        .choices = overlap_time_choices,
        KEY_FIELD(JobSpec, times.dst.overlap),
        .documentation = "What to do when a local time occurs twice: run the first time, the last "
                         "time, or both times.",
    },
    {NULL},
};
static const KeyTable dst_table = {"\"dst\"", dst_keys};

static const Key retries_keys[] = {
    {
        .name = "attempts",
        .forms = KEY_INTEGER,
        .fallback = "1",
        .min = 1,
        .max = JOB_ATTEMPTS_MAX,
        KEY_FIELD(JobSpec, retries.attempts),
        .documentation = "How often a tick is attempted, the first time counted.",
    },
    {
        .name = "delay",
        .forms = KEY_DURATION,
        .fallback = "10s",
        .max = JOB_RETRY_DELAY_MAX,
        KEY_FIELD(JobSpec, retries.delay),
        KEY_MARK_FIELD(JobSpec, retries.delay_mark),
        .documentation =
            "How long to wait before the second attempt; doubled for each further one.",
    },
    {
        .name = "max-delay",
        .forms = KEY_DURATION,
        .fallback = "5min",
        .max = JOB_RETRY_DELAY_MAX,
        KEY_FIELD(JobSpec, retries.max_delay),
        KEY_MARK_FIELD(JobSpec, retries.max_delay_mark),
        .documentation = "The longest time to wait between two attempts.",
    },
    {NULL},
};
static const KeyTable retries_table = {"\"retries\"", retries_keys};

static const Key restart_keys[] = {
    {
        .name = "delay",
        .forms = KEY_DURATION,
        .fallback = "1s",
        .min = USEC_PER_SEC,
        .max = JOB_RETRY_DELAY_MAX,
        KEY_FIELD(JobSpec, place.service.delay),
        KEY_MARK_FIELD(JobSpec, place.service.delay_mark),
        .documentation = "How long to wait before a service that has ended is started again; "
                         "doubled while its runs are shorter than 10min.",
    },
    {
        .name = "max-delay",
        .forms = KEY_DURATION,
        .fallback = "1min",
        .min = USEC_PER_SEC,
        .max = JOB_RETRY_DELAY_MAX,
        KEY_FIELD(JobSpec, place.service.max_delay),
        KEY_MARK_FIELD(JobSpec, place.service.max_delay_mark),
        .documentation = "The longest time to wait between two runs.",
    },
    {NULL},
};
static const KeyTable restart_table = {"\"restart\"", restart_keys};

static const Key resource_keys[] = {
    {
        .name = "mode",
        .forms = KEY_CHOICE,
        .fallback = "exclusive",
        .choices = resource_choices,
        KEY_FIELD(JobResource, mode),
        .documentation = "How the lock is held.",
    },
    {
        .name = "slots",
        .forms = KEY_INTEGER,
        .min = 1,
        .max = RESOURCE_SLOTS_MAX,
        KEY_FIELD(JobResource, slots),
        .documentation = "The number of holders at a time; if unset, that of \"resources\" in "
                         "jobkeeper.yaml, or 1.",
    },
    {NULL},
};
static const KeyTable resource_table = {"a resource", resource_keys};
static const Key resource_entry = {
    .name = "how the resource is held",
    .forms = KEY_CHOICE | KEY_TABLE,
    .choices = resource_choices,
    .table = &resource_table,
    KEY_FIELD(JobResource, mode),
};

static const Key after_keys[] = {
    {
        .name = "job",
        .forms = KEY_LITERAL,
        .fault = name_fault,
        .pattern = JOB_NAME_PATTERN,
        KEY_FIELD(JobAfter, job),
        .documentation = "The job whose runs are followed. Required.",
    },
    {
        .name = "on",
        .forms = KEY_CHOICE,
        .fallback = "success",
        .choices = after_choices,
        KEY_FIELD(JobAfter, on),
        .documentation = "Which ends of such a run are followed.",
    },
    {NULL},
};
static const KeyTable after_table = {"what a job follows", after_keys};
static const Key after_entry = {
    .name = "what is followed",
    .forms = KEY_LITERAL | KEY_TABLE,
    .table = &after_table,
    .fault = name_fault,
    .pattern = JOB_NAME_PATTERN,
    KEY_FIELD(JobAfter, job),
};
/* One such, or several in a list that says how many of them are waited for. */
static const Key after_group_keys[] = {
    {
        .name = "all",
        .forms = KEY_LIST,
        .flags = KEY_BY_TAKE,
        .entry = &after_entry,
        .documentation = "The jobs of which each is waited for: the job is run once all have ended "
                         "so for one tick.",
    },
    {
        .name = "any",
        .forms = KEY_LIST,
        .flags = KEY_BY_TAKE,
        .entry = &after_entry,
        .documentation = "The jobs of which any one is followed, as in a list alone.",
    },
    {
        .name = "job",
        .forms = KEY_LITERAL,
        .fault = name_fault,
        .pattern = JOB_NAME_PATTERN,
        .documentation = "The job whose runs are followed, where that is one alone.",
    },
    {
        .name = "on",
        .forms = KEY_CHOICE,
        .fallback = "success",
        .choices = after_choices,
        .documentation = "Which ends of such a run are followed.",
    },
    {NULL},
};
static const KeyTable after_group_table = {"what a job follows", after_group_keys};

static const Key job_keys[] = {
    {
        .name = "description",
        .forms = KEY_TEXT,
        .flags = KEY_JOB_ONLY,
        .fault = description_fault,
        KEY_FIELD(JobSpec, description),
        .documentation = "A description of the job.",
    },
    {
        .name = "was",
        .forms = KEY_LITERAL,
        .flags = KEY_JOB_ONLY,
        .fault = name_fault,
        .pattern = JOB_NAME_PATTERN,
        KEY_FIELD(JobSpec, books.was.job),
        KEY_MARK_FIELD(JobSpec, books.was.mark),
        .documentation =
            "The name that the job had before: what stands in ZooKeeper under that one "
            "goes on under the new one.",
    },
    {
        .name = "mode",
        .forms = KEY_CHOICE,
        .fallback = "once",
        .choices = mode_choices,
        KEY_FIELD(JobSpec, place.mode),
        KEY_MARK_FIELD(JobSpec, place.mode_mark),
        .documentation = "Whether a tick is run on one node, or on every matching node in turn; or "
                         "the job is a service, which is kept running on one node.",
    },
    {
        .name = "schedule",
        .forms = KEY_TEXT | KEY_LIST,
        .flags = KEY_JOB_ONLY,
        .entry = &text_entry,
        .documentation =
            "When the job runs: a calendar expression as in systemd.time(7), or a list of them.",
    },
    {
        .name = "every",
        .forms = KEY_DURATION,
        .flags = KEY_JOB_ONLY,
        .min = USEC_PER_SEC,
        .max = 366 * USEC_PER_DAY,
        .fault = every_fault,
        .take = job_take_every,
        .documentation = "The interval at which the job runs, instead of a schedule.",
    },
    {
        .name = "after",
        .forms = KEY_LITERAL | KEY_LIST | KEY_TABLE,
        .flags = KEY_JOB_ONLY | KEY_BY_TAKE,
        .pattern = JOB_NAME_PATTERN,
        .table = &after_group_table,
        .entry = &after_entry,
        .take = job_take_after,
        .documentation = "The jobs after whose runs the job is run: a name, {job: NAME, on: END}, "
                         "a list of such, or {all: [...]} where each is waited for.",
    },
    {
        .name = "timezone",
        .forms = KEY_TEXT,
        .fallback = "UTC",
        .fault = timezone_fault,
        KEY_FIELD(JobSpec, timezone),
        .documentation = "The time zone in which the schedule is read.",
    },
    {
        .name = "dst",
        .forms = KEY_TABLE,
        .fallback = "{gap: shift, overlap: first}",
        .table = &dst_table,
        .documentation = "What to do about fixed local times when the clocks change.",
    },
    {
        .name = "except",
        .forms = KEY_TEXT | KEY_LIST,
        .fallback = "[]",
        .entry = &text_entry,
        .documentation = "When the job does not run, whatever its schedule says: calendar "
                         "expressions, of which one without a time of day means whole days.",
    },
    {
        .name = "window",
        .forms = KEY_TABLE | KEY_LIST,
        .fallback = "[]",
        .entry = &window_entry,
        .table = &window_table,
        .documentation = "When what the schedule says may begin: a stretch of time, or a list of "
                         "them; outside of it ticks are skipped. If empty, always.",
    },
    {
        .name = "random-delay",
        .forms = KEY_DURATION,
        .fallback = "0",
        .max = USEC_PER_DAY,
        KEY_FIELD(JobSpec, times.random_delay),
        KEY_MARK_FIELD(JobSpec, times.random_delay_mark),
        .documentation = "By how much starts are delayed at most: each tick by another time, which "
                         "is the same on every node.",
    },
    {
        .name = "lock",
        .forms = KEY_CHOICE,
        .fallback = "exclusive",
        .choices = lock_choices,
        KEY_FIELD(JobSpec, lock),
        .documentation = "How a run holds the job's own lock.",
    },
    {
        .name = "slots",
        .forms = KEY_INTEGER,
        .fallback = "1",
        .min = 1,
        .max = JOB_BESIDE_MAX,
        KEY_FIELD(JobSpec, slots),
        KEY_MARK_FIELD(JobSpec, slots_mark),
        .documentation = "The number of runs that may hold the job's own lock at a time.",
    },
    {
        .name = "max-failures",
        .forms = KEY_INTEGER,
        .min = 1,
        .max = JOB_FAILURES_MAX,
        KEY_FIELD(JobSpec, place.roll.max_failures),
        KEY_MARK_FIELD(JobSpec, place.roll.max_failures_mark),
        .documentation = "With mode each-node: a tick is not begun on further machines when it has "
                         "failed on so many; if unset, whatever its result on others.",
    },
    {
        .name = "rejoin-timeout",
        .forms = KEY_DURATION,
        .min = JOB_REJOIN_MIN,
        .max = JOB_REJOIN_MAX,
        KEY_FIELD(JobSpec, place.roll.rejoin_timeout),
        KEY_MARK_FIELD(JobSpec, place.roll.rejoin_timeout_mark),
        .documentation = "With mode each-node: the next machine begins when the one before is a "
                         "member of the cluster again after its run, and no further one when it is "
                         "not within that time; if unset, it is not waited for.",
    },
    {
        .name = "reboot",
        .forms = KEY_CHOICE,
        .choices = reboot_choices,
        KEY_FIELD(JobSpec, place.roll.reboot),
        KEY_MARK_FIELD(JobSpec, place.roll.reboot_mark),
        .documentation = "With rejoin-timeout: what a run has come to that a reboot of its own "
                         "machine ended; if unset, it was interrupted.",
    },
    {
        .name = "locks",
        .forms = KEY_MAPPING,
        .flags = KEY_BY_TAKE | KEY_NAMES,
        .fallback = "{}",
        .entry = &resource_entry,
        .take = job_take_locks,
        .documentation = "Further locks that a run takes, and how it holds them.",
    },
    {
        .name = "lock-wait",
        .forms = KEY_DURATION,
        .max = USEC_INFINITY,
        .take = job_take_lock_wait,
        KEY_FIELD(JobSpec, lock_wait),
        .documentation =
            "How long a run may wait for its locks; if unset, for the rest of the start deadline.",
    },
    {
        .name = "overlap",
        .forms = KEY_CHOICE,
        .fallback = "skip",
        .choices = overlap_choices,
        KEY_FIELD(JobSpec, overlap),
        KEY_MARK_FIELD(JobSpec, overlap_mark),
        .documentation = "What to do with a tick while the previous run has not ended.",
    },
    {
        .name = "catch-up",
        .forms = KEY_CHOICE,
        .fallback = "latest",
        .choices = catch_up_choices,
        KEY_FIELD(JobSpec, catch_up),
        .documentation = "Which missed ticks are run later.",
    },
    {
        .name = "start-deadline",
        .forms = KEY_DURATION,
        .fallback = "10min",
        .min = USEC_PER_SEC,
        .max = 366 * USEC_PER_DAY,
        KEY_FIELD(JobSpec, start_deadline),
        KEY_MARK_FIELD(JobSpec, times.start_deadline_mark),
        .documentation = "How late a tick may be started.",
    },
    {
        .name = "retries",
        .forms = KEY_TABLE,
        .fallback = "{attempts: 1, delay: 10s, max-delay: 5min}",
        .table = &retries_table,
        .documentation = "Further attempts after a failure.",
    },
    {
        .name = "no-retry",
        .forms = KEY_LIST,
        .fallback = "[]",
        .entry = &exit_entry,
        .take = job_take_no_retry,
        .documentation = "Exit statuses after which no further attempt follows: numbers from 1 to "
                         "255, or ranges such as 64..78.",
    },
    {
        .name = "restart",
        .forms = KEY_TABLE,
        .fallback = "{delay: 1s, max-delay: 1min}",
        .table = &restart_table,
        .documentation = "With mode service: how long to wait before it is started again.",
    },
    {
        .name = "ready",
        .forms = KEY_CHOICE,
        .fallback = "at-start",
        .choices = ready_choices,
        KEY_FIELD(JobSpec, place.service.ready),
        .documentation = "With mode service: when it has started, with its process or when that "
                         "says so by sd_notify(3).",
    },
    {
        .name = "on-failure",
        .forms = KEY_LITERAL | KEY_NONE,
        .fault = name_fault,
        .pattern = JOB_NAME_PATTERN,
        KEY_FIELD(JobSpec, books.links.on_failure.job),
        KEY_MARK_FIELD(JobSpec, books.links.on_failure.mark),
        .documentation =
            "The job to run when a run has failed and no further attempt follows; [] for none.",
    },
    {
        .name = "on-recovery",
        .forms = KEY_LITERAL | KEY_NONE,
        .fault = name_fault,
        .pattern = JOB_NAME_PATTERN,
        KEY_FIELD(JobSpec, books.links.on_recovery.job),
        KEY_MARK_FIELD(JobSpec, books.links.on_recovery.mark),
        .documentation =
            "The job to run when a run has succeeded and the one before had not; [] for none.",
    },
    {
        .name = "on-lock-loss",
        .forms = KEY_CHOICE,
        .fallback = "stop",
        .choices = on_lock_loss_choices,
        KEY_FIELD(JobSpec, on_lock_loss),
        KEY_MARK_FIELD(JobSpec, on_lock_loss_mark),
        .documentation = "What to do with a run whose locks can no longer be held.",
    },
    {
        .name = "takeover-after",
        .forms = KEY_DURATION,
        .fallback = "infinity",
        .min = USEC_PER_SEC,
        .max = USEC_INFINITY,
        KEY_FIELD(JobSpec, takeover_after),
        .documentation = "How long after the node of a run that continues without its locks has "
                         "disappeared it is given up, and the job may run again.",
    },
    {
        .name = "on-owner-lost",
        .forms = KEY_CHOICE,
        .fallback = "fail",
        .choices = on_owner_lost_choices,
        KEY_FIELD(JobSpec, retries.on_owner_lost),
        .documentation = "What to do about a tick whose node was lost during the run.",
    },
    {
        .name = "timeout",
        .forms = KEY_DURATION,
        .fallback = "infinity",
        .min = USEC_PER_MSEC,
        .max = USEC_INFINITY,
        KEY_FIELD(JobSpec, command.timeout),
        .documentation = "How long a run may take.",
    },
    {
        .name = "stop-timeout",
        .forms = KEY_DURATION,
        .fallback = "5s", /* + kill-slack 2 s leaves 1 s of the fence budget 8 s */
        .min = USEC_PER_MSEC,
        .max = USEC_PER_HOUR,
        KEY_FIELD(JobSpec, command.stop_timeout),
        KEY_MARK_FIELD(JobSpec, command.stop_timeout_mark),
        .documentation = "How long to wait between SIGTERM and SIGKILL when a run is stopped.",
    },
    {
        .name = "nodes",
        .forms = KEY_LITERAL | KEY_LIST | KEY_MAPPING,
        .entry = &literal_entry,
        .take = job_take_nodes,
        .documentation = "The nodes on which the job may run: name patterns, or labels with "
                         "patterns; if unset, all.",
    },
    {
        .name = "exec",
        .forms = KEY_TEXT | KEY_LIST,
        .flags = KEY_JOB_ONLY,
        .entry = &literal_entry,
        .take = job_take_exec,
        .documentation = "The command line: a list of arguments, or a text that is split like "
                         "ExecStart=. Required.",
    },
    {
        .name = "user",
        .forms = KEY_LITERAL,
        .fault = account_fault,
        KEY_FIELD(JobSpec, command.user),
        .documentation = "The user to run the command as; if unset, root.",
    },
    {
        .name = "group",
        .forms = KEY_LITERAL,
        .fault = account_fault,
        KEY_FIELD(JobSpec, command.group),
        .documentation = "The group to run the command as; if unset, that of the user.",
    },
    {
        .name = "environment",
        .forms = KEY_MAPPING | KEY_LIST,
        .fallback = "{}",
        .entry = &literal_entry,
        .take = job_take_environment,
        .documentation = "Environment variables for the command.",
    },
    {
        .name = "environment-file",
        .forms = KEY_TEXT | KEY_LIST,
        .fallback = "[]",
        .pattern = "^-?/",
        .entry = &environment_file_entry,
        .take = job_take_environment_files,
        .documentation = "Files with further environment variables for the command: a path, or a "
                         "list of them, with a \"-\" before one that may be missing.",
    },
    {
        .name = "working-directory",
        .forms = KEY_TEXT,
        .fault = path_fault,
        KEY_FIELD(JobSpec, command.working_directory),
        .documentation = "The working directory of the command; if unset, /.",
    },
    {
        .name = "credentials",
        .forms = KEY_MAPPING,
        .fallback = "{}",
        .entry = &credential_entry,
        .take = job_take_credentials,
        .documentation = "Credentials for the command: names, each with the path of a file of the "
                         "machine.",
    },
    {
        .name = "unit",
        .forms = KEY_MAPPING,
        .fallback = "{}",
        .entry = &setting_entry,
        .names = unit_setting_names,
        .take = job_take_unit,
        .documentation = "Further settings of the systemd unit that a run is: resources, sandbox, "
                         "scheduling, order.",
    },
    {
        .name = "history",
        .forms = KEY_INTEGER,
        .fallback = "50",
        .min = 1,
        .max = JOB_HISTORY_MAX,
        KEY_FIELD(JobSpec, books.history),
        .documentation = "The number of runs to remember.",
    },
    {
        .name = "expect-within",
        .forms = KEY_DURATION,
        .fallback = "infinity",
        .min = USEC_PER_MINUTE,
        .max = USEC_INFINITY,
        KEY_FIELD(JobSpec, books.expect_within),
        KEY_MARK_FIELD(JobSpec, books.expect_within_mark),
        .documentation = "The longest time without a run that succeeds, at most 366d: after that "
                         "the job is overdue, and an alarm is logged.",
    },
    {NULL},
};

/* What others say of the job that comes first, and we of the one that follows. */
static bool is_of_the_follower(const char *key) {
        return g_ascii_strcasecmp(key, "onsuccess") == 0 ||
               g_ascii_strcasecmp(key, "on-success") == 0 ||
               g_ascii_strcasecmp(key, "on_success") == 0;
}

/* What other schedulers, and systemd, call the same. */
static char *job_advice(const YamlPair *pair) {
        static const struct {
                const char *theirs, *ours;
        } words[] = {
            {"command", "exec"},
            {"cmd", "exec"},
            {"run", "exec"},
            {"script", "exec"},
            {"execstart", "exec"},
            {"cron", "schedule"},
            {"crontab", "schedule"},
            {"calendar", "schedule"},
            {"oncalendar", "schedule"},
            {"when", "schedule"},
            {"interval", "every"},
            {"env", "environment"},
            {"variables", "environment"},
            {"env-file", "environment-file"},
            {"env_file", "environment-file"},
            {"environmentfile", "environment-file"},
            {"secrets", "credentials"},
            {"loadcredential", "credentials"},
            {"cwd", "working-directory"},
            {"chdir", "working-directory"},
            {"workdir", "working-directory"},
            {"workingdirectory", "working-directory"},
            {"directory", "working-directory"},
            {"tz", "timezone"},
            {"hosts", "nodes"},
            {"host", "nodes"},
            {"retry", "retries"},
            {"depends-on", "after"},
            {"depends_on", "after"},
            {"depends", "after"},
            {"onfailure", "on-failure"},
            {"needs", "after"},
            {"requires", "after"},
            {"timeoutstopsec", "stop-timeout"},
            {"runtimemaxsec", "timeout"},
        };

        if (is_of_the_follower(pair->key->text))
                return g_strdup("here the job that follows says \"after\", and which job it "
                                "follows");
        for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_ascii_strcasecmp(pair->key->text, words[i].theirs) == 0)
                        return g_strdup_printf("here it is \"%s\"", words[i].ours);
        return NULL;
}

const KeyTable job_table = {"a job", job_keys, job_advice};

static void take_defaults(const Key *key, const YamlNode *node, void *target,
                          Diagnostics *diagnostics) {
        ((JobFileRoot *)target)->defaults = node;
}

static void take_jobs(const Key *key, const YamlNode *node, void *target,
                      Diagnostics *diagnostics) {
        ((JobFileRoot *)target)->jobs = node;
}

static const Key job_entry = {.name = "job", .forms = KEY_TABLE, .table = &job_table};
static const Key job_file_keys[] = {
    {
        .name = "defaults",
        .forms = KEY_TABLE | KEY_NOTHING,
        .flags = KEY_BY_TAKE,
        .table = &job_table,
        .take = take_defaults,
        .documentation = "Defaults for all jobs in this file.",
    },
    {
        .name = "jobs",
        .forms = KEY_MAPPING | KEY_NOTHING,
        .flags = KEY_BY_TAKE | KEY_NAMES,
        .entry = &job_entry,
        .take = take_jobs,
        .documentation = "The jobs, by name.",
    },
    {NULL},
};

/* A job that stands beside "jobs:" and not below it. */
static char *job_file_advice(const YamlPair *pair) {
        for (guint i = 0; pair->value->type == YAML_MAPPING && i < pair->value->items->len; i++) {
                const YamlPair *inner = pair->value->items->pdata[i];

                if (key_table_find(&job_table, inner->key->text))
                        return g_strdup(
                            "it looks like a job: indent it and its keys below \"jobs:\"");
        }
        return key_table_find(&job_table, pair->key->text)
                   ? g_strdup("it belongs to a job: indent it below the job's name")
                   : NULL;
}

const KeyTable job_file_table = {"a job file", job_file_keys, job_file_advice};

JobSpec *job_spec_new(void) {
        JobSpec *spec = g_new0(JobSpec, 1);

        spec->command.environment = g_new0(char *, 1);
        spec->command.environment_files = g_new0(char *, 1);
        spec->command.credentials = g_new0(char *, 1);
        spec->command.settings.unit = g_new0(char *, 1);
        spec->command.settings.service = g_new0(char *, 1);
        spec->resources = job_resources_new();
        spec->place.nodes = job_node_matches_new();
        key_table_set_defaults(&job_table, spec);
        return spec;
}
