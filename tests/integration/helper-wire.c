/* See helper-wire.h. */
#include "helper-wire.h"

#include <criterion/criterion.h>
#include <string.h>

void wire_open(Wire *wire, const char *server, size_t n, usec_t timeout) {
        World *world = &wire->world;

        *wire = (Wire){0};
        world_open(world);
        world_connect(world, 0, server, timeout, NULL);
        for (size_t i = 1; i < n; i++) {
                wire->proxies[i] = proxy_new(world->event, server);
                world_connect(world, i, proxy_address(wire->proxies[i]), timeout, NULL);
        }
}

void wire_close(Wire *wire) {
        World *world = &wire->world;

        world_await_empty(world, world->clients[0].session);
        for (size_t i = 1; i < WORLD_CLIENTS; i++) {
                world_disconnect(world, i);
                wire->proxies[i] = proxy_free(wire->proxies[i]);
        }
        world_close(world);
}

Session *wire_session(const Wire *wire, size_t index) {
        return world_session(&wire->world, index);
}

void wire_hold(Wire *wire, Holder *holder, size_t index, const char *resource) {
        holder_take(&wire->world, holder, index, resource);
}

void wire_prepare(Wire *wire, const char *resource) {
        world_make_resource(&wire->world, resource);
}

void wire_queue(Wire *wire, Holder *holder, size_t index, const char *resource, size_t before) {
        const char *name = resource + (resource[0] == '~');

        holder_acquire(&wire->world, holder, wire_session(wire, index), resource, USEC_INFINITY);
        world_await_children(&wire->world, wire_session(wire, 0), name, before + 1);
        world_settle(&wire->world, wire_session(wire, index)); /* the list */
        world_settle(&wire->world, wire_session(wire, index)); /* the watches */
}

void wire_reset_counts(Wire *wire) {
        for (size_t i = 1; i < WORLD_CLIENTS; i++) {
                if (!wire->proxies[i])
                        continue;
                world_settle(&wire->world, wire_session(wire, i));
                proxy_reset_counts(wire->proxies[i]);
        }
}

void wire_assert_alone(Wire *wire, const Holder *holder, const char *resource) {
        Session *session = wire_session(wire, 0);
        g_auto(GStrv) children = world_list(&wire->world, session, resource);
        g_autofree char *directory = world_path(&wire->world, resource), *path = NULL;
        ZkStat stat;

        cr_assert_eq(g_strv_length(children), 1, "%u contenders", g_strv_length(children));
        path = g_strconcat(directory, "/", children[0], NULL);
        cr_assert_str_eq(lock_set_paths(holder->set)[0], path);
        cr_assert_eq(world_exists(&wire->world, session, path, &stat), ZK_OK);
        cr_assert_eq(lock_set_fencing_token(holder->set), stat.czxid);
}

static bool is_order_done(void *userdata) {
        return proxy_ordered(userdata) == 0;
}

void wire_await_order(Wire *wire, size_t index) {
        cr_assert(loop_until(wire->world.event, is_order_done, wire->proxies[index], WORLD_LIMIT),
                  "nothing was lost");
}

typedef struct Awaited {
        const Proxy *proxy;
        Opcode opcode;
        unsigned count;
} Awaited;

static bool is_counted(void *userdata) {
        const Awaited *awaited = userdata;

        return proxy_count(awaited->proxy, awaited->opcode) >= awaited->count;
}

void wire_await_count(Wire *wire, size_t index, Opcode opcode, unsigned count) {
        Awaited awaited = {wire->proxies[index], opcode, count};
        bool come = loop_until(wire->world.event, is_counted, &awaited, WORLD_LIMIT);
        g_autofree char *seen = proxy_describe(wire->proxies[index]);

        cr_assert(come, "%u requests %d did not come, but %s", count, (int)opcode, seen);
}
