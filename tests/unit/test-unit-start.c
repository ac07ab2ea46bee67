/* What PID 1 is asked for: a unit's files, in the message that makes it. */
#include "unit-start.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

static sd_bus *bus;
static int other_end;

/* A bus that nobody answers on: messages are only made. */
static void begin(void) {
        int ends[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        other_end = ends[1];
        cr_assert_geq(sd_bus_new(&bus), 0);
        cr_assert_geq(sd_bus_set_fd(bus, ends[0], ends[0]), 0);
        cr_assert_geq(sd_bus_start(bus), 0);
}

static void finish(void) {
        sd_bus_close_unref(bus);
        (void)close(other_end);
}

TestSuite(unit_start, .init = begin, .fini = finish);

static UnitSpec spec_of(const char *const *files, const char *const *credentials) {
        static const char *const argv[] = {"/bin/true", NULL};

        return (UnitSpec){.name = "jobkeeper-a-1.service",
                          .argv = argv,
                          .nonce = "00000000000000000000000000000001",
                          .environment_files = files,
                          .credentials = credentials};
}

/* Goes to the contents of that property of the unit. Return: whether the message has it. */
static bool enter_property(sd_bus_message *message, const char *name, const char *contents) {
        const char *property = NULL;

        cr_assert_geq(sd_bus_message_seal(message, 1, 0), 0);
        cr_assert_gt(sd_bus_message_skip(message, "ss"), 0);
        cr_assert_gt(sd_bus_message_enter_container(message, 'a', "(sv)"), 0);
        while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
                cr_assert_gt(sd_bus_message_read(message, "s", &property), 0);
                if (g_str_equal(property, name)) {
                        cr_assert_gt(sd_bus_message_enter_container(message, 'v', contents), 0);
                        cr_assert_gt(sd_bus_message_enter_container(message, 'a', contents + 1), 0);
                        return true;
                }
                cr_assert_geq(sd_bus_message_skip(message, "v"), 0);
                cr_assert_geq(sd_bus_message_exit_container(message), 0);
        }
        return false;
}

/* Makes the message of a copy, so that this has them, too. Return: as unit_start_message(). */
static int make(const UnitSpec *spec, sd_bus_message **ret_message) {
        _cleanup_(unit_spec_freep) UnitSpec *copy = unit_spec_copy(spec);

        return unit_start_message(bus, copy, false, ret_message);
}

Test(unit_start, environment_files_in_their_order) {
        static const char *const files[] = {"/etc/b", "-/etc/a", NULL};
        static const struct {
                const char *path;
                int optional;
        } expected[] = {{"/etc/b", 0}, {"/etc/a", 1}};
        const UnitSpec spec = spec_of(files, NULL);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const char *path = NULL;
        int optional = -1;

        cr_assert_eq(make(&spec, &message), 0);
        cr_assert(enter_property(message, "EnvironmentFiles", "a(sb)"));
        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                cr_assert_gt(sd_bus_message_read(message, "(sb)", &path, &optional), 0);
                cr_expect_str_eq(path, expected[i].path);
                cr_expect_eq(optional, expected[i].optional);
        }
        cr_expect_eq(sd_bus_message_read(message, "(sb)", &path, &optional), 0, "no more");
}

Test(unit_start, credentials_with_their_paths) {
        static const char *const credentials[] = {"key:/etc/a:b", "token:/etc/t", NULL};
        static const char *const expected[][2] = {{"key", "/etc/a:b"}, {"token", "/etc/t"}};
        const UnitSpec spec = spec_of(NULL, credentials);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const char *name = NULL, *path = NULL;

        cr_assert_eq(make(&spec, &message), 0);
        cr_assert(enter_property(message, "LoadCredential", "a(ss)"));
        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                cr_assert_gt(sd_bus_message_read(message, "(ss)", &name, &path), 0);
                cr_expect_str_eq(name, expected[i][0]);
                cr_expect_str_eq(path, expected[i][1]);
        }
        cr_expect_eq(sd_bus_message_read(message, "(ss)", &name, &path), 0, "no more");
}

/* An older systemd would not know a property that is not needed. */
Test(unit_start, without_files_nothing_is_said_of_them) {
        static const char *const none[] = {NULL};
        static const char *const properties[][2] = {{"EnvironmentFiles", "a(sb)"},
                                                    {"LoadCredential", "a(ss)"}};

        for (size_t i = 0; i < 2 * G_N_ELEMENTS(properties); i++) {
                const UnitSpec spec = i % 2 ? spec_of(none, none) : spec_of(NULL, NULL);
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;

                cr_assert_eq(make(&spec, &message), 0);
                cr_expect_not(enter_property(message, properties[i / 2][0], properties[i / 2][1]));
        }
}

/* Return: the text that the unit has for it, newly allocated; NULL: none. */
static char *text_property(const UnitSpec *spec, const char *name) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const char *property = NULL, *text = NULL;

        cr_assert_eq(make(spec, &message), 0);
        cr_assert_geq(sd_bus_message_seal(message, 1, 0), 0);
        cr_assert_gt(sd_bus_message_skip(message, "ss"), 0);
        cr_assert_gt(sd_bus_message_enter_container(message, 'a', "(sv)"), 0);
        while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
                cr_assert_gt(sd_bus_message_read(message, "s", &property), 0);
                if (g_str_equal(property, name)) {
                        cr_assert_gt(sd_bus_message_read(message, "v", "s", &text), 0);
                        return g_strdup(text);
                }
                cr_assert_geq(sd_bus_message_skip(message, "v"), 0);
                cr_assert_geq(sd_bus_message_exit_container(message), 0);
        }
        return NULL;
}

Test(unit_start, what_says_itself_when_it_has_started_may) {
        UnitSpec spec = spec_of(NULL, NULL);
        g_autofree char *usual = text_property(&spec, "Type"),
                        *nobody = text_property(&spec, "NotifyAccess"), *type = NULL, *who = NULL;

        cr_expect_str_eq(usual, "oneshot");
        cr_expect_null(nobody);
        spec.ready = UNIT_READY_NOTIFIED;
        type = text_property(&spec, "Type");
        who = text_property(&spec, "NotifyAccess");
        cr_expect_str_eq(type, "notify");
        cr_expect_str_eq(who, "all");
}

Test(unit_start, what_runs_without_end_has_started_when_it_runs) {
        UnitSpec spec = spec_of(NULL, NULL);
        g_autofree char *type = NULL, *nobody = NULL;

        spec.ready = UNIT_READY_AT_START;
        type = text_property(&spec, "Type");
        nobody = text_property(&spec, "NotifyAccess");
        cr_expect_str_eq(type, "exec");
        cr_expect_null(nobody);
}

Test(unit_start, a_credential_without_a_path_is_a_fault) {
        static const char *const credentials[] = {"token", NULL};
        const UnitSpec spec = spec_of(NULL, credentials);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;

        cr_expect_eq(make(&spec, &message), -EINVAL);
        cr_expect_null(message);
}
