/* See unit-start.h.
 *
 * The shape of a unit: Type=oneshot, so that the start job lasts as long as the main process and
 * JobRemoved is its end; RemainAfterExit=yes and CollectMode=inactive, so that PID 1 keeps a
 * success (active) and a failure (failed) until we have read it; the start timeout is the run's
 * time limit; and whatever a run leaves behind in its cgroup gets SIGTERM and then SIGKILL.
 */
#include "unit-start.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <string.h>

#include "unit-manager.h"
#include "unit-properties.h"

static char **strv_copy(const char *const *strv) {
        return g_strdupv((char **)strv); /* of NULL: NULL */
}

UnitSpec *unit_spec_copy(const UnitSpec *spec) {
        UnitSpec *copy = g_new(UnitSpec, 1);

        *copy = *spec;
        copy->name = g_strdup(spec->name);
        copy->description = g_strdup(spec->description);
        copy->argv = (const char *const *)strv_copy(spec->argv);
        copy->user = g_strdup(spec->user);
        copy->group = g_strdup(spec->group);
        copy->environment = (const char *const *)strv_copy(spec->environment);
        copy->working_directory = g_strdup(spec->working_directory);
        copy->log_fields = (const char *const *)strv_copy(spec->log_fields);
        copy->slice = g_strdup(spec->slice);
        copy->after = (const char *const *)strv_copy(spec->after);
        copy->nonce = g_strdup(spec->nonce);
        return copy;
}

UnitSpec *unit_spec_free(UnitSpec *spec) {
        if (!spec)
                return NULL;
        g_free((char *)spec->name);
        g_free((char *)spec->description);
        g_strfreev((char **)spec->argv);
        g_free((char *)spec->user);
        g_free((char *)spec->group);
        g_strfreev((char **)spec->environment);
        g_free((char *)spec->working_directory);
        g_strfreev((char **)spec->log_fields);
        g_free((char *)spec->slice);
        g_strfreev((char **)spec->after);
        g_free((char *)spec->nonce);
        g_free(spec);
        return NULL;
}

static int append_string(sd_bus_message *message, const char *name, const char *value) {
        return value ? sd_bus_message_append(message, "(sv)", name, "s", value) : 0;
}

static int append_flag(sd_bus_message *message, const char *name, bool value) {
        return sd_bus_message_append(message, "(sv)", name, "b", (int)value);
}

/* Opens (sv) up to the contents of the variant; close_property() closes both. */
static int open_property(sd_bus_message *message, const char *name, const char *contents) {
        int r;

        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append_basic(message, 's', name);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', contents);
        return r;
}

static int close_property(sd_bus_message *message) {
        int r;

        r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

/* ExecStart a(sasb) is path, argv, ignore-failure. PID 1 expands variables in argv, and "$$" to
 * "$": that keeps an argument to the letter. (ExecStartEx has a flag for it, but PID 1 of systemd
 * 252 writes that property's name into the unit's file, where it is none, and after the next
 * daemon-reload by anybody the unit is "bad-setting".) */
static int append_arguments(sd_bus_message *message, const UnitSpec *spec) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "s");
        for (const char *const *argument = spec->argv; r >= 0 && *argument; argument++) {
                g_autoptr(GString) text = g_string_new(*argument);

                if (!spec->argv_expand)
                        g_string_replace(text, "$", "$$", 0);
                r = sd_bus_message_append_basic(message, 's', text->str);
        }
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int append_command(sd_bus_message *message, const UnitSpec *spec) {
        int r;

        r = open_property(message, "ExecStart", "a(sasb)");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sasb)");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'r', "sasb");
        if (r >= 0)
                r = sd_bus_message_append_basic(message, 's', spec->argv[0]);
        if (r >= 0)
                r = append_arguments(message, spec);
        if (r >= 0)
                r = sd_bus_message_append(message, "b", 0);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : close_property(message);
}

static int append_environment(sd_bus_message *message, const UnitSpec *spec) {
        g_autofree char *nonce = g_strconcat(UNIT_NONCE_VARIABLE, spec->nonce, NULL);
        int r;

        r = open_property(message, "Environment", "as");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "s");
        for (const char *const *assignment = spec->environment; r >= 0 && assignment && *assignment;
             assignment++)
                r = sd_bus_message_append_basic(message, 's', *assignment);
        if (r >= 0)
                r = sd_bus_message_append_basic(message, 's',
                                                nonce); /* the last: nobody else's wins over it */
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : close_property(message);
}

static int append_log_fields(sd_bus_message *message, const char *const *fields) {
        int r;

        if (!fields || !*fields)
                return 0;
        r = open_property(message, "LogExtraFields", "aay");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "ay");
        for (; r >= 0 && *fields; fields++)
                r = sd_bus_message_append_array(message, 'y', *fields, strlen(*fields));
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : close_property(message);
}

static int append_after(sd_bus_message *message, const char *const *after) {
        static const char *const defaults[] = {UNIT_AFTER_DEFAULT, NULL};
        int r;

        r = open_property(message, "After", "as");
        if (r >= 0)
                r = sd_bus_message_append_strv(message, (char **)(after ? after : defaults));
        return r < 0 ? r : close_property(message);
}

/* How the unit starts, ends and is killed: that its cgroup is empty before its lock moves rests on
 * these. */
static int append_lifecycle(sd_bus_message *message, const UnitSpec *spec) {
        usec_t stop = MAX(spec->stop_timeout, 1); /* 0 would mean "never" to PID 1 */

        return sd_bus_message_append(
            message, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Type", "s", "oneshot", "RemainAfterExit", "b",
            1, "CollectMode", "s", "inactive", "TimeoutStartUSec", "t", spec->timeout,
            "TimeoutStopUSec", "t", stop, "KillMode", "s", "control-group", "SendSIGKILL", "b", 1);
}

static int append_surroundings(sd_bus_message *message, const UnitSpec *spec) {
        int r;

        r = append_string(message, "Description", spec->description);
        if (r >= 0)
                r = append_string(message, "Slice", spec->slice);
        if (r >= 0)
                r = append_string(message, "User", spec->user);
        if (r >= 0)
                r = append_string(message, "Group", spec->group);
        if (r >= 0)
                r = append_string(message, "WorkingDirectory", spec->working_directory);
        if (r >= 0)
                r = append_string(message, "StandardOutput", "journal");
        if (r >= 0)
                r = append_string(message, "StandardError", "journal");
        if (r >= 0)
                r = append_flag(message, "CPUAccounting", true);
        if (r >= 0)
                r = append_after(message, spec->after);
        if (r >= 0)
                r = append_environment(message, spec);
        return r < 0 ? r : append_log_fields(message, spec->log_fields);
}

static int append_properties(sd_bus_message *message, const UnitSpec *spec, bool referenced) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "(sv)");
        if (r >= 0)
                r = append_lifecycle(message, spec);
        if (r >= 0)
                r = append_surroundings(message, spec);
        if (r >= 0 && referenced)
                r = append_flag(message, "AddRef", true);
        /* The fence's BindsTo= and the launch step's ExecStartPre= belong here. */
        if (r >= 0)
                r = append_command(message, spec);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

int unit_start_message(sd_bus *bus, const UnitSpec *spec, bool referenced,
                       sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, SYSTEMD_SERVICE, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER, "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", spec->name, "fail");
        if (r >= 0)
                r = append_properties(message, spec, referenced);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        if (r < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}
