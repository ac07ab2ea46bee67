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

/* ---- piece by piece ---- */

struct LockReport {
        const GPtrArray *entries, *unreadable;
        char *asked;
        usec_t now;
        bool privileged;
        guint next, next_unreadable;
        const char *open; /* the resource whose entries are being written; NULL: none */
        bool seen;        /* what was asked for is there */
};

LockReport *lock_report_new(const GPtrArray *entries, const GPtrArray *unreadable,
                            const char *asked, usec_t now, bool privileged) {
        LockReport *report = g_new0(LockReport, 1);

        report->entries = entries;
        report->unreadable = unreadable;
        report->asked = g_strdup(asked);
        report->now = now;
        report->privileged = privileged;
        return report;
}

LockReport *lock_report_free(LockReport *report) {
        if (!report)
                return NULL;
        g_free(report->asked);
        g_free(report);
        return NULL;
}

/* Takes the reference. */
static void report_add(GString *text, json_t *object) {
        g_autofree char *line = json_line_dump(object);

        if (text->str[text->len - 1] != '[')
                g_string_append_c(text, ',');
        (void)g_string_append(text, line);
}

static void report_begin(const LockReport *report, GString *text) {
        json_t *head = json_object();
        g_autofree char *line = NULL;

        json_object_set_new(head, "now", seconds_to_json(report->now));
        line = json_line_dump(head);
        line[strlen(line) - 1] = '\0'; /* the closing brace */
        g_string_append_printf(text, "%s,\"resources\":[", line);
}

/* Its entries follow: they are what such an object has last. */
static void report_open(LockReport *report, GString *text, const LockEntry *entry) {
        report_add(text, resource_new(entry->resource, MAX(entry->slots, 1)));
        (void)g_string_truncate(text, text->len - strlen("]}"));
        report->open = entry->resource;
        report->seen = report->seen || g_strcmp0(report->asked, entry->resource) == 0;
}

static void report_close(LockReport *report, GString *text) {
        (void)g_string_append(text, "]}");
        report->open = NULL;
}

static void report_write_entry(LockReport *report, GString *text) {
        const LockEntry *entry = report->entries->pdata[report->next++];

        if (report->open && !g_str_equal(report->open, entry->resource))
                report_close(report, text);
        if (!report->open)
                report_open(report, text, entry);
        report_add(text, lock_entry_to_json(entry, report->privileged));
}

/* Nobody can say who holds them, but they are there. */
static void report_write_unreadable(LockReport *report, GString *text) {
        json_t *resource = resource_new(report->unreadable->pdata[report->next_unreadable++], 1);

        json_object_set_new(resource, "unreadable", json_true());
        report_add(text, resource);
}

bool lock_report_write(LockReport *report, GString *text) {
        if (text->len == 0)
                report_begin(report, text);
        else if (report->next < report->entries->len)
                report_write_entry(report, text);
        else if (report->open)
                report_close(report, text);
        else if (report->asked && !report->seen) {
                report_add(text, resource_new(report->asked, 1));
                report->seen = true;
        } else if (report->unreadable && report->next_unreadable < report->unreadable->len)
                report_write_unreadable(report, text);
        else {
                (void)g_string_append(text, "]}");
                return false;
        }
        return true;
}

json_t *lock_report(const GPtrArray *entries, const GPtrArray *unreadable, const char *asked,
                    usec_t now, bool privileged) {
        _cleanup_(lock_report_freep) LockReport *report =
            lock_report_new(entries, unreadable, asked, now, privileged);
        g_autoptr(GString) text = g_string_new(NULL);

        while (lock_report_write(report, text))
                ;
        return json_loadb(text->str, text->len, 0, NULL);
}
