/* Who asked for a lock of a command: a connection to the bus, the calls of its that are still to be
 * answered, and word when it has left. There may be nobody, after a restart of ours or without a
 * bus. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"

typedef struct CommandCaller CommandCaller;

typedef enum CommandCall {
        COMMAND_CALL_ACQUIRE,
        COMMAND_CALL_ATTACH,
        COMMAND_CALL_ADOPT,
        COMMAND_CALLS,
} CommandCall;

/* It has left the bus, and is forgotten. The caller may be freed in it. */
typedef void (*CommandCallerFunc)(void *userdata);

CommandCaller *command_caller_new(CommandCallerFunc vanished, void *userdata);
/* Refuses what is still to be answered. */
CommandCaller *command_caller_free(CommandCaller *caller);

/* From now on it is the message's sender. */
void command_caller_set(CommandCaller *caller, sd_bus_message *message);
/* Nobody is known any more. What is to be answered stays. */
void command_caller_forget(CommandCaller *caller);
/* Return: whether it is that connection (a unique name), and one of this bus. */
bool command_caller_is(const CommandCaller *caller, const char *sender);
bool command_caller_is_on(const CommandCaller *caller, const sd_bus *bus);
bool command_caller_is_known(const CommandCaller *caller);

/* A call is answered later: keeps it. */
void command_caller_keep(CommandCaller *caller, CommandCall call, sd_bus_message *message);
/* Return: whether such a call is to be answered. */
bool command_caller_waits(const CommandCaller *caller, CommandCall call);
/* Answers a call, if there is one, and forgets it; takes the reference. */
void command_caller_answer(CommandCaller *caller, CommandCall call, json_t *object);
void command_caller_refuse(CommandCaller *caller, CommandCall call, const char *name,
                           const char *why);
/* Forgets it without an answer: nobody is there to hear it. */
void command_caller_drop(CommandCaller *caller, CommandCall call);

/* Sends a signal of bus-interface.h about a lock. */
void command_caller_tell(const CommandCaller *caller, const char *signal, const char *id,
                         const char *why, bool at_once);
