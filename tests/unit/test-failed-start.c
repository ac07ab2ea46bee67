/* A start that cannot go on, and what the process before it left running: when that is ended, and
 * what is left alone. The service manager here is a list of names. */
#include <errno.h>
#include <signal.h>

#include "clearing.h"
#include "ended-units.h"
#include "event-loop.h"
#include "failed-start.h"
#include "session-file.h"
#include "temporary-tree.h"
#include "unit-spec.h"

#define RUN_UNIT "jobkeeper-a-1700000000-1.service"
#define LOCK_SCOPE "jobkeeper-lock-77.scope"
#define LIMIT (10 * USEC_PER_SEC)
#define FAR (600 * USEC_PER_SEC)
#define NEAR (700 * USEC_PER_MSEC)

static char *root;
static sd_event *loop;
static GPtrArray *alive;  /* names of units */
static GHashTable *found; /* name → when it was ended, CLOCK_BOOTTIME */
static bool has_exited;   /* their main processes, and well */
static bool stubborn;     /* what is stopped does not end, unless it is killed */
static usec_t killed;     /* when, CLOCK_BOOTTIME; 0: never */
static bool continues;    /* what runs goes on without its locks */
static unsigned looks;
static void (*at_look)(void);  /* whatever the test wants to happen meanwhile */
static SystemdJob systemd_job; /* what PID 1 has queued for us */

/* ---- the service manager ---- */

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        (void)event;
        *ret_manager = NULL;
        return 0;
}

UnitManager *unit_manager_free(UnitManager *manager) {
        return manager;
}

int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata) {
        (void)manager;
        (void)timeout;
        cr_assert_str_eq(unit, "jobkeeperd.service");
        func(systemd_job, userdata);
        return 0;
}

struct Clearing {
        ClearingOptions options;
        sd_event_source *source;
};

static int on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Clearing *clearing = userdata;
        unsigned left = 0;

        (void)usec;
        looks++;
        if (at_look)
                at_look();
        for (guint i = 0; i < alive->len; i++) {
                const char *name = alive->pdata[i];
                g_autofree usec_t *now = g_new(usec_t, 1);

                if (clearing->options.spare(name, clearing->options.userdata))
                        continue;
                left++;
                *now = clock_boottime();
                if (g_hash_table_contains(found, name))
                        continue;
                g_hash_table_insert(found, g_strdup(name), g_steal_pointer(&now));
                clearing->options.found(name, has_exited, clearing->options.userdata);
        }
        for (guint i = alive->len; (!stubborn || killed) && i > 0; i--)
                if (g_hash_table_contains(found, alive->pdata[i - 1]))
                        g_ptr_array_remove_index(alive, i - 1);
        if (left == 0) {
                clearing->options.gone(clearing->options.userdata);
                return 0;
        }
        (void)sd_event_source_set_time_relative(source, 10 * USEC_PER_MSEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing) {
        (void)manager;
        cr_assert_str_eq(options->patterns[0], RUN_UNIT_PATTERN);
        cr_assert_str_eq(options->patterns[1], LOCK_SCOPE_PATTERN);
        cr_assert_eq(options->slices, unit_slices);
        *ret_clearing = g_new0(Clearing, 1);
        (*ret_clearing)->options = *options;
        return sd_event_add_time_relative(loop, &(*ret_clearing)->source, CLOCK_MONOTONIC, 0, 1,
                                          on_look, *ret_clearing);
}

bool unit_is_populated(const UnitManager *manager, const char *const *slices, const char *unit) {
        (void)manager;
        cr_assert_eq(slices, unit_slices_continue);
        return continues && strcmp(unit, RUN_UNIT) == 0;
}

void clearing_look_anew(Clearing *clearing) {
        (void)sd_event_source_set_time_relative(clearing->source, 0);
        (void)sd_event_source_set_enabled(clearing->source, SD_EVENT_ONESHOT);
}

void clearing_kill(Clearing *clearing) {
        (void)clearing;
        if (!killed)
                killed = clock_boottime();
}

Clearing *clearing_free(Clearing *clearing) {
        if (clearing)
                sd_event_source_disable_unref(clearing->source);
        g_free(clearing);
        return NULL;
}

/* ---- the process before ---- */

static int on_limit(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        (void)userdata;
        cr_assert_fail("it does not end");
        return 0;
}

static void setup(void) {
        sigset_t set;

        root = tree_make();
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGTERM);
        (void)sigaddset(&set, SIGINT);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        g_setenv("NOTIFY_SOCKET", "/nonexistent/notify", TRUE);
        alive = g_ptr_array_new_with_free_func(g_free);
        found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_ptr_array_add(alive, g_strdup(RUN_UNIT));
        loop = loop_new();
        cr_assert_geq(
            sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, LIMIT, 1, on_limit, NULL), 0);
}

static void teardown(void) {
        loop = loop_end(loop);
        g_ptr_array_unref(alive);
        g_hash_table_unref(found);
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

TestSuite(failed_start, .init = setup, .fini = teardown);

static usec_t write_session(usec_t stop_in, usec_t lost_in) {
        g_autofree char *path = tree_path(root, "session");
        const SessionFile file = {
            .session = {.id = 1},
            .timeout = 60 * USEC_PER_MINUTE,
            .stop_at = clock_boottime() + stop_in,
            .held_until = clock_boottime() + lost_in,
        };

        cr_assert_eq(session_file_save(path, "another name /another-root", &file), 0);
        return file.stop_at;
}

static usec_t ended_at(const char *unit) {
        const usec_t *when = g_hash_table_lookup(found, unit);

        return when ? *when : 0;
}

static const char *why_of(GHashTable *ended, const char *name) {
        const EndedUnit *unit = g_hash_table_lookup(ended, name);

        cr_assert_not_null(unit);
        return unit->why ? unit->why : "well";
}

/* ---- tests ---- */

Test(failed_start, what_runs_is_ended_when_its_locks_end_and_not_before) {
        usec_t stop_at = write_session(NEAR, FAR);
        g_autoptr(GHashTable) ended = NULL;

        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_geq(ended_at(RUN_UNIT), stop_at);
        cr_expect_eq(alive->len, 0);
        cr_expect_eq(killed, 0);
        ended = ended_units_load(root);
        cr_expect_str_eq(why_of(ended, RUN_UNIT),
                         "jobkeeperd could not be started (the configuration has errors)");
}

/* What it left is ended, and PID 1 forgets the rest. */
Test(failed_start, what_had_ended_well_is_remembered_as_that) {
        g_autoptr(GHashTable) ended = NULL;

        has_exited = true;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(alive->len, 0);
        ended = ended_units_load(root);
        cr_expect_str_eq(why_of(ended, RUN_UNIT), "well");
}

Test(failed_start, an_unknown_deadline_ends_it_at_once) {
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(alive->len, 0);
}

Test(failed_start, nothing_runs_so_nothing_is_waited_for) {
        (void)write_session(FAR, 2 * FAR);
        g_ptr_array_set_size(alive, 0);
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(looks, 1);
}

static void it_ends_by_itself(void) {
        if (looks == 2)
                g_ptr_array_set_size(alive, 0);
}

Test(failed_start, what_ends_by_itself_is_noticed) {
        (void)write_session(FAR, 2 * FAR);
        at_look = it_ends_by_itself;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(looks, 2);
        cr_expect_eq(g_hash_table_size(found), 0);
}

Test(failed_start, what_does_not_end_is_killed_at_the_deadline) {
        (void)write_session(0, NEAR);
        stubborn = true;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_gt(killed, ended_at(RUN_UNIT));
        cr_expect_eq(alive->len, 0);
}

/* Nor does the service manager try again without the secret; and the configuration is not to blame.
 */
Test(failed_start, a_missing_secret_is_called_that) {
        g_autoptr(GHashTable) ended = NULL;

        (void)write_session(NEAR, FAR);
        cr_assert_eq(failed_start(loop, NULL, root, -ENOKEY), -ENOKEY);
        ended = ended_units_load(root);
        cr_expect_str_eq(why_of(ended, RUN_UNIT),
                         "jobkeeperd could not be started (the secret for ZooKeeper is missing or "
                         "badly formed)");
}

Test(failed_start, by_hand_it_ends_nothing) {
        g_unsetenv("NOTIFY_SOCKET");
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(looks, 0);
}

Test(failed_start, an_attempt_that_follows_in_time_is_left_to_it) {
        (void)write_session(FAR, 2 * FAR);
        cr_assert_eq(failed_start(loop, NULL, root, -EACCES), -EACCES);
        cr_expect_eq(looks, 0);
        (void)write_session(NEAR, FAR);
        cr_assert_eq(failed_start(loop, NULL, root, -EACCES), -EACCES);
        cr_expect_eq(alive->len, 0);
}

/* Whose runs these are: of a process that hangs, where the time to stop them has passed. */
Test(failed_start, where_another_process_has_the_machine_only_what_is_overdue_is_ended) {
        cr_assert_eq(failed_start(loop, NULL, root, -EBUSY), -EBUSY);
        (void)write_session(NEAR, FAR);
        cr_assert_eq(failed_start(loop, NULL, root, -EBUSY), -EBUSY);
        cr_expect_eq(looks, 0);
        (void)write_session(0, FAR);
        cr_assert_eq(failed_start(loop, NULL, root, -EBUSY), -EBUSY);
        cr_expect_eq(alive->len, 0);
}

Test(failed_start, commands_go_too_but_those_that_go_on_without_a_lock) {
        tree_write(root, "command-locks/77.json",
                   "{\"id\": \"77\", \"scope\": \"" LOCK_SCOPE "\", \"go-on\": true}");
        tree_write(root, "command-locks/78.json",
                   "{\"id\": \"78\", \"scope\": \"jobkeeper-lock-78.scope\", \"go-on\": false}");
        g_ptr_array_add(alive, g_strdup(LOCK_SCOPE));
        g_ptr_array_add(alive, g_strdup("jobkeeper-lock-78.scope"));
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_assert_eq(alive->len, 1);
        cr_expect_str_eq(alive->pdata[0], LOCK_SCOPE);
}

static void we_are_told_to_end(void) {
        if (looks == 1)
                (void)raise(SIGTERM);
}

Test(failed_start, a_restart_leaves_it_to_the_next_process) {
        (void)write_session(FAR, 2 * FAR);
        at_look = we_are_told_to_end;
        systemd_job = SYSTEMD_JOB_RESTART;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), 0);
        cr_expect_eq(g_hash_table_size(found), 0);
}

Test(failed_start, a_stop_ends_it_at_once) {
        (void)write_session(FAR, 2 * FAR);
        at_look = we_are_told_to_end;
        systemd_job = SYSTEMD_JOB_STOP;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), 0);
        cr_expect_eq(alive->len, 0);
}

Test(failed_start, what_continues_without_its_locks_is_left_alone) {
        (void)write_session(0, NEAR);
        continues = true;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), -EBADMSG);
        cr_expect_eq(g_hash_table_size(found), 0);
        cr_expect_eq(alive->len, 1);
}

static void stop_while_another_runs(void) {
        if (looks == 1)
                g_ptr_array_add(alive, g_strdup("jobkeeper-b-1700000000-1.service"));
        we_are_told_to_end();
}

Test(failed_start, a_stop_ends_that_as_well) {
        (void)write_session(FAR, 2 * FAR);
        continues = true;
        at_look = stop_while_another_runs;
        systemd_job = SYSTEMD_JOB_STOP;
        cr_assert_eq(failed_start(loop, NULL, root, -EBADMSG), 0);
        cr_expect_eq(alive->len, 0);
}

/* ---- what is remembered of it ---- */

#define MANY (3 * ENDED_UNITS_BYTES_MAX / 1000)

Test(failed_start, ended_units_are_remembered_in_order_and_within_bounds) {
        g_autofree char *why = g_strnfill(1000, 'x'), *path = tree_path(root, "ended-units");
        usec_t before;
        g_autoptr(GHashTable) ended = ended_units_load(root);
        struct stat st;

        cr_expect_eq(g_hash_table_size(ended), 0);
        ended_units_add(root, RUN_UNIT, clock_monotonic(), "one reason");
        before = clock_monotonic();
        ended_units_add(root, RUN_UNIT, clock_monotonic(), "another reason");
        g_hash_table_unref(ended);
        ended = ended_units_load(root);
        cr_expect_str_eq(why_of(ended, RUN_UNIT), "one reason");
        cr_expect_leq(((const EndedUnit *)g_hash_table_lookup(ended, RUN_UNIT))->when, before);
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *unit = g_strdup_printf("unit-%u.service", i);

                ended_units_add(root, unit, clock_monotonic(), why);
        }
        g_hash_table_unref(ended);
        ended = ended_units_load(root);
        cr_expect_null(g_hash_table_lookup(ended, RUN_UNIT), "what is long over is forgotten");
        for (unsigned i = MANY - ENDED_UNITS_BYTES_MAX / 2 / 1100; i < MANY; i++) {
                g_autofree char *unit = g_strdup_printf("unit-%u.service", i);

                cr_expect_str_eq(why_of(ended, unit), why, "%s", unit);
        }
        cr_assert_eq(stat(path, &st), 0);
        cr_expect_leq(st.st_size, ENDED_UNITS_BYTES_MAX);
        cr_expect_eq(st.st_mode & 0777, 0600);
}
