/* The one queue of what happens in a simulated world, and its chance. Whatever happens is a task
 * with a time; between two tasks no time passes, and no task waits. Tasks of the same time are done
 * in an order drawn from the seed, so that a seed decides all. Nothing here knows of nodes or
 * servers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"

typedef struct World World;
typedef struct WorldTask WorldTask;

typedef void (*WorldFunc)(void *userdata);

/* The same seed, the same world. */
World *world_new(uint64_t seed);
/* No task may be left over but what frees itself. */
World *world_free(World *world);
DEFINE_CLEANUP(World, world_free);

/* Return: true time since the world began, in microseconds. */
usec_t world_now(const World *world);

/* Does it once, in `delay` from now; before what stands in the same microsecond or after it, by the
 * seed. Return: the task, its caller's until it was done or is freed. */
WorldTask *world_after(World *world, usec_t delay, WorldFunc func, void *userdata);
/* Takes it back; NULL is ignored. */
WorldTask *world_task_free(WorldTask *task);
DEFINE_CLEANUP(WorldTask, world_task_free);

/* Does the next task. Return: false: there is none before `until`, and it is `until` now. */
bool world_step(World *world, usec_t until);
/* Return: how many tasks were done. */
uint64_t world_steps(const World *world);

/* Each who draws has a stream of their own, named, so that what one draws does not change what the
 * others do: a fault that is left out leaves all else as it was. */
typedef struct WorldChance WorldChance;
WorldChance *world_chance_new(World *world, const char *name);
WorldChance *world_chance_free(WorldChance *chance);
uint64_t world_draw(WorldChance *chance);
/* Return: of min .. max, both included, evenly. */
uint64_t world_draw_between(WorldChance *chance, uint64_t min, uint64_t max);
/* Return: true once in `n` times on average; never for 0. */
bool world_draw_once_in(WorldChance *chance, uint64_t n);
