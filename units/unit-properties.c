/* See unit-properties.h. A table of names and where their values go; whatever is not in it is
 * skipped. */
#include "unit-properties.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "fence-protocol.h"

typedef int (*PropertyRead)(sd_bus_message *message, void *value);

static int property_read_string(sd_bus_message *message, void *value) {
        char **string = value;
        const char *text;
        int r;

        r = sd_bus_message_read_basic(message, 's', &text);
        if (r < 0)
                return r;
        g_free(*string);
        *string = g_strdup(text);
        return 0;
}

/* CPU time comes in nanoseconds, all ones when it is not accounted. */
static int property_read_nsec(sd_bus_message *message, void *value) {
        usec_t *usec = value;
        uint64_t nsec;
        int r;

        r = sd_bus_message_read_basic(message, 't', &nsec);
        if (r < 0)
                return r;
        *usec = nsec == UINT64_MAX ? USEC_INFINITY : nsec / 1000;
        return 0;
}

static int property_read_job(sd_bus_message *message, void *value) {
        char **job = value;
        const char *path;
        uint32_t id;
        int r;

        r = sd_bus_message_read(message, "(uo)", &id, &path);
        if (r < 0)
                return r;
        g_free(*job);
        *job = id ? g_strdup(path) : NULL;
        return 0;
}

static int property_read_nonce(sd_bus_message *message, void *value) {
        char **nonce = value;
        const char *assignment;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_basic(message, 's', &assignment)) > 0)
                if (g_str_has_prefix(assignment, UNIT_NONCE_VARIABLE)) {
                        g_free(*nonce);
                        *nonce = g_strdup(assignment + strlen(UNIT_NONCE_VARIABLE));
                }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int property_read_fenced(sd_bus_message *message, void *value) {
        const char *unit;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_basic(message, 's', &unit)) > 0)
                *(bool *)value |= strcmp(unit, FENCE_UNIT) == 0;
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* ExecStartPre: path, argv, ignore-failure, four times, pid, CLD_* and status of each. */
static int property_read_launch(sd_bus_message *message, void *value) {
        int32_t *launch_status = value;
        const char *path;
        int32_t code, status;
        int r = sd_bus_message_enter_container(message, 'a', "(sasbttttuii)");

        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'r', "sasbttttuii")) > 0) {
                r = sd_bus_message_read_basic(message, 's', &path);
                if (r >= 0)
                        r = sd_bus_message_skip(message, "asbttttu");
                if (r >= 0)
                        r = sd_bus_message_read(message, "ii", &code, &status);
                if (r >= 0 && code == CLD_EXITED && g_str_has_suffix(path, "/" LAUNCH_PROGRAM_NAME))
                        *launch_status = status;
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int unit_invocation_id_read(sd_bus_message *message, char ret_id[33]) {
        const uint8_t *bytes;
        size_t size;
        int r;

        r = sd_bus_message_read_array(message, 'y', (const void **)&bytes, &size);
        if (r < 0)
                return r;
        ret_id[0] = '\0';
        for (size_t i = 0; size == 16 && i < size; i++)
                (void)g_snprintf(ret_id + 2 * i, 3, "%02x", bytes[i]);
        return 0;
}

static int property_read_invocation_id(sd_bus_message *message, void *value) {
        return unit_invocation_id_read(message, value);
}

static const struct {
        const char *name;
        const char *contents;
        PropertyRead read; /* NULL: a number, as it is */
        size_t offset;
} properties_wanted[] = {
    {"LoadState", "s", property_read_string, offsetof(UnitProperties, load_state)},
    {"ActiveState", "s", property_read_string, offsetof(UnitProperties, active_state)},
    {"Result", "s", property_read_string, offsetof(UnitProperties, result)},
    {"ControlGroup", "s", property_read_string, offsetof(UnitProperties, control_group)},
    {"Slice", "s", property_read_string, offsetof(UnitProperties, slice)},
    {"Type", "s", property_read_string, offsetof(UnitProperties, type)},
    {"BindsTo", "as", property_read_fenced, offsetof(UnitProperties, fenced)},
    {"Environment", "as", property_read_nonce, offsetof(UnitProperties, nonce)},
    {"Job", "(uo)", property_read_job, offsetof(UnitProperties, systemd_job)},
    {"InvocationID", "ay", property_read_invocation_id, offsetof(UnitProperties, invocation_id)},
    {"ExecStartPre", "a(sasbttttuii)", property_read_launch,
     offsetof(UnitProperties, launch_status)},
    {"MainPID", "u", NULL, offsetof(UnitProperties, main_pid)},
    {"ExecMainCode", "i", NULL, offsetof(UnitProperties, exec_main_code)},
    {"ExecMainStatus", "i", NULL, offsetof(UnitProperties, exec_main_status)},
    {"ExecMainStartTimestamp", "t", NULL, offsetof(UnitProperties, exec_main_start)},
    {"ExecMainExitTimestamp", "t", NULL, offsetof(UnitProperties, exec_main_exit)},
    {"ExecMainExitTimestampMonotonic", "t", NULL, offsetof(UnitProperties, exec_main_gone)},
    {"InactiveExitTimestampMonotonic", "t", NULL, offsetof(UnitProperties, began)},
    {"ActiveEnterTimestamp", "t", NULL, offsetof(UnitProperties, active_enter)},
    {"ActiveExitTimestampMonotonic", "t", NULL, offsetof(UnitProperties, active_left)},
    {"TimeoutStartUSec", "t", NULL, offsetof(UnitProperties, start_limit)},
    {"TimeoutStopUSec", "t", NULL, offsetof(UnitProperties, stop_limit)},
    {"CPUUsageNSec", "t", property_read_nsec, offsetof(UnitProperties, cpu)},
};

static int properties_read_one(sd_bus_message *reply, const char *name,
                               UnitProperties *properties) {
        int r;

        for (size_t i = 0; i < G_N_ELEMENTS(properties_wanted); i++) {
                if (strcmp(properties_wanted[i].name, name) != 0)
                        continue;
                r = sd_bus_message_enter_container(reply, 'v', properties_wanted[i].contents);
                if (r >= 0 && !properties_wanted[i].read)
                        r = sd_bus_message_read_basic(reply, *properties_wanted[i].contents,
                                                      (char *)properties +
                                                          properties_wanted[i].offset);
                else if (r >= 0)
                        r = properties_wanted[i].read(reply, (char *)properties +
                                                                 properties_wanted[i].offset);
                return r < 0 ? r : sd_bus_message_exit_container(reply);
        }
        return sd_bus_message_skip(reply, "v");
}

int unit_properties_read(sd_bus_message *reply, UnitProperties *ret_properties) {
        UnitProperties properties = {.cpu = USEC_INFINITY};
        const char *name;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                r = sd_bus_message_read_basic(reply, 's', &name);
                if (r >= 0)
                        r = properties_read_one(reply, name, &properties);
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
        }
        if (r >= 0 && (!properties.load_state || !properties.active_state))
                r = -EBADMSG; /* an object, but not a unit */
        if (r < 0) {
                unit_properties_clear(&properties);
                return r;
        }
        *ret_properties = properties;
        return 0;
}

void unit_properties_clear(UnitProperties *properties) {
        g_free(properties->load_state);
        g_free(properties->active_state);
        g_free(properties->result);
        g_free(properties->control_group);
        g_free(properties->slice);
        g_free(properties->type);
        g_free(properties->nonce);
        g_free(properties->systemd_job);
        *properties = (UnitProperties){0};
}

bool unit_properties_are_of(const UnitProperties *properties, const char *nonce) {
        return properties->nonce && strcmp(properties->nonce, nonce) == 0;
}

bool unit_properties_short_start(const UnitProperties *properties) {
        return g_strcmp0(properties->type, UNIT_TYPE_NOTIFY) == 0 ||
               g_strcmp0(properties->type, UNIT_TYPE_EXEC) == 0;
}

bool unit_properties_outlive_start(const UnitProperties *properties) {
        return unit_properties_short_start(properties) && properties->active_enter > 0;
}

/* With a job and nothing run it waits for its turn; "deactivating" are its own words while what is
 * left of it is being stopped, and before the main process began it waits for a job. */
bool unit_properties_over(const UnitProperties *properties) {
        const char *state = properties->active_state;
        bool has_run = properties->exec_main_code != 0;

        if (properties->main_pid != 0)
                return false;
        return g_str_equal(state, "active") || g_str_equal(state, "failed") ||
               (g_str_equal(state, "deactivating") && has_run) ||
               (g_str_equal(state, "inactive") && (has_run || !properties->systemd_job));
}
