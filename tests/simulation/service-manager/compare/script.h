/* The same random script of units and of scopes for a real service manager and for the simulated
 * one. See script.c and scopes-script.c.
 *
 * A stage is where a script is played: it has the service manager, what commands do there, what
 * others than the daemon ask of it, and time.
 */
#pragma once

#include "unit.h"

#define SCRIPT_SLICE "system-jobkeeper.slice"
#define SCRIPT_PREFIX "jobkeeper-compared-"

/* What keeps a command from being started. */
typedef enum ScriptFault {
        SCRIPT_SOUND,
        SCRIPT_NO_COMMAND,
        SCRIPT_NO_USER,
        SCRIPT_NO_DIRECTORY,
        SCRIPT_FAULTS,
} ScriptFault;

/* What its processes make of SIGTERM. */
typedef enum ScriptManners {
        SCRIPT_DIES,
        SCRIPT_EXITS, /* with status 0 */
        SCRIPT_IGNORES,
        SCRIPT_MANNERS,
} ScriptManners;

typedef struct ScriptConduct {
        ScriptFault fault;
        ScriptManners manners;
        bool lives;   /* the main process, until somebody ends it; else it ends at once */
        int status;   /* with this one, by itself */
        bool remains; /* it leaves a process that lives until somebody ends it */
} ScriptConduct;

/* What others ask for. */
typedef enum StageOrder {
        STAGE_STOP,
        STAGE_KILL,
        STAGE_RESET,
        STAGE_ORDERS,
} StageOrder;

/* Calls it where the daemon lives. */
void stage_do(void (*func)(void *userdata), void *userdata);
sd_event *stage_event(void);
int stage_manager_new(UnitManager **ret_manager);
/* Return: whether all of a connection is there. */
bool stage_is_connected(UnitManager *manager);
/* Lets time pass until it is so; does not return otherwise. */
void stage_await(bool (*condition)(void *userdata), void *userdata);

/* Unit `name` is going to conduct itself so. Return: its command, the stage's. */
const char *const *stage_command(const char *name, const ScriptConduct *conduct);
/* Return: whether all its processes are there, and do as they are to do. */
bool stage_is_ready(const char *name);
/* Its main process ends by itself. */
void stage_release(const char *name);
/* Somebody else begins a command, which does as it is to do once it is in the scope of that name,
 * which the service manager does not know of yet. Return: its main process. */
pid_t stage_begin(const char *name, const ScriptConduct *conduct);
/* It is killed, outside of any scope; nothing of it is left when this returns. */
void stage_end(const char *name);
/* Return: its exit status, or 128 and the signal that ended it; -1: it lives. */
int stage_status(const char *name);
bool stage_has_scope(const char *name);
/* Somebody else asks for it; it is done when this returns, or soon. */
void stage_order(const char *name, StageOrder order);
/* Return: what the service manager says of it: absent, runs, ends, ended, failed, or inactive. */
const char *stage_state(const char *name);

/* The fence, to which some of them are bound, leaves off: it dies, or says that it stops and lives
 * on. It does not come back; then it does, and is there when this returns. */
void stage_fence_leaves(bool says);
void stage_fence_returns(void);

/* The daemon's connection is lost, and does not come back; then it does. */
void stage_break(void);
void stage_mend(void);

/* Prints what came of it, and nothing that depends on time. */
void script_play(uint32_t seed, unsigned steps);
void scopes_play(uint32_t seed, unsigned steps);
