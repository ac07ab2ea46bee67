/* Who may ask what: the packaged bus policy, and a whole daemon on a bus that goes by it
 * (bus-fixture.h). The daemon is a process of the same user as who asks, so that the user whom the
 * policy calls "root" is somebody else for some tests, and the one who asks for others. */
#include "bus-fixture.h"

/* As every system bus has it (dbus-daemon's system.conf). */
#define SYSTEM_POLICY                                                                              \
        "<policy context='default'><allow user='*'/><deny own='*'/>"                               \
        "<deny send_type='method_call'/><allow send_type='signal'/>"                               \
        "<allow send_requested_reply='true' send_type='method_return'/>"                           \
        "<allow send_requested_reply='true' send_type='error'/>"                                   \
        "<allow receive_type='method_call'/><allow receive_type='method_return'/>"                 \
        "<allow receive_type='error'/><allow receive_type='signal'/>"                              \
        "<allow send_destination='org.freedesktop.DBus'/></policy>"

TestSuite(bus_policy, .init = setup_bus, .fini = teardown_bus);

/* Return: the policies that are packaged, for a user instead of root; newly allocated. */
static char *packaged_policy(const char *user) {
        g_autofree char *text = NULL;
        g_auto(GStrv) parts = NULL;
        char *begin = NULL, *end = NULL;

        cr_assert(g_file_get_contents(PROJECT_SOURCE_ROOT "/packaging/org.jobkeeper.Manager1.conf",
                                      &text, NULL, NULL));
        begin = strstr(text, "<busconfig>");
        end = strstr(text, "</busconfig>");
        cr_assert(begin && end);
        *end = '\0';
        parts = g_strsplit(begin + strlen("<busconfig>"), "user=\"root\"", -1);
        cr_assert_eq(g_strv_length(parts), 2U);
        return g_strconcat(parts[0], "user=\"", user, "\"", parts[1], NULL);
}

static void begin(const char *root_is) {
        g_autofree char *packaged = packaged_policy(root_is),
                        *policy = g_strdup_printf(SYSTEM_POLICY
                                                  "%s<policy user='%u'><allow own='" BUS_NAME
                                                  "'/><allow own='" BUS_NAME_ROOT "'/></policy>",
                                                  packaged, (unsigned)getuid());

        bus_end();
        bus_set_policy(policy);
        bus_begin();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

/* Nobody has this uid. */
static void begin_as_anybody(void) {
        begin("4000000000");
}

static void begin_as_root(void) {
        g_autofree char *ourselves = g_strdup_printf("%u", (unsigned)getuid());

        begin(ourselves);
}

typedef struct Question {
        const char *method, *types, *first;
        bool for_all;
} Question;

static const Question questions[] = {
    {"Status", NULL, NULL, true},     {"History", "su", "a", true},
    {"Next", "su", "a", true},        {"Locks", "s", "", true},
    {"Run", "s", "a", false},         {"WaitRun", "ss", "a", false},
    {"AcquireLock", "s", "]", false}, {"AttachLock", "su", "x", false},
    {"LockLease", "s", "x", false},   {"ReleaseLock", "s", "x", false},
    {"AdoptLock", "s", "x", false},   {"Drain", "sss", "X", false},
    {"Undrain", "s", "X", false},     {"Drained", "s", "X", false},
    {"Stop", "sss", "X", false},      {"Pause", "sss", "X", false},
    {"Resume", "s", "X", false},      {"RunOn", "ss", "X", false},
    {"Rerun", "ssxs", "X", false},    {"Resolve", "sssss", "X", false},
    {"FindRun", "ss", "X", false},
};

/* Return: whether the bus let it through, whatever the daemon said. */
static bool may_ask(const char *name, const Question *question) {
        const char *types = question->types ? question->types : "";

        if (g_str_equal(types, "su"))
                ask_as(bus, name, question->method, types, question->first, 0U);
        else if (g_str_equal(types, "ss")) /* of a run that is no name: answered at once */
                ask_as(bus, name, question->method, types, question->first, "");
        else if (g_str_equal(types, "sss"))
                ask_as(bus, name, question->method, types, question->first, "", "");
        else if (g_str_equal(types, "sssss"))
                ask_as(bus, name, question->method, types, question->first, "", "", "", "");
        else if (g_str_equal(types, "ssxs"))
                ask_as(bus, name, question->method, types, question->first, "", (int64_t)1, "");
        else
                ask_as(bus, name, question->method, question->types, question->first);
        await(is_said, question->method);
        return !strstr(said, SD_BUS_ERROR_ACCESS_DENIED);
}

Test(bus_policy, anybody_may_look_and_change_nothing) {
        begin_as_anybody();
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                cr_expect_eq(may_ask(BUS_NAME, &questions[i]), questions[i].for_all, "%s: %s",
                             questions[i].method, said);
                cr_expect_not(may_ask(BUS_NAME_ROOT, &questions[i]), "%s: %s", questions[i].method,
                              said);
        }
        cr_expect_eq(server_count("/jobkeeper/requests"), 0U);
}

Test(bus_policy, root_may_ask_everything_under_both_names) {
        begin_as_root();
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                cr_expect(may_ask(BUS_NAME, &questions[i]), "%s: %s", questions[i].method, said);
                cr_expect(may_ask(BUS_NAME_ROOT, &questions[i]), "%s: %s", questions[i].method,
                          said);
        }
}
