/* See lock-task.h. */
#include "lock-task.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "json-line.h"
#include "resource.h"

const int lock_task_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0};

static void wish_free(void *data) {
        LockWish *wish = data;

        g_free(wish->name);
        g_free(wish->naming);
        g_free(wish);
}

void lock_task_done(LockTask *task) {
        g_clear_pointer(&task->wishes, g_ptr_array_unref);
        g_clear_pointer(&task->label, g_free);
}

char *lock_task_add(LockTask *task, const char *name, LockMode mode, unsigned slots, char *naming) {
        char *fault = resource_refusal(name);
        LockWish *wish = g_new0(LockWish, 1);

        *wish = (LockWish){.name = g_strdup(name), .mode = mode, .slots = slots, .naming = naming};
        if (!task->wishes)
                task->wishes = g_ptr_array_new_with_free_func(wish_free);
        for (guint i = 0; i < task->wishes->len && !fault; i++)
                if (g_str_equal(((LockWish *)task->wishes->pdata[i])->name, name))
                        fault = g_strdup_printf("the resource %s is given twice", name);
        g_ptr_array_add(task->wishes, wish);
        return fault;
}

static gint compare_wishes(gconstpointer a, gconstpointer b) {
        return strcmp((*(const LockWish *const *)a)->name, (*(const LockWish *const *)b)->name);
}

void lock_task_finish(LockTask *task) {
        g_autoptr(GString) label = g_string_new(NULL);

        g_ptr_array_sort(task->wishes, compare_wishes);
        for (guint i = 0; i < task->wishes->len; i++)
                g_string_append_printf(label, "%s%s", i ? " " : "",
                                       ((LockWish *)task->wishes->pdata[i])->name);
        g_free(task->label);
        task->label = g_string_free(g_steal_pointer(&label), FALSE);
}

char **lock_task_environment(const LockTask *task, int64_t token) {
        g_autofree char *text = g_strdup_printf("%" PRId64, token);
        char **environment = g_get_environ();

        environment = g_environ_setenv(environment, "JOBKEEPER_FENCING_TOKEN", text, TRUE);
        return g_environ_setenv(environment, "JOBKEEPER_RESOURCE", task->label, TRUE);
}

/* Return: newly allocated (g_free), who types: the user's name, or the one that sudo remembers. */
static char *lock_task_user(void) {
        const char *user = g_getenv("SUDO_USER");

        return g_utf8_make_valid(user && *user ? user : g_get_user_name(), -1);
}

char *lock_task_payload(const LockTask *task, const char *node) {
        g_autofree char *user = lock_task_user();
        json_t *payload = json_object();

        if (node)
                json_object_set_new(payload, "node", json_string(node));
        json_object_set_new(payload, "command", said_to_json(task->argv[0]));
        json_object_set_new(payload, "pid", json_integer(getpid()));
        json_object_set_new(payload, "user", said_to_json(user));
        return json_line_dump(payload);
}
