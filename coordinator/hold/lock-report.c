/* See lock-report.h. */
#include "lock-report.h"

#include <inttypes.h>

#include "json-line.h"

/* Members of a payload that we know: strings; `pid` is a number. */
static const char *const known_members[] = {"node", "job", "command", "user"};

/* Return: whether the payload is one of ours, whose members were taken over. */
static bool add_known_payload(json_t *object, const char *payload) {
        json_t *said = json_loads(payload, JSON_REJECT_DUPLICATES, NULL);
        bool is_ours = json_is_string(json_object_get(said, "node"));

        for (size_t i = 0; is_ours && i < G_N_ELEMENTS(known_members); i++) {
                const char *value = json_string_value(json_object_get(said, known_members[i]));

                if (value)
                        json_object_set_new(object, known_members[i], said_to_json(value));
        }
        if (is_ours && json_is_integer(json_object_get(said, "tick")))
                json_object_set(object, "tick", json_object_get(said, "tick"));
        if (is_ours && json_is_integer(json_object_get(said, "pid")))
                json_object_set(object, "pid", json_object_get(said, "pid"));
        json_decref(said);
        return is_ours;
}

/* Return: a new string, what the contender says of itself: a single node wraps it, since its name
 * cannot tell whose it is (lock-single.c). */
static char *said_by(const LockEntry *entry) {
        json_t *wrapped = entry->naming == LOCK_NAMING_SINGLE_NODE
                              ? json_loads(entry->payload, JSON_REJECT_DUPLICATES, NULL)
                              : NULL;
        const char *inner = json_string_value(json_object_get(wrapped, "payload"));
        char *said = g_strdup(inner ? inner : entry->payload);

        json_decref(wrapped);
        return said;
}

static const char *kind_of(const LockEntry *entry) {
        if (entry->slot)
                return "slot";
        return entry->mode == LOCK_SHARED ? "shared" : "exclusive";
}

static json_t *lock_entry_to_json(const LockEntry *entry, bool privileged) {
        json_t *object = json_object();
        g_autofree char *said = said_by(entry);

        json_object_set_new(object, "holds", json_boolean(entry->holds));
        json_object_set_new(object, "before", json_integer(entry->before));
        json_object_set_new(object, "mode", json_string(kind_of(entry)));
        json_object_set_new(object, "naming", json_string(lock_naming_to_string(entry->naming)));
        if (entry->foreign)
                json_object_set_new(object, "foreign", json_true());
        if (said && *said && !add_known_payload(object, said))
                json_object_set_new(object, "payload", said_to_json(said));
        json_object_set_new(object, "since", seconds_to_json(entry->since));
        json_object_set_new(object, "token", json_integer(entry->token));
        if (privileged) {
                g_autofree char *session = g_strdup_printf("0x%" PRIx64, (uint64_t)entry->session);

                json_object_set_new(object, "session", json_string(session));
        }
        json_object_set_new(object, "path", json_string(entry->path));
        return object;
}

static json_t *resource_new(const char *name, unsigned slots) {
        json_t *resource = json_object();

        json_object_set_new(resource, "resource", json_string(name));
        json_object_set_new(resource, "slots", json_integer(slots));
        json_object_set_new(resource, "entries", json_array());
        return resource;
}

/* Nobody can say who holds them, but they are there. */
static void add_unreadable(json_t *resources, const GPtrArray *unreadable) {
        for (guint i = 0; unreadable && i < unreadable->len; i++) {
                json_t *resource = resource_new(unreadable->pdata[i], 1);

                json_object_set_new(resource, "unreadable", json_true());
                json_array_append_new(resources, resource);
        }
}

json_t *lock_report(const GPtrArray *entries, const GPtrArray *unreadable, const char *asked,
                    usec_t now, bool privileged) {
        json_t *report = json_object(), *resources = json_array(), *resource = NULL;
        bool seen = false;

        for (guint i = 0; i < entries->len; i++) {
                const LockEntry *entry = entries->pdata[i];
                const char *last = json_string_value(json_object_get(resource, "resource"));

                if (g_strcmp0(last, entry->resource) != 0) {
                        resource = resource_new(entry->resource, MAX(entry->slots, 1));
                        json_array_append_new(resources, resource);
                        seen = seen || g_strcmp0(asked, entry->resource) == 0;
                }
                json_array_append_new(json_object_get(resource, "entries"),
                                      lock_entry_to_json(entry, privileged));
        }
        if (asked && !seen)
                json_array_append_new(resources, resource_new(asked, 1));
        add_unreadable(resources, unreadable);
        json_object_set_new(report, "now", seconds_to_json(now));
        json_object_set_new(report, "resources", resources);
        return report;
}
