/* One connection of ours to the system bus: it owns a name, serves one object there, and comes back
 * by itself. The daemon has two of them, so that what everybody may ask cannot hold up what only
 * root may (surface.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"

typedef struct BusDoor BusDoor;

typedef struct BusDoorOptions {
        const char *name;
        const char *path, *interface;
        const sd_bus_vtable *vtable;
        void *object;     /* the methods' userdata */
        int64_t priority; /* of all that comes in, among the loop's other work */
        /* The name is ours, or was refused for now, or there is no bus to ask. */
        void (*settled)(void *userdata);
        /* The connection is going, and with it every call that waits. */
        void (*lost)(sd_bus *bus, void *userdata);
        void *userdata;
} BusDoorOptions;

/* `options` are copied, but not what they point to. Return: a door that is connecting, or will try
 * again until it is. `settled` may be called from inside. */
BusDoor *bus_door_new(sd_event *event, const BusDoorOptions *options);
BusDoor *bus_door_free(BusDoor *door);
DEFINE_CLEANUP(BusDoor, bus_door_free);
