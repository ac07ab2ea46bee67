/* The methods for command locks: what their callers ask is read and judged here. Who may call at
 * all is the bus policy's business; a lock is its caller's alone. */
#include <errno.h>
#include <string.h>

#include "bus-interface.h"
#include "command-lock-internal.h"
#include "daemon-keys.h"
#include "json-line.h"
#include "members.h"
#include "resource.h"
#include "tree.h"

#define REQUEST_BYTES_MAX 65536
/* A try waits for no lock, but a daemon that has just started takes its time to connect. */
#define TRY_CONNECT_MAX (5 * USEC_PER_SEC)

static int bad_request(sd_bus_error *error, const char *why) {
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, why);
}

/* ---- reading a request ---- */

static char *own_string(CommandLock *lock, const char *text) {
        char *copy = g_strdup(text);

        g_ptr_array_add(lock->strings, copy);
        return copy;
}

/* Adds one resource to the requests. Return: NULL, or newly allocated, what is wrong. */
static char *read_resource(CommandLock *lock, const json_t *object) {
        const DaemonConfig *config = lock->table->coordinator->config;
        const char *name = json_string_value(json_object_get(object, "resource"));
        const char *word = json_string_value(json_object_get(object, "naming"));
        LockMode mode =
            json_is_true(json_object_get(object, "shared")) ? LOCK_SHARED : LOCK_EXCLUSIVE;
        json_int_t slots = json_integer_value(json_object_get(object, "slots"));
        DaemonNaming naming = DAEMON_NAMING_CURATOR_RW;
        LockRequest request = {0};
        char *fault = resource_refusal(name);

        if (!fault && word && daemon_naming_from_string(word, &naming) < 0)
                fault = g_strdup_printf("\"%s\" is no naming", word);
        if (!fault && (slots < 0 || slots > RESOURCE_SLOTS_MAX))
                fault = g_strdup_printf("slots must be 1 to %d", RESOURCE_SLOTS_MAX);
        if (!fault)
                fault = resource_contradiction(config, name, mode, (unsigned)slots,
                                               word ? &naming : NULL);
        if (fault)
                return fault;
        resource_request(config, own_string(lock, name), mode, (unsigned)slots,
                         word ? &naming : NULL, &request);
        g_array_append_val(lock->requests, request);
        return NULL;
}

static void name_directories(CommandLock *lock) {
        const DaemonConfig *config = lock->table->coordinator->config;
        g_autoptr(GStrvBuilder) directories = g_strv_builder_new();
        g_autoptr(GString) label = g_string_new(NULL);

        for (guint i = 0; i < lock->requests->len; i++) {
                const char *name = g_array_index(lock->requests, LockRequest, i).resource;
                g_autofree char *directory = resource_directory(config, name);

                g_strv_builder_add(directories, directory);
                g_string_append_printf(label, "%s%s", i ? " " : "", name);
        }
        lock->directories = g_strv_builder_end(directories);
        lock->label = g_string_free(g_steal_pointer(&label), FALSE);
}

/* Whom others find in the queue: our node, and what the caller says of itself. */
static char *payload_of(const CommandLock *lock, const json_t *said) {
        const char *command = json_string_value(json_object_get(said, "command"));
        const char *user = json_string_value(json_object_get(said, "user"));
        json_t *pid = json_object_get(said, "pid"), *payload = json_object();

        json_object_set_new(payload, "node",
                            json_string(lock->table->coordinator->config->node_name));
        if (command)
                json_object_set_new(payload, "command", said_to_json(command));
        if (json_is_integer(pid))
                json_object_set(payload, "pid", pid);
        if (user)
                json_object_set_new(payload, "user", said_to_json(user));
        return json_line_dump(payload);
}

static char *read_request(CommandLock *lock, const json_t *request) {
        const json_t *resources = json_object_get(request, "resources"), *object = NULL;
        const json_t *wait = json_object_get(request, "wait");
        double seconds = json_is_number(wait) ? json_number_value(wait) : -1;
        size_t index = 0;
        char *fault = NULL;

        if (json_array_size(resources) == 0 ||
            json_array_size(resources) > COMMAND_LOCK_RESOURCES_MAX)
                return g_strdup_printf("give 1 to %d resources", COMMAND_LOCK_RESOURCES_MAX);
        json_array_foreach(resources, index, object) {
                fault = read_resource(lock, object);
                if (fault)
                        return fault;
        }
        name_directories(lock);
        lock->go_on = json_is_true(json_object_get(request, "go_on"));
        lock->payload = payload_of(lock, json_object_get(request, "who"));
        lock->is_try = seconds == 0;
        lock->give_up_at = USEC_INFINITY;
        if (lock->is_try)
                lock->give_up_at = usec_add(clock_monotonic(), TRY_CONNECT_MAX);
        else if (seconds > 0 && seconds < (double)USEC_INFINITY / (2 * USEC_PER_SEC))
                lock->give_up_at =
                    usec_add(clock_monotonic(), (usec_t)(seconds * (double)USEC_PER_SEC));
        return NULL;
}

/* ---- acquiring ---- */

/* The queue has a time limit of its own, but not the time without a session. */
static int on_give_up(sd_event_source *source, uint64_t usec, void *userdata) {
        CommandLock *lock = userdata;
        const Coordinator *coordinator = lock->table->coordinator;
        bool reached = node_is_ready(coordinator->node) &&
                       session_state(coordinator->session) == SESSION_CONNECTED;
        const char *fault = session_fault(coordinator->session);
        json_t *object = json_object();

        if (!*fault)
                fault = tree_fault(coordinator->tree);
        if (!*fault)
                fault = registration_fault(coordinator->registration);
        json_object_set_new(object, "state", json_string(reached ? "timeout" : "unreachable"));
        json_object_set_new(object, "why", json_string(fault));
        command_lock_answer(&lock->acquiring, object);
        command_lock_release(lock);
        return 0;
}

static char *new_id(void) {
        return g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
}

static int acquire(CommandLocks *locks, const json_t *request, sd_bus_message *message,
                   sd_bus_error *error) {
        g_autofree char *id = new_id(), *fault = NULL;
        CommandLock *lock = command_lock_new(locks, id);

        fault = read_request(lock, request);
        if (fault) {
                g_hash_table_remove(locks->locks, id);
                return bad_request(error, fault);
        }
        lock->acquiring = sd_bus_message_ref(message);
        command_lock_set_caller(lock, message);
        if (lock->give_up_at != USEC_INFINITY)
                (void)sd_event_add_time(locks->coordinator->event, &lock->timer, CLOCK_MONOTONIC,
                                        lock->give_up_at, USEC_PER_MSEC, on_give_up, lock);
        command_lock_queue(lock);
        return 1;
}

int command_locks_acquire(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        const char *text = NULL;
        json_t *request = NULL;
        int r = sd_bus_message_read(message, "s", &text);

        if (r < 0)
                return r;
        if (node_is_ending(locks->coordinator->node))
                return sd_bus_error_set(error, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        if (g_hash_table_size(locks->locks) >= COMMAND_LOCKS_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%d commands hold locks or wait for some already",
                                         COMMAND_LOCKS_MAX);
        if (strlen(text) > REQUEST_BYTES_MAX)
                return bad_request(error, "the request is too long");
        request = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        r = json_is_object(request) ? acquire(locks, request, message, error)
                                    : bad_request(error, "the request is no JSON object");
        json_decref(request);
        return r;
}

/* ---- what follows ---- */

/* Finds the caller's lock of that id. Return: 0, or negative errno with the error set. */
static int find(CommandLocks *locks, const char *id, sd_bus_message *message, sd_bus_error *error,
                CommandLock **ret_lock) {
        CommandLock *lock = g_hash_table_lookup(locks->locks, id);

        if (!lock || g_strcmp0(lock->caller, sd_bus_message_get_sender(message)) != 0) {
                sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "there is no such lock of yours");
                return -ENOENT;
        }
        *ret_lock = lock;
        return 0;
}

/* The same, where the id is all that the message says. */
static int read_and_find(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error,
                         CommandLock **ret_lock) {
        const char *id = NULL;
        int r = sd_bus_message_read(message, "s", &id);

        return r < 0 ? r : find(locks, id, message, error, ret_lock);
}

int command_locks_attach(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        const char *id = NULL;
        uint32_t pid = 0;
        int r = sd_bus_message_read(message, "su", &id, &pid);

        if (r >= 0)
                r = find(locks, id, message, error, &lock);
        if (r < 0)
                return r;
        if (lock->state != COMMAND_LOCK_HELD)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "the lock is not held");
        if (lock->scope || pid <= 1 || pid > INT32_MAX)
                return bad_request(error, "this is no process that can be moved");
        lock->attaching = sd_bus_message_ref(message);
        r = command_lock_attach(lock, (pid_t)pid);
        return r < 0 ? r : 1;
}

static int answer(sd_bus_message *message, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        return sd_bus_reply_method_return(message, "s", text);
}

int command_locks_lease(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        int r = read_and_find(locks, message, error, &lock);

        return r < 0 ? r : answer(message, command_lock_lease(lock));
}

int command_locks_release(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        int r = read_and_find(locks, message, error, &lock);

        if (r < 0)
                return r;
        /* One that is ending is released when its cgroup is empty. */
        if (lock->state != COMMAND_LOCK_ENDING)
                command_lock_release(lock);
        return answer(message, json_object());
}

int command_locks_adopt(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        const char *id = NULL;
        int r = sd_bus_message_read(message, "s", &id);

        if (r < 0)
                return r;
        lock = g_hash_table_lookup(locks->locks, id);
        if (!lock || lock->caller || lock->state == COMMAND_LOCK_QUEUED)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "there is no such lock");
        command_lock_set_caller(lock, message);
        if (lock->state == COMMAND_LOCK_HELD && lock->recalled) {
                lock->adopting = sd_bus_message_ref(message); /* once it is found again */
                return 1;
        }
        return answer(message, command_lock_lease(lock));
}
