/* See command-lock-call.h. */
#include "command-lock-call.h"

#include <errno.h>
#include <string.h>

#include "bus-interface.h"
#include "json-line.h"

#define REQUEST_BYTES_MAX 65536

static int call_bad_request(sd_bus_error *error, const char *why) {
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, why);
}

static int call_acquire(CommandLocks *locks, const json_t *object, sd_bus_message *message,
                        sd_bus_error *error) {
        CommandRequest *request = NULL;
        g_autofree char *fault =
            command_request_read(command_locks_node(locks)->config, object, &request);
        CommandLock *lock;

        if (fault)
                return call_bad_request(error, fault);
        lock = command_locks_add(locks, request);
        command_caller_keep(command_lock_caller(lock), COMMAND_CALL_ACQUIRE, message);
        command_caller_set(command_lock_caller(lock), message);
        command_lock_acquire(lock);
        return 1;
}

int command_locks_acquire(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        const char *text = NULL;
        json_t *request = NULL;
        int r = sd_bus_message_read(message, "s", &text);

        if (r < 0)
                return r;
        if (node_is_ending(command_locks_node(locks)))
                return sd_bus_error_set(error, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        if (command_locks_count(locks) >= COMMAND_LOCKS_MAX)
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                         "%d commands already hold or wait for locks",
                                         COMMAND_LOCKS_MAX);
        if (strlen(text) > REQUEST_BYTES_MAX)
                return call_bad_request(error, "the request is too long");
        request = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        r = json_is_object(request) ? call_acquire(locks, request, message, error)
                                    : call_bad_request(error, "the request is not a JSON object");
        json_decref(request);
        return r;
}

/* ---- what follows ---- */

/* Finds the caller's lock of that id. Return: 0, or negative errno with the error set. */
static int call_find(CommandLocks *locks, const char *id, sd_bus_message *message,
                     sd_bus_error *error, CommandLock **ret_lock) {
        CommandLock *lock = command_locks_find(locks, id);

        if (!lock ||
            !command_caller_is(command_lock_caller(lock), sd_bus_message_get_sender(message))) {
                sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "the caller holds no such lock");
                return -ENOENT;
        }
        *ret_lock = lock;
        return 0;
}

/* The same, where the id is all that the message says. */
static int call_read_and_find(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error,
                              CommandLock **ret_lock) {
        const char *id = NULL;
        int r = sd_bus_message_read(message, "s", &id);

        return r < 0 ? r : call_find(locks, id, message, error, ret_lock);
}

int command_locks_attach(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        const char *id = NULL;
        uint32_t pid = 0;
        int r = sd_bus_message_read(message, "su", &id, &pid);

        if (r >= 0)
                r = call_find(locks, id, message, error, &lock);
        if (r < 0)
                return r;
        if (!command_lock_is_held(lock))
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "the lock is not held");
        if (pid <= 1 || pid > INT32_MAX || !command_lock_may_attach(lock, (pid_t)pid))
                return call_bad_request(error, "the process cannot be moved");
        command_caller_keep(command_lock_caller(lock), COMMAND_CALL_ATTACH, message);
        r = command_lock_attach(lock, (pid_t)pid);
        return r < 0 ? r : 1;
}

static int call_answer(sd_bus_message *message, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        return sd_bus_reply_method_return(message, "s", text);
}

int command_locks_lease(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        int r = call_read_and_find(locks, message, error, &lock);

        return r < 0 ? r : call_answer(message, command_lock_lease(lock));
}

int command_locks_lease_by_id(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        const CommandLock *lock = NULL;
        const char *id = NULL;
        int r = sd_bus_message_read(message, "s", &id);

        if (r < 0)
                return r;
        lock = command_locks_find(locks, id);
        if (!lock)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "there is no such lock");
        return call_answer(message, command_lock_lease(lock));
}

int command_locks_release(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        int r = call_read_and_find(locks, message, error, &lock);

        if (r < 0)
                return r;
        command_lock_give_back(lock);
        return call_answer(message, json_object());
}

int command_locks_adopt(CommandLocks *locks, sd_bus_message *message, sd_bus_error *error) {
        CommandLock *lock = NULL;
        const char *id = NULL;
        int r = sd_bus_message_read(message, "s", &id);

        if (r < 0)
                return r;
        lock = command_locks_find(locks, id);
        if (!lock || command_caller_is_known(command_lock_caller(lock)) ||
            command_lock_is_queued(lock))
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_LOCK, "there is no such lock");
        if (!command_lock_adopt(lock, message)) {
                command_caller_keep(command_lock_caller(lock), COMMAND_CALL_ADOPT, message);
                return 1;
        }
        return call_answer(message, command_lock_lease(lock));
}
