/* A simulated machine: its clocks, its identity, and a directory for what its daemon keeps.
 *
 * The machine's clocks are made of true time (world.h): they begin anew at a boot, gain or lose
 * some parts per million, and the wall clock is off by as much as somebody sets it. Nothing here
 * reads a clock of the machine on which the simulation runs.
 *
 * What runs on it is a Process (process.h). A frozen machine runs nothing, while its clocks go on.
 */
#pragma once

#include <time.h>

#include "world.h"

typedef struct Machine Machine;

/* What the wall clock of a machine with a perfect one says when the world begins, seconds. */
#define MACHINE_EPOCH INT64_C(1750000000)

/* `directory`: made here, where it is not there yet. The machine runs. */
Machine *machine_new(World *world, const char *name, const char *directory);
Machine *machine_free(Machine *machine);
DEFINE_CLEANUP(Machine, machine_free);

World *machine_world(const Machine *machine);
const char *machine_name(const Machine *machine);
/* What is below run/ of it is lost at a boot, what is below state/ stays. */
const char *machine_directory(const Machine *machine);
/* What whoever runs there draws from. */
WorldChance *machine_chance(Machine *machine);
/* 32 hex digits each; the second is another one after each boot. */
const char *machine_id(const Machine *machine);
const char *machine_boot_id(const Machine *machine);

/* ---- clocks ---- */

/* Return: what CLOCK_BOOTTIME, CLOCK_MONOTONIC or CLOCK_REALTIME shows there now. */
usec_t machine_clock(const Machine *machine, clockid_t clock);
/* Return: how much true time passes until that clock shows `at`; 0: it does already. */
usec_t machine_until(const Machine *machine, clockid_t clock, usec_t at);
/* Drift, in parts per million. Before anything reads a clock there. */
void machine_set_drift(Machine *machine, int32_t ppm);
/* Somebody sets the wall clock, by so much. */
void machine_step_clock(Machine *machine, int64_t by);
/* Return: whether a time service has looked after the wall clock since the boot; it takes a while.
 */
bool machine_is_synchronised(const Machine *machine);
/* A time service sets it: it shows true time. */
void machine_set_clock_right(Machine *machine);

/* ---- its state ---- */

/* It runs nothing from now on, or goes on. */
void machine_freeze(Machine *machine);
void machine_thaw(Machine *machine);
bool machine_is_frozen(const Machine *machine);
/* Its clocks begin anew, with another boot id and without anything in run/. Nobody may run there.
 */
void machine_boot(Machine *machine);
/* A directory with all that is in it. */
void machine_remove_tree(const char *path);

/* Nothing can be written to its disk any more, or it can again. */
void machine_set_full(Machine *machine, bool full);
bool machine_is_full(const Machine *machine);

/* Who wants to hear of steps of the wall clock and of thaws. */
typedef struct MachineListener {
        void (*changed)(void *userdata);
        void *userdata;
} MachineListener;
void machine_listen(Machine *machine, MachineListener *listener);
void machine_unlisten(Machine *machine, MachineListener *listener);
