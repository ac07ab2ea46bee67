/* History and WaitRun, asked over a bus of the test's own, in a whole daemon (daemon-fixture.h):
 * what is said when ZooKeeper's answers are lost or cannot be read, and to callers who have left.
 */
#include "daemon-fixture.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>

#include "bus-interface.h"

#define RUNS "/jobkeeper/jobs/a/runs"

static const char bus_config[] =
    "<busconfig><type>custom</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>"
    "<policy context='default'><allow send_destination='*' eavesdrop='true'/>"
    "<allow eavesdrop='true'/><allow own='*'/></policy></busconfig>";

static pid_t bus_pid;
static sd_bus *bus;
static bool asked;
static char *said; /* the answer, or "ERROR: message" */

static bool bus_is_there(void) {
        return sd_bus_open_system(&bus) >= 0;
}

static void setup_bus(void) {
        g_autofree char *config = NULL, *option = NULL, *address = NULL;
        usec_t until = clock_monotonic() + LIMIT;

        setup();
        config = g_strdup_printf(bus_config, root);
        tree_write(root, "bus.conf", config);
        option = g_strdup_printf("--config-file=%s/bus.conf", root);
        address = g_strdup_printf("unix:path=%s/bus", root);
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", address, TRUE);
        bus_pid = fork();
        if (bus_pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nopidfile", option,
                             (char *)NULL);
                _exit(127);
        }
        while (!bus_is_there() && clock_monotonic() < until)
                g_usleep(10000);
        cr_assert_not_null(bus, "dbus-daemon did not start");
        cr_assert_geq(sd_bus_attach_event(bus, event, 0), 0);
}

static void teardown_bus(void) {
        bus = sd_bus_flush_close_unref(bus);
        (void)kill(bus_pid, SIGKILL);
        (void)waitpid(bus_pid, NULL, 0);
        g_clear_pointer(&said, g_free);
        close_daemon();
        tree_delete(root, "bus");
        teardown();
}

TestSuite(answers, .init = setup_bus, .fini = teardown_bus);

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *text = NULL;

        (void)userdata;
        (void)error;
        g_free(said);
        if (sd_bus_message_is_method_error(message, NULL))
                said = g_strdup_printf("%s: %s", sd_bus_message_get_error(message)->name,
                                       sd_bus_message_get_error(message)->message);
        else if (sd_bus_message_read(message, "s", &text) >= 0)
                said = g_strdup(text);
        return 0;
}

static bool is_said(void) {
        return said;
}

static bool is_ready(void) {
        return coordinator->node->ready && server_node(RUNS);
}

static void ask_history(void) {
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE,
                                               "History", on_answer, NULL, "su", "a", 0U),
                      0);
}

static void ask_wait(const char *run) {
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE,
                                               "WaitRun", on_answer, NULL, "ss", "a", run),
                      0);
}

/* Has the daemon got its name on the bus? */
static bool can_be_asked(void) {
        if (said && !strstr(said, SD_BUS_ERROR_SERVICE_UNKNOWN))
                return true;
        if (said || !asked)
                ask_history();
        asked = true;
        g_clear_pointer(&said, g_free);
        return false;
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        await(can_be_asked, "it can be asked");
        g_clear_pointer(&said, g_free);
}

static void expect_said(const char *text) {
        await(is_said, "an answer");
        cr_expect_not_null(strstr(said, text), "%s", said);
}

Test(answers, history_without_the_list_is_an_error) {
        begin();
        server.broken = RUNS;
        ask_history();
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

Test(answers, history_without_a_record_is_an_error) {
        begin();
        server_create(RUNS "/10-0", "{\"run\":\"10-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server_create(RUNS "/20-0", "{\"run\":\"20-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server.broken = RUNS "/10-0";
        ask_history();
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

Test(answers, history_shows_what_it_cannot_read) {
        begin();
        server_create(RUNS "/10-0", "{\"run\":\"10-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server_create(RUNS "/20-0", "][", 0);
        ask_history();
        expect_said("\"run\":\"20-0\"");
        expect_said("its record in ZooKeeper cannot be read");
        expect_said("\"run\":\"10-0\"");
}

Test(answers, no_name_is_waited_for_in_vain) {
        static const char *const names[] = {"", ".", "..", "a/b", "UPPER"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                ask_wait(names[i]);
                expect_said(SD_BUS_ERROR_INVALID_ARGS);
                g_clear_pointer(&said, g_free);
        }
}

Test(answers, a_run_is_waited_for_until_it_is_final) {
        begin();
        server_create(RUNS "/10-m1", "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        ask_wait("10-m1");
        serve_for(USEC_PER_SEC);
        cr_expect_null(said);
        server_set(server_node(RUNS "/10-m1"),
                   "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"succeeded\"}");
        expect_said("succeeded");
}

static unsigned reads_of_a_second(void) {
        unsigned before = server.reads;

        serve_for(USEC_PER_SEC);
        return server.reads - before;
}

Test(answers, who_left_is_not_waited_for) {
        begin();
        server_create(RUNS "/10-m1", "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        ask_wait("10-m1");
        serve_for(USEC_PER_SEC);
        cr_expect_geq(reads_of_a_second(), 2, "it is looked at");
        bus = sd_bus_flush_close_unref(bus);
        serve_for(USEC_PER_SEC);
        cr_expect_eq(reads_of_a_second(), 0);
}
