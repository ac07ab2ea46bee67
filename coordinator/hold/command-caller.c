/* See command-caller.h. */
#include "command-caller.h"

#include <glib.h>

#include "bus-interface.h"
#include "bus-owner.h"
#include "json-line.h"

struct CommandCaller {
        char *name;         /* on the bus; NULL while there is none */
        sd_bus *bus;        /* weak: the connection on which it asked */
        BusOwner *presence; /* tells when it leaves that */
        sd_bus_message *calls[COMMAND_CALLS];
        CommandCallerFunc vanished;
        void *userdata;
};

CommandCaller *command_caller_new(CommandCallerFunc vanished, void *userdata) {
        CommandCaller *caller = g_new0(CommandCaller, 1);

        caller->vanished = vanished;
        caller->userdata = userdata;
        return caller;
}

CommandCaller *command_caller_free(CommandCaller *caller) {
        if (!caller)
                return NULL;
        command_caller_refuse(caller, COMMAND_CALL_ACQUIRE, BUS_ERROR_STOPPING,
                              "jobkeeperd is stopping");
        command_caller_refuse(caller, COMMAND_CALL_ATTACH, BUS_ERROR_NO_SUCH_LOCK,
                              "the lock has ended");
        command_caller_refuse(caller, COMMAND_CALL_ADOPT, BUS_ERROR_NO_SUCH_LOCK,
                              "the lock has ended");
        command_caller_forget(caller);
        g_free(caller);
        return NULL;
}

/* ---- who it is ---- */

static void caller_on_presence(BusOwner *presence, const char *before, const char *now,
                               void *userdata) {
        CommandCaller *caller = userdata;

        if (*now)
                return;
        command_caller_forget(caller);
        caller->vanished(caller->userdata);
}

void command_caller_set(CommandCaller *caller, sd_bus_message *message) {
        command_caller_forget(caller);
        caller->bus = sd_bus_message_get_bus(message);
        caller->name = g_strdup(sd_bus_message_get_sender(message));
        (void)bus_owner_new(caller->bus, caller->name, caller_on_presence, caller,
                            &caller->presence);
}

void command_caller_forget(CommandCaller *caller) {
        caller->presence = bus_owner_free(caller->presence);
        g_clear_pointer(&caller->name, g_free);
        caller->bus = NULL;
}

bool command_caller_is(const CommandCaller *caller, const char *sender) {
        return caller->name && g_strcmp0(caller->name, sender) == 0;
}

bool command_caller_is_on(const CommandCaller *caller, const sd_bus *bus) {
        return caller->bus == bus;
}

bool command_caller_is_known(const CommandCaller *caller) {
        return caller->name;
}

/* ---- what it is told ---- */

void command_caller_keep(CommandCaller *caller, CommandCall call, sd_bus_message *message) {
        command_caller_drop(caller, call);
        caller->calls[call] = sd_bus_message_ref(message);
}

bool command_caller_waits(const CommandCaller *caller, CommandCall call) {
        return caller->calls[call];
}

void command_caller_answer(CommandCaller *caller, CommandCall call, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        if (caller->calls[call])
                (void)sd_bus_reply_method_return(caller->calls[call], "s", text);
        command_caller_drop(caller, call);
}

void command_caller_refuse(CommandCaller *caller, CommandCall call, const char *name,
                           const char *why) {
        if (caller->calls[call])
                (void)sd_bus_reply_method_errorf(caller->calls[call], name, "%s", why);
        command_caller_drop(caller, call);
}

void command_caller_drop(CommandCaller *caller, CommandCall call) {
        caller->calls[call] = sd_bus_message_unref(caller->calls[call]);
}

void command_caller_tell(const CommandCaller *caller, const char *signal, const char *id,
                         const char *why, bool at_once) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        sd_bus *bus = caller->bus;

        if (bus && caller->name &&
            sd_bus_message_new_signal(bus, &message, BUS_PATH, BUS_INTERFACE, signal) >= 0 &&
            sd_bus_message_append(message, "ssb", id, why, (int)at_once) >= 0 &&
            sd_bus_message_set_destination(message, caller->name) >= 0)
                (void)sd_bus_send(bus, message, NULL);
}
