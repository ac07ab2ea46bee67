/* Signals that a local user sends us in the name of PID 1 and of the bus. */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "node-units-fixture.h"
#include "unit-manager.h"

#define NOBODY 65534
#define DBUS "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"

/* Tells every connection of the process a signal of the kind. Return: to how many. */
static unsigned tell_process(sd_bus *bus, pid_t pid, const char *path, const char *interface,
                             const char *member, const char *types, ...) {
        sd_bus_message *names = NULL;
        const char *name = NULL;
        unsigned told = 0;

        if (sd_bus_call_method(bus, DBUS, "ListNames", NULL, &names, NULL) < 0 ||
            sd_bus_message_enter_container(names, 'a', "s") < 0)
                return 0;
        while (sd_bus_message_read(names, "s", &name) > 0) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL, *signal = NULL;
                va_list arguments;
                uint32_t owner = 0;
                int r;

                if (*name != ':' ||
                    sd_bus_call_method(bus, DBUS, "GetConnectionUnixProcessID", NULL, &answer, "s",
                                       name) < 0 ||
                    sd_bus_message_read(answer, "u", &owner) < 0 || (pid_t)owner != pid ||
                    sd_bus_message_new_signal(bus, &signal, path, interface, member) < 0)
                        continue;
                va_start(arguments, types);
                r = sd_bus_message_appendv(signal, types, arguments);
                va_end(arguments);
                told += r >= 0 && sd_bus_message_set_destination(signal, name) >= 0 &&
                        sd_bus_send(bus, signal, NULL) >= 0;
        }
        sd_bus_message_unref(names);
        return told;
}

/* In a process of nobody's. What the bus has answered it has also delivered. */
static int forge(pid_t pid, uint32_t id, const char *unit) {
        g_autofree char *path = g_strdup_printf("/org/freedesktop/systemd1/job/%u", id);
        sd_bus_message *answer = NULL;
        sd_bus *bus = NULL;

        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || sd_bus_open_system(&bus) < 0)
                return 1;
        if (tell_process(bus, pid, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved", "uoss", id, path,
                         unit, "done") == 0 ||
            tell_process(bus, pid, "/org/freedesktop/DBus", "org.freedesktop.DBus",
                         "NameOwnerChanged", "sss", SYSTEMD_SERVICE, "", ":1.1") == 0)
                return 2;
        return sd_bus_call_method(bus, DBUS, "GetId", NULL, &answer, NULL) < 0 ? 3 : 0;
}

static uint32_t start_job_of(const char *unit) {
        const char *const show[] = {"systemctl", "show", "--property=Job", "--value", unit, NULL};
        g_autofree char *output = command_output(show);

        return (uint32_t)strtoul(output, NULL, 10);
}

static void forged(Fixture *f) {
        g_autofree char *name = fresh_name(f),
                        *told = g_build_filename(f->directory, "forged-stop", NULL);
        g_autofree char *script =
            g_strdup_printf("trap 'touch %s; sleep 1; exit 0' TERM; sleep 1000 & wait", told);
        unsigned generation = 0;
        bool sent = false;
        int status = -1;
        uint32_t id;
        pid_t child;
        Seen seen;

        seen_shell(f, &seen, name, script);
        (void)wait_for(f, &seen, 's');
        generation = unit_manager_ref_generation(f->manager);
        id = start_job_of(name);
        unit_stop(seen.unit); /* the start job's true result, "canceled", comes first */
        (void)wait_file(f, told);
        child = fork();
        if (child == 0)
                _exit(id ? forge(getppid(), id, name) : 4);
        sent = waitpid(child, &status, 0) == child && status == 0;
        check(f, sent, "forged: sent, status %x", (unsigned)status);
        (void)wait_for(f, &seen, 'e');
        check_told(f, &seen, is(&seen, UNIT_OUTCOME_SUCCESS, 0, true),
                   "forged: a run that was stopped has not ended by itself");
        check(f, unit_manager_ref_generation(f->manager) == generation,
              "forged: PID 1 did not leave the bus");
        seen_done(&seen);
        check(f, wait_load_state(f, name, "not-found"), "forged: forgotten after discard");
        (void)g_unlink(told);
}

/* While PID 1 is asked over the bus, and while it is not. */
void test_forged(Fixture *f) {
        wait_idle(f);
        new_manager_at(f, NO_SOCKET, BUS_SOCKET);
        forged(f);
        wait_idle(f);
        new_manager(f);
        (void)wait_referable(f);
        forged(f);
}
