/* See machine.h. */
#include "machine.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#define MILLION INT64_C(1000000)
/* A machine takes as long to get to its daemon. No clock of it shows 0. */
#define BOOT_TIME (5 * USEC_PER_SEC)
/* What a time service needs after a boot, at most. */
#define SYNCHRONISED_AFTER_MAX (60 * USEC_PER_SEC)

struct Machine {
        World *world;
        char *name, *directory;
        char id[33], boot_id[33];
        WorldChance *ids, *chance;
        usec_t booted;       /* true time */
        usec_t synchronised; /* true time */
        int32_t drift;       /* parts per million */
        int64_t offset;
        bool full, frozen;
        GPtrArray *listeners; /* of MachineListener */
};

static void machine_draw_id(Machine *machine, char ret_id[33]) {
        uint64_t high = world_draw(machine->ids), low = world_draw(machine->ids);

        (void)g_snprintf(ret_id, 33, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", high,
                         low);
}

static void machine_make_directory(const Machine *machine, const char *name) {
        g_autofree char *path = g_build_filename(machine->directory, name, NULL);

        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
}

Machine *machine_new(World *world, const char *name, const char *directory) {
        Machine *machine = g_new0(Machine, 1);
        g_autofree char *stream = g_strconcat("machine ", name, NULL);

        machine->world = world;
        machine->name = g_strdup(name);
        machine->directory = g_strdup(directory);
        machine->ids = world_chance_new(world, stream);
        machine->chance = world_chance_new(world, name);
        machine->booted = world_now(world);
        machine->listeners = g_ptr_array_new();
        machine_draw_id(machine, machine->id);
        machine_draw_id(machine, machine->boot_id);
        machine_make_directory(machine, "run");
        machine_make_directory(machine, "state");
        return machine;
}

Machine *machine_free(Machine *machine) {
        if (!machine)
                return NULL;
        world_chance_free(machine->ids);
        world_chance_free(machine->chance);
        g_ptr_array_unref(machine->listeners);
        g_free(machine->name);
        g_free(machine->directory);
        g_free(machine);
        return NULL;
}

World *machine_world(const Machine *machine) {
        return machine->world;
}

const char *machine_name(const Machine *machine) {
        return machine->name;
}

const char *machine_directory(const Machine *machine) {
        return machine->directory;
}

WorldChance *machine_chance(Machine *machine) {
        return machine->chance;
}

const char *machine_id(const Machine *machine) {
        return machine->id;
}

const char *machine_boot_id(const Machine *machine) {
        return machine->boot_id;
}

/* ---- clocks ---- */

/* Return: what its oscillator counted by then, since the world began. */
static usec_t machine_count(const Machine *machine, usec_t time) {
        return time + (usec_t)((int64_t)time / MILLION * machine->drift) +
               (usec_t)((int64_t)time % MILLION * machine->drift / MILLION);
}

static usec_t machine_clock_at(const Machine *machine, clockid_t clock, usec_t time) {
        usec_t count = machine_count(machine, time);

        if (clock == CLOCK_REALTIME)
                return (usec_t)(MACHINE_EPOCH * MILLION + (int64_t)count + machine->offset);
        return count - machine_count(machine, machine->booted) + BOOT_TIME;
}

usec_t machine_clock(const Machine *machine, clockid_t clock) {
        return machine_clock_at(machine, clock, world_now(machine->world));
}

usec_t machine_until(const Machine *machine, clockid_t clock, usec_t at) {
        usec_t now = world_now(machine->world), shown = machine_clock(machine, clock), delay;

        if (at <= shown)
                return 0;
        if (at - shown > 1000 * USEC_PER_DAY) /* it does not matter when */
                return at - shown;
        delay = (at - shown) - (usec_t)((int64_t)(at - shown) / MILLION * machine->drift);
        /* A drift of a drift, and what was cut off. */
        while (delay > 0 && machine_clock_at(machine, clock, now + delay - 1) >= at)
                delay--;
        while (machine_clock_at(machine, clock, now + delay) < at)
                delay++;
        return delay;
}

void machine_set_drift(Machine *machine, int32_t ppm) {
        machine->drift = ppm;
}

static void machine_tell(const Machine *machine) {
        for (guint i = 0; i < machine->listeners->len; i++) {
                const MachineListener *listener = machine->listeners->pdata[i];

                listener->changed(listener->userdata);
        }
}

void machine_step_clock(Machine *machine, int64_t by) {
        machine->offset += by;
        machine_tell(machine);
}

void machine_set_clock_right(Machine *machine) {
        usec_t now = world_now(machine->world);

        machine->offset = (int64_t)now - (int64_t)machine_count(machine, now);
        machine_tell(machine);
}

/* ---- its state ---- */

void machine_freeze(Machine *machine) {
        machine->frozen = true;
}

void machine_thaw(Machine *machine) {
        if (!machine->frozen)
                return;
        machine->frozen = false;
        machine_tell(machine);
}

void machine_set_full(Machine *machine, bool full) {
        machine->full = full;
}

bool machine_is_full(const Machine *machine) {
        return machine->full;
}

bool machine_is_frozen(const Machine *machine) {
        return machine->frozen;
}

void machine_remove_tree(const char *path) {
        GDir *directory = g_dir_open(path, 0, NULL);
        const char *name;

        while (directory && (name = g_dir_read_name(directory))) {
                g_autofree char *file = g_build_filename(path, name, NULL);

                machine_remove_tree(file);
        }
        g_clear_pointer(&directory, g_dir_close);
        (void)g_remove(path);
}

void machine_boot(Machine *machine) {
        g_autofree char *runtime = g_build_filename(machine->directory, "run", NULL);

        machine->frozen = false;
        machine->booted = world_now(machine->world);
        machine_draw_id(machine, machine->boot_id);
        machine_remove_tree(runtime);
        machine_make_directory(machine, "run");
        machine->synchronised =
            machine->booted + world_draw_between(machine->ids, 0, SYNCHRONISED_AFTER_MAX);
}

bool machine_is_synchronised(const Machine *machine) {
        return world_now(machine->world) >= machine->synchronised;
}

void machine_listen(Machine *machine, MachineListener *listener) {
        g_ptr_array_add(machine->listeners, listener);
}

void machine_unlisten(Machine *machine, MachineListener *listener) {
        (void)g_ptr_array_remove(machine->listeners, listener);
}
