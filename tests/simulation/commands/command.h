/* One command under a lock (commands.h): `jobkeeper lock`, what it executes, and what that leaves.
 *
 *   ASKS ── held ──▶ WAITS ── moved into its scope ──▶ RUNS ── by itself ──▶ ENDED ── given back ─▶
 *                      └─────────── lost ───────────────┴──▶ STOPS, KILLED ─────────────────────▶
 */
#pragma once

#include "commands.h"

typedef struct Command Command;

typedef struct CommandSetting {
        History *history;
        Checker *checker;
        void (*over)(Command *command, void *userdata); /* to be freed, in here; on nobody's turn */
        void *userdata;
} CommandSetting;

/* `setting` lives longer. */
Command *command_new(const CommandSetting *setting, FleetNode *node, unsigned number,
                     const CommandPlan *plan);
Command *command_free(Command *command);

const FleetNode *command_node(const Command *command);
/* Return: whether something runs under its lock. */
bool command_holds(const Command *command);
/* kill -9 of `jobkeeper lock`. */
void command_kill(Command *command);
/* The daemon is not there any more, or about not to be; it is looked for from now on. */
void command_lose_daemon(Command *command);
