/* See commands.h. */
#include "commands.h"

#include "bus.h"
#include "command-locks.h"
#include "command.h"

struct Commands {
        Fleet *fleet;
        CommandSetting setting;
        GPtrArray *all; /* of Command */
        unsigned begun;
};

static void commands_on_over(Command *command, void *userdata) {
        (void)g_ptr_array_remove(((Commands *)userdata)->all, command);
}

static void commands_free_one(void *command) {
        command_free(command);
}

static void commands_lose_daemon(Commands *commands, const FleetNode *node) {
        for (guint i = 0; i < commands->all->len; i++)
                if (command_node(commands->all->pdata[i]) == node)
                        command_lose_daemon(commands->all->pdata[i]);
}

static void commands_on_daemon_gone(FleetNode *node, void *userdata) {
        commands_lose_daemon(userdata, node);
}

Commands *commands_new(Fleet *fleet, History *history, Checker *checker) {
        Commands *commands = g_new0(Commands, 1);

        commands->fleet = fleet;
        commands->setting = (CommandSetting){history, checker, commands_on_over, commands};
        commands->all = g_ptr_array_new_with_free_func(commands_free_one);
        fleet_listen(fleet, commands_on_daemon_gone, commands);
        return commands;
}

Commands *commands_free(Commands *commands) {
        if (!commands)
                return NULL;
        fleet_listen(commands->fleet, NULL, NULL);
        g_ptr_array_unref(commands->all);
        g_free(commands);
        return NULL;
}

void commands_begin(Commands *commands, FleetNode *node, const CommandPlan *plan) {
        if (fleet_node_is_on(node) && !machine_is_frozen(fleet_node_machine(node)))
                g_ptr_array_add(commands->all,
                                command_new(&commands->setting, node, ++commands->begun, plan));
}

static bool commands_may_kill(const Command *command, const FleetNode *node) {
        return command_node(command) == node && command_holds(command);
}

bool commands_kill_one(Commands *commands, const FleetNode *node, unsigned n) {
        unsigned there = 0;

        for (guint i = 0; i < commands->all->len; i++)
                there += commands_may_kill(commands->all->pdata[i], node);
        for (guint i = 0, at = 0; there > 0 && i < commands->all->len; i++)
                if (commands_may_kill(commands->all->pdata[i], node) && at++ == n % there) {
                        command_kill(commands->all->pdata[i]);
                        return true;
                }
        return false;
}

static void commands_lose_bus_on_turn(void *userdata) {
        Daemon *daemon = userdata;

        command_locks_bus_lost(daemon_coordinator(daemon)->command_locks,
                               bus_of(daemon_process(daemon)));
}

bool commands_lose_bus(Commands *commands, const FleetNode *node) {
        Daemon *daemon = fleet_node_daemon(node);

        if (!daemon || !daemon_coordinator(daemon))
                return false;
        process_do(daemon_process(daemon), commands_lose_bus_on_turn, daemon);
        commands_lose_daemon(commands, node);
        return true;
}
