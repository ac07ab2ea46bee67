/* See unit-start.h.
 *
 * The shape of a unit: Type=oneshot, so that the start job lasts as long as the main process and
 * JobRemoved is its end, or, of what runs without end, Type=exec, or Type=notify where the command
 * says when it has started, which ends the start job; RemainAfterExit=yes and CollectMode=inactive,
 * so that PID 1 keeps a success (active) and a failure (failed) until we have read it; the start
 * timeout is the run's time limit; and whatever a run leaves behind in its cgroup gets SIGTERM and
 * then SIGKILL.
 */
#include "unit-start.h"

#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <string.h>

#include "bus-call.h"
#include "fence-protocol.h"
#include "unit-properties.h"

/* The members of a spec that a copy has of its own. */
static const size_t spec_strings[] = {
    offsetof(UnitSpec, name),  offsetof(UnitSpec, description),
    offsetof(UnitSpec, user),  offsetof(UnitSpec, group),
    offsetof(UnitSpec, slice), offsetof(UnitSpec, working_directory),
    offsetof(UnitSpec, nonce)};
static const size_t spec_lists[] = {offsetof(UnitSpec, argv),
                                    offsetof(UnitSpec, environment),
                                    offsetof(UnitSpec, environment_files),
                                    offsetof(UnitSpec, credentials),
                                    offsetof(UnitSpec, log_fields),
                                    offsetof(UnitSpec, unit_settings),
                                    offsetof(UnitSpec, service_settings),
                                    offsetof(UnitSpec, after),
                                    offsetof(UnitSpec, launch)};

static void *spec_member(UnitSpec *spec, size_t offset) {
        return (char *)spec + offset;
}

UnitSpec *unit_spec_copy(const UnitSpec *spec) {
        UnitSpec *copy = g_memdup2(spec, sizeof *spec);

        for (size_t i = 0; i < G_N_ELEMENTS(spec_strings); i++) {
                char **string = spec_member(copy, spec_strings[i]);
                *string = g_strdup(*string);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(spec_lists); i++) {
                char ***list = spec_member(copy, spec_lists[i]);
                *list = g_strdupv(*list); /* of NULL: NULL */
        }
        return copy;
}

UnitSpec *unit_spec_free(UnitSpec *spec) {
        if (!spec)
                return NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(spec_strings); i++)
                g_free(*(char **)spec_member(spec, spec_strings[i]));
        for (size_t i = 0; i < G_N_ELEMENTS(spec_lists); i++)
                g_strfreev(*(char ***)spec_member(spec, spec_lists[i]));
        g_free(spec);
        return NULL;
}

static int start_append_string(sd_bus_message *message, const char *name, const char *value) {
        return value ? sd_bus_message_append(message, "(sv)", name, "s", value) : 0;
}

/* Opens (sv) up to the contents of the variant; start_close_property() closes both. */
static int start_open_property(sd_bus_message *message, const char *name, const char *contents) {
        int r;

        if ((r = sd_bus_message_open_container(message, 'r', "sv")) < 0 ||
            (r = sd_bus_message_append_basic(message, 's', name)) < 0)
                return r;
        return sd_bus_message_open_container(message, 'v', contents);
}

static int start_close_property(sd_bus_message *message) {
        int r = sd_bus_message_close_container(message);

        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int start_append_list(sd_bus_message *message, const char *name, const char *const *list) {
        int r;

        if ((r = start_open_property(message, name, "as")) < 0 ||
            (r = sd_bus_message_append_strv(message, (char **)list)) < 0)
                return r;
        return start_close_property(message);
}

/* ExecStart a(sasb) is path, argv, ignore-failure. PID 1 expands variables in argv, and "$$" to
 * "$": that keeps an argument to the letter. (ExecStartEx has a flag for it, but PID 1 of systemd
 * 252 writes that property's name into the unit's file, where it is none, and after the next
 * daemon-reload by anybody the unit is "bad-setting".) */
static char **start_arguments(const UnitSpec *spec) {
        char **arguments = g_strdupv((char **)spec->argv);

        for (char **argument = arguments; *argument && !spec->argv_expand; argument++) {
                g_autofree char *before = *argument;
                GString *text = g_string_new(before);

                g_string_replace(text, "$", "$$", 0);
                *argument = g_string_free(text, FALSE);
        }
        return arguments;
}

static int start_append_command(sd_bus_message *message, const UnitSpec *spec) {
        g_auto(GStrv) arguments = start_arguments(spec);
        int r;

        if ((r = start_open_property(message, "ExecStart", "a(sasb)")) < 0 ||
            (r = sd_bus_message_open_container(message, 'a', "(sasb)")) < 0 ||
            (r = sd_bus_message_open_container(message, 'r', "sasb")) < 0 ||
            (r = sd_bus_message_append_basic(message, 's', spec->argv[0])) < 0 ||
            (r = sd_bus_message_append_strv(message, arguments)) < 0 ||
            (r = sd_bus_message_append(message, "b", 0)) < 0 ||
            (r = sd_bus_message_close_container(message)) < 0 ||
            (r = sd_bus_message_close_container(message)) < 0)
                return r;
        return start_close_property(message);
}

/* The nonce is the last: nobody else's wins over it. */
static int start_append_environment(sd_bus_message *message, const UnitSpec *spec) {
        g_autoptr(GPtrArray) list = g_ptr_array_new();
        g_autofree char *nonce = g_strconcat(UNIT_NONCE_VARIABLE, spec->nonce, NULL);

        for (const char *const *variable = spec->environment; variable && *variable; variable++)
                g_ptr_array_add(list, (gpointer)*variable);
        g_ptr_array_add(list, nonce);
        g_ptr_array_add(list, NULL);
        return start_append_list(message, "Environment", (const char *const *)list->pdata);
}

/* EnvironmentFiles a(sb) is path, ignore-failure. Each wins over those before it, and over
 * Environment. */
static int start_append_environment_files(sd_bus_message *message, const char *const *files) {
        int r;

        if (!files || !*files)
                return 0;
        r = start_open_property(message, "EnvironmentFiles", "a(sb)");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sb)");
        for (; r >= 0 && *files; files++) {
                const bool optional = **files == '-';

                r = sd_bus_message_append(message, "(sb)", *files + (optional ? 1 : 0), optional);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : start_close_property(message);
}

/* Return: 0 or negative errno. No name has a colon in it. */
static int start_append_credential(sd_bus_message *message, const char *credential) {
        g_auto(GStrv) parts = g_strsplit(credential, ":", 2);

        return parts[0] && parts[1] ? sd_bus_message_append(message, "(ss)", parts[0], parts[1])
                                    : -EINVAL;
}

static int start_append_credentials(sd_bus_message *message, const char *const *credentials) {
        int r;

        if (!credentials || !*credentials)
                return 0;
        r = start_open_property(message, "LoadCredential", "a(ss)");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(ss)");
        for (; r >= 0 && *credentials; credentials++)
                r = start_append_credential(message, *credentials);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : start_close_property(message);
}

static int start_append_log_fields(sd_bus_message *message, const char *const *fields) {
        int r;

        if (!fields || !*fields)
                return 0;
        r = start_open_property(message, "LogExtraFields", "aay");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "ay");
        for (; r >= 0 && *fields; fields++)
                r = sd_bus_message_append_array(message, 'y', *fields, strlen(*fields));
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : start_close_property(message);
}

const char *unit_type_of(const UnitSpec *spec) {
        static const char *const types[] = {[UNIT_READY_AT_END] = "oneshot",
                                            [UNIT_READY_AT_START] = UNIT_TYPE_EXEC,
                                            [UNIT_READY_NOTIFIED] = UNIT_TYPE_NOTIFY};

        return types[spec->ready];
}

/* How the unit starts, ends and is killed: that its cgroup is empty before its lock moves rests on
 * these. */
static int start_append_lifecycle(sd_bus_message *message, const UnitSpec *spec) {
        usec_t stop = MAX(spec->stop_timeout, 1); /* 0 would mean "never" to PID 1 */

        if (spec->ready == UNIT_READY_NOTIFIED) {
                int r = sd_bus_message_append(message, "(sv)", "NotifyAccess", "s", "all");
                if (r < 0)
                        return r;
        }
        return sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Type", "s",
                                     unit_type_of(spec), "RemainAfterExit", "b", 1, "CollectMode",
                                     "s", "inactive", "TimeoutStartUSec", "t", spec->timeout,
                                     "TimeoutStopUSec", "t", stop, "KillMode", "s", "control-group",
                                     "SendSIGKILL", "b", 1);
}

int unit_start_append_order(sd_bus_message *message, const char *const *after, bool fenced) {
        static const char *const fence[] = {FENCE_UNIT, NULL}, *const usual[] = {UNIT_AFTER_DEFAULT,
                                                                                 NULL};
        g_autoptr(GPtrArray) list = g_ptr_array_new();
        int r;

        for (after = after ? after : usual; *after; after++)
                g_ptr_array_add(list, (gpointer)*after);
        if (fenced)
                g_ptr_array_add(list, (gpointer)fence[0]);
        g_ptr_array_add(list, NULL);
        r = start_append_list(message, "After", (const char *const *)list->pdata);
        return r < 0 || !fenced ? r : start_append_list(message, "BindsTo", fence);
}

static int start_append_surroundings(sd_bus_message *message, const UnitSpec *spec) {
        int r;

        if ((r = start_append_string(message, "Description", spec->description)) < 0 ||
            (r = start_append_string(message, "Slice", spec->slice)) < 0 ||
            (r = start_append_string(message, "User", spec->user)) < 0 ||
            (r = start_append_string(message, "Group", spec->group)) < 0 ||
            (r = start_append_string(message, "WorkingDirectory", spec->working_directory)) < 0 ||
            (r = sd_bus_message_append(message, "(sv)(sv)(sv)", "StandardOutput", "s", "journal",
                                       "StandardError", "s", "journal", "CPUAccounting", "b", 1)) <
                0 ||
            (r = unit_start_append_order(message, spec->after, spec->fenced)) < 0 ||
            (r = start_append_environment(message, spec)) < 0 ||
            (r = start_append_environment_files(message, spec->environment_files)) < 0 ||
            (r = start_append_credentials(message, spec->credentials)) < 0)
                return r;
        return start_append_log_fields(message, spec->log_fields);
}

int unit_start_message(sd_bus *bus, const UnitSpec *spec, bool referenced,
                       sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = systemd_method(bus, &message, "StartTransientUnit", "ss", spec->name, "fail");

        if (r < 0 || (r = sd_bus_message_open_container(message, 'a', "(sv)")) < 0 ||
            (r = start_append_lifecycle(message, spec)) < 0 ||
            (r = start_append_surroundings(message, spec)) < 0 ||
            (referenced && (r = sd_bus_message_append(message, "(sv)", "AddRef", "b", 1)) < 0) ||
            (r = start_append_command(message, spec)) < 0 ||
            (r = sd_bus_message_close_container(message)) < 0 ||
            (r = sd_bus_message_append(message, "a(sa(sv))", 0)) < 0)
                return r;
        *ret_message = g_steal_pointer(&message);
        return 0;
}
