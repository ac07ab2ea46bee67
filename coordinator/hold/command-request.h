/* What a command asks for when it asks for a lock: the request of AcquireLock() (bus-interface.h),
 * read and judged against this machine's configuration. Pure but for the clock. */
#pragma once

#include <jansson.h>

#include "clock.h"
#include "daemon-config.h"

#define COMMAND_LOCK_RESOURCES_MAX 64

typedef struct CommandRequest {
        GPtrArray *strings; /* what `resources` points to */
        GArray *resources;  /* LockRequest */
        char *label;        /* the resources' names, for messages */
        char **directories; /* of the resources */
        char *payload;      /* what others find in the queue */
        bool go_on;         /* its loss does not stop the command */
        bool is_try;        /* does not wait for the lock */
        usec_t give_up_at;  /* CLOCK_MONOTONIC */
} CommandRequest;

/* Return: NULL; or newly allocated (g_free), what is wrong. */
char *command_request_read(const DaemonConfig *config, const json_t *object,
                           CommandRequest **ret_request);
CommandRequest *command_request_free(CommandRequest *request);
DEFINE_CLEANUP(CommandRequest, command_request_free);
