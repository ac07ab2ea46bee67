/* See waiter.h. */
#include "waiter.h"

#include <glib.h>
#include <string.h>

#include "json-line.h"

char *waiter_encode(const char *node, const char *job, int64_t tick) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(node));
        json_object_set_new(object, "job", json_string(job));
        if (tick)
                json_object_set_new(object, "tick", json_integer(tick));
        return json_line_dump(object);
}

Waiter *waiter_decode(const char *payload, bool ours) {
        json_t *object = json_line_parse(payload, strlen(payload));
        const char *job = json_string_value(json_object_get(object, "job"));
        const json_t *tick = json_object_get(object, "tick");
        Waiter *waiter = NULL;

        if (job && json_is_integer(tick)) {
                waiter = g_new0(Waiter, 1);
                *waiter = (Waiter){g_strdup(job), json_integer_value(tick), ours};
        }
        json_decref(object);
        return waiter;
}

Waiter *waiter_free(Waiter *waiter) {
        if (!waiter)
                return NULL;
        g_free(waiter->job);
        g_free(waiter);
        return NULL;
}
