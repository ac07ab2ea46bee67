/* See command-request.h. */
#include "command-request.h"

#include "daemon-keys.h"
#include "json-line.h"
#include "resource.h"

/* A try waits for no lock, but a daemon that has just started takes its time to connect. */
#define TRY_CONNECT_MAX (5 * USEC_PER_SEC)

CommandRequest *command_request_free(CommandRequest *request) {
        if (!request)
                return NULL;
        g_ptr_array_unref(request->strings);
        g_array_unref(request->resources);
        g_strfreev(request->directories);
        g_free(request->label);
        g_free(request->payload);
        g_free(request);
        return NULL;
}

static char *request_own_string(CommandRequest *request, const char *text) {
        char *copy = g_strdup(text);

        g_ptr_array_add(request->strings, copy);
        return copy;
}

/* Return: NULL; or newly allocated, that a member which is there and not null does not fit. What is
 * of another type would be taken for absent, which asks for something else. */
static char *request_member_fault(const json_t *object, const char *name, bool fits,
                                  const char *what) {
        const json_t *member = json_object_get(object, name);

        return fits || !member || json_is_null(member)
                   ? NULL
                   : g_strdup_printf("\"%s\" must be %s", name, what);
}

static char *request_resource_fault(const json_t *object) {
        char *fault = request_member_fault(
            object, "naming", json_is_string(json_object_get(object, "naming")), "a string");

        if (!fault)
                fault = request_member_fault(object, "shared",
                                             json_is_boolean(json_object_get(object, "shared")),
                                             "true or false");
        if (!fault)
                fault = request_member_fault(object, "slots",
                                             json_is_integer(json_object_get(object, "slots")),
                                             "an integer");
        return fault;
}

static char *request_fault(const json_t *object) {
        const json_t *wait = json_object_get(object, "wait");
        char *fault = request_member_fault(object, "wait",
                                           json_is_number(wait) && json_number_value(wait) >= 0,
                                           "a number of seconds");

        if (!fault)
                fault = request_member_fault(object, "go_on",
                                             json_is_boolean(json_object_get(object, "go_on")),
                                             "true or false");
        if (!fault)
                fault = request_member_fault(
                    object, "who", json_is_object(json_object_get(object, "who")), "an object");
        return fault;
}

/* One lock cannot be held twice: its second contender would wait for the first. */
static char *request_repetition(const CommandRequest *request, const char *name) {
        for (guint i = 0; i < request->resources->len; i++)
                if (g_str_equal(g_array_index(request->resources, LockRequest, i).resource, name))
                        return g_strdup_printf("the resource %s is given twice", name);
        return NULL;
}

/* Adds one resource. Return: NULL, or newly allocated, what is wrong. */
static char *request_read_resource(CommandRequest *request, const DaemonConfig *config,
                                   const json_t *object) {
        const char *name = json_string_value(json_object_get(object, "resource"));
        const char *word = json_string_value(json_object_get(object, "naming"));
        LockMode mode =
            json_is_true(json_object_get(object, "shared")) ? LOCK_SHARED : LOCK_EXCLUSIVE;
        json_int_t slots = json_integer_value(json_object_get(object, "slots"));
        DaemonNaming naming = DAEMON_NAMING_CURATOR_RW;
        LockRequest resource = {0};
        char *fault = resource_refusal(name);

        if (!fault)
                fault = request_resource_fault(object);
        if (!fault)
                fault = request_repetition(request, name);
        if (!fault && word && daemon_naming_from_string(word, &naming) < 0)
                fault = g_strdup_printf("\"%s\" is not a naming", word);
        if (!fault && (slots < 0 || slots > RESOURCE_SLOTS_MAX))
                fault = g_strdup_printf("slots must be between 1 and %d", RESOURCE_SLOTS_MAX);
        if (!fault)
                fault = resource_contradiction(config, name, mode, (unsigned)slots,
                                               word ? &naming : NULL);
        if (fault)
                return fault;
        resource_request(config, request_own_string(request, name), mode, (unsigned)slots,
                         word ? &naming : NULL, &resource);
        g_array_append_val(request->resources, resource);
        return NULL;
}

static char *request_read_resources(CommandRequest *request, const DaemonConfig *config,
                                    const json_t *resources) {
        const json_t *object = NULL;
        size_t index = 0;
        char *fault = NULL;

        if (json_array_size(resources) == 0 ||
            json_array_size(resources) > COMMAND_LOCK_RESOURCES_MAX)
                return g_strdup_printf("between 1 and %d resources are required",
                                       COMMAND_LOCK_RESOURCES_MAX);
        json_array_foreach(resources, index, object) {
                fault = request_read_resource(request, config, object);
                if (fault)
                        return fault;
        }
        return NULL;
}

static void request_name_directories(CommandRequest *request, const DaemonConfig *config) {
        g_autoptr(GStrvBuilder) directories = g_strv_builder_new();
        g_autoptr(GString) label = g_string_new(NULL);

        for (guint i = 0; i < request->resources->len; i++) {
                const char *name = g_array_index(request->resources, LockRequest, i).resource;
                g_autofree char *directory = resource_directory(config, name);

                g_strv_builder_add(directories, directory);
                g_string_append_printf(label, "%s%s", i ? " " : "", name);
        }
        request->directories = g_strv_builder_end(directories);
        request->label = g_string_free(g_steal_pointer(&label), FALSE);
}

/* Whom others find in the queue: our node, and what the caller says of itself. */
static char *request_payload(const DaemonConfig *config, const json_t *said) {
        const char *command = json_string_value(json_object_get(said, "command"));
        const char *user = json_string_value(json_object_get(said, "user"));
        json_t *pid = json_object_get(said, "pid"), *payload = json_object();

        json_object_set_new(payload, "node", json_string(config->node_name));
        if (command)
                json_object_set_new(payload, "command", said_to_json(command));
        if (json_is_integer(pid))
                json_object_set(payload, "pid", pid);
        if (user)
                json_object_set_new(payload, "user", said_to_json(user));
        return json_line_dump(payload);
}

static void request_read_wait(CommandRequest *request, const json_t *wait) {
        double seconds = json_is_number(wait) ? json_number_value(wait) : -1;

        request->is_try = seconds == 0;
        request->give_up_at = USEC_INFINITY;
        if (request->is_try)
                request->give_up_at = usec_add(clock_monotonic(), TRY_CONNECT_MAX);
        else if (seconds > 0 && seconds < (double)USEC_INFINITY / (2 * USEC_PER_SEC))
                request->give_up_at =
                    usec_add(clock_monotonic(), (usec_t)(seconds * (double)USEC_PER_SEC));
}

char *command_request_read(const DaemonConfig *config, const json_t *object,
                           CommandRequest **ret_request) {
        _cleanup_(command_request_freep) CommandRequest *request = g_new0(CommandRequest, 1);
        char *fault;

        request->strings = g_ptr_array_new_with_free_func(g_free);
        request->resources = g_array_new(FALSE, TRUE, sizeof(LockRequest));
        fault = request_read_resources(request, config, json_object_get(object, "resources"));
        if (!fault)
                fault = request_fault(object);
        if (fault)
                return fault;
        request_name_directories(request, config);
        request->go_on = json_is_true(json_object_get(object, "go_on"));
        request->payload = request_payload(config, json_object_get(object, "who"));
        request_read_wait(request, json_object_get(object, "wait"));
        *ret_request = g_steal_pointer(&request);
        return NULL;
}
