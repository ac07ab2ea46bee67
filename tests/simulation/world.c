/* See world.h. The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014): one addition and a mix a number, and streams by the hash of a name. */
#include "world.h"

#include <glib.h>
#include <stdlib.h>

#define GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15)

struct WorldChance {
        uint64_t state;
};

struct World {
        uint64_t seed;
        usec_t now;
        uint64_t made; /* tasks */
        uint64_t steps;
        GTree *tasks; /* of WorldTask, by time, then by the seed's order */
        WorldChance ties;
};

struct WorldTask {
        World *world;
        usec_t time;
        uint64_t tie, number;
        WorldFunc func;
        void *userdata;
};

static uint64_t mix(uint64_t value) {
        value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
        return value ^ (value >> 31);
}

uint64_t world_draw(WorldChance *chance) {
        chance->state += GOLDEN_GAMMA;
        return mix(chance->state);
}

uint64_t world_draw_between(WorldChance *chance, uint64_t min, uint64_t max) {
        uint64_t span = max - min + 1;

        return span == 0 ? world_draw(chance) : min + world_draw(chance) % span;
}

bool world_draw_once_in(WorldChance *chance, uint64_t n) {
        return n > 0 && world_draw(chance) % n == 0;
}

/* FNV-1a: g_str_hash() may be another in the next GLib. */
static uint64_t name_hash(const char *name) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);

        for (; *name; name++)
                hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
        return hash;
}

WorldChance *world_chance_new(World *world, const char *name) {
        WorldChance *chance = g_new0(WorldChance, 1);

        chance->state = mix(world->seed ^ name_hash(name));
        return chance;
}

WorldChance *world_chance_free(WorldChance *chance) {
        g_free(chance);
        return NULL;
}

static int order(uint64_t one, uint64_t other) {
        return (one > other) - (one < other);
}

static int world_task_compare(const void *one, const void *other, void *userdata) {
        const WorldTask *a = one, *b = other;
        int by_time = order(a->time, b->time), by_tie = order(a->tie, b->tie);

        (void)userdata;
        return by_time != 0 ? by_time : by_tie != 0 ? by_tie : order(a->number, b->number);
}

World *world_new(uint64_t seed) {
        World *world = g_new0(World, 1);

        world->seed = seed;
        world->ties.state = mix(seed ^ name_hash("ties"));
        world->tasks = g_tree_new_full(world_task_compare, NULL, g_free, NULL);
        return world;
}

World *world_free(World *world) {
        if (!world)
                return NULL;
        g_assert_cmpint(g_tree_nnodes(world->tasks), ==, 0);
        g_tree_unref(world->tasks);
        g_free(world);
        return NULL;
}

usec_t world_now(const World *world) {
        return world->now;
}

uint64_t world_steps(const World *world) {
        return world->steps;
}

WorldTask *world_after(World *world, usec_t delay, WorldFunc func, void *userdata) {
        WorldTask *task = g_new0(WorldTask, 1);

        task->world = world;
        task->time = world->now + delay;
        task->tie = world_draw(&world->ties);
        task->number = world->made++;
        task->func = func;
        task->userdata = userdata;
        g_tree_insert(world->tasks, task, task);
        return task;
}

WorldTask *world_task_free(WorldTask *task) {
        if (task)
                g_tree_remove(task->world->tasks, task);
        return NULL;
}

bool world_step(World *world, usec_t until) {
        GTreeNode *first = g_tree_node_first(world->tasks);
        WorldTask *task = first ? g_tree_node_value(first) : NULL;
        WorldFunc func;
        void *userdata;

        if (!task || task->time > until) {
                world->now = MAX(world->now, until);
                return false;
        }
        world->now = task->time;
        world->steps++;
        func = task->func;
        userdata = task->userdata;
        g_tree_remove(world->tasks, task);
        func(userdata);
        return true;
}
