/* The launch step of a unit, from the unit's side: it is there before PID 1 is asked for the unit,
 * and gone when nothing more is to be known of it (launch-dropin.h). */
#include "launch-dropin.h"
#include "private-pid1.h"
#include "temporary-tree.h"

static char *dropin_root;

/* The linker has these in place of unit_manager_dropin_root(). */
const char *__wrap_unit_manager_dropin_root(const UnitManager *which);

const char *__wrap_unit_manager_dropin_root(const UnitManager *which) {
        return dropin_root;
}

static bool lives; /* what has the unit's name already */
bool __wrap_cgroup_is_populated(const char *root, const char *path);

bool __wrap_cgroup_is_populated(const char *root, const char *path) {
        return lives;
}

static void setup_launch(void) {
        setup();
        dropin_root = g_dir_make_tmp("unit-launch-XXXXXX", NULL);
}

static void teardown_launch(void) {
        teardown();
        cr_expect_eq(g_rmdir(dropin_root), 0, "nothing is left there");
        g_clear_pointer(&dropin_root, g_free);
}

TestSuite(unit_launch, .init = setup_launch, .fini = teardown_launch);

static bool has_step(void) {
        return launch_dropin_is_of(dropin_root, NAME, NONCE);
}

static bool has_no_step(void) {
        return !has_step();
}

static void start_it(void) {
        static const char *const argv[] = {"/bin/true", NULL}, *const words[] = {"/x/launch",
                                                                                 "/x/session",
                                                                                 "0x1", NULL};
        const UnitSpec spec = {.name = NAME,
                               .argv = argv,
                               .nonce = NONCE,
                               .launch = words,
                               .timeout = USEC_INFINITY,
                               .stop_timeout = USEC_PER_SEC};

        cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &unit), 0);
}

static void start_with_step(void) {
        start_it();
        cr_expect(has_step(), "PID 1 was not asked yet");
        await(is_started, "it is asked for");
}

Test(unit_launch, it_is_there_until_the_unit_is_forgotten) {
        start_with_step();
        main_process_ends("exit-code", CLD_EXITED, 3);
        answers.active = "failed";
        job_removed("failed");
        expect_end("sxe", UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code");
        cr_expect(has_step(), "what it noted is not taken yet");
        unit_discard(unit);
        await(has_no_step, "its removal");
}

Test(unit_launch, one_of_a_unit_that_never_was_is_removed) {
        answers.start = "org.freedesktop.systemd1.BadUnitSetting";
        start_with_step();
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, "the test says so");
        cr_expect(has_step());
        unit_discard(unit);
        cr_expect(has_no_step());
}

/* Another run has that name by now. */
Test(unit_launch, one_of_another_run_stays) {
        g_autofree char *directory = launch_dropin_directory(dropin_root, NAME),
                        *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL);

        answers.start = "org.freedesktop.systemd1.BadUnitSetting";
        start_with_step();
        expect_end("e", UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE, "the test says so");
        cr_assert(g_file_set_contents(path, "# of another\n", -1, NULL));
        unit_discard(unit);
        cr_expect(g_file_test(path, G_FILE_TEST_EXISTS));
        launch_dropin_remove(dropin_root, NAME);
}

/* Its owner waits for it no longer: what is noted stays for as long as PID 1 may come to it. */
Test(unit_launch, one_that_is_forsaken_goes_when_pid_1_has_done_with_it) {
        start_with_step();
        unit_forsake(g_steal_pointer(&unit));
        await(is_stopped, "it is not to begin");
        run_for(100 * USEC_PER_MSEC);
        cr_expect(has_step(), "it may begin yet, and is refused");
        main_process_ends("exit-code", 0, 0);
        answers.active = "failed";
        job_removed("failed");
        await(has_no_step, "its removal");
        cr_expect_str_eq(told, "", "nobody hears of it");
}

Test(unit_launch, one_that_is_forsaken_goes_with_the_manager) {
        start_with_step();
        unit_forsake(g_steal_pointer(&unit));
        manager = unit_manager_free(manager);
        cr_expect(has_step());
        launch_dropin_remove(dropin_root, NAME);
}

/* ... and lives: a tick is claimed again after the ensemble was restored from a backup. */
Test(unit_launch, one_of_what_lives_is_not_written_over) {
        g_autofree char *directory = launch_dropin_directory(dropin_root, NAME),
                        *path = g_build_filename(directory, "50-jobkeeper-launch.conf", NULL);

        cr_assert_eq(g_mkdir(directory, 0755), 0);
        cr_assert(g_file_set_contents(path, "# of another\n", -1, NULL));
        lives = true;
        answers.start = "org.freedesktop.systemd1.UnitExists";
        start_it();
        cr_expect(launch_dropin_is_of(dropin_root, NAME, "another"));
        await(is_started, "it is asked for");
        lives = false;
        launch_dropin_remove(dropin_root, NAME);
}
