/* See network.h.
 *
 * A wire is what TCP makes of a network: a message arrives late, but in order, or it waits for a
 * way that is cut, until the sender or the receiver has given up the connection. Each has given up
 * at another time, and what was sent before may still arrive: that is where requests come from that
 * are done long after their client has lost hope. */
#include "network.h"

#define DELAY_MIN 100
#define DELAY_MAX 700
#define LATE_ONCE_IN 300
#define LATE_MAX (40 * USEC_PER_MSEC)
#define AGAIN_MAX (2 * USEC_PER_SEC)
/* What is lost is sent again after so long. */
#define RESEND_MIN (200 * USEC_PER_MSEC)
#define RESEND_MAX (3 * USEC_PER_SEC)

struct Network {
        World *world;
        WorldChance *chance;
        NetworkDelays delays;
        GPtrArray *hosts; /* of Host */
        GQueue wires;     /* of Wire */
};

struct Host {
        Network *network;
        char *name;
        GPtrArray *cut; /* of Host: to whom there is no way */
        usec_t slow;
        unsigned lost_once_in; /* messages from and to it; 0: none */
        bool down;
};

typedef struct Message {
        usec_t time;
        void *data; /* NULL: the end */
} Message;

struct Wire {
        Network *network;
        Host *from, *to;
        WireFunc func; /* NULL once the receiver is through */
        void *userdata;
        GDestroyNotify free_message;
        usec_t slow;
        GQueue messages; /* of Message */
        WorldTask *task; /* for the first of them */
        GList link;      /* in the network's */
        bool closed, arrived, paused;
        bool lost; /* one end was on a host that crashed */
};

Network *network_new(World *world) {
        Network *network = g_new0(Network, 1);

        network->world = world;
        network->chance = world_chance_new(world, "network");
        network->delays = (NetworkDelays){
            .min = DELAY_MIN,
            .max = DELAY_MAX,
            .late_once_in = LATE_ONCE_IN,
            .late_max = LATE_MAX,
            .again_max = AGAIN_MAX,
        };
        network->hosts = g_ptr_array_new();
        g_queue_init(&network->wires);
        return network;
}

static void wire_clear(Wire *wire) {
        Message *message;

        wire->task = world_task_free(wire->task);
        while ((message = g_queue_pop_head(&wire->messages))) {
                if (message->data)
                        wire->free_message(message->data);
                g_free(message);
        }
}

static void wire_free(Wire *wire) {
        wire_clear(wire);
        g_queue_unlink(&wire->network->wires, &wire->link);
        g_free(wire);
}

static void host_free(Host *host) {
        g_ptr_array_unref(host->cut);
        g_free(host->name);
        g_free(host);
}

Network *network_free(Network *network) {
        if (!network)
                return NULL;
        while (network->wires.head)
                wire_free(network->wires.head->data);
        for (guint i = 0; i < network->hosts->len; i++)
                host_free(network->hosts->pdata[i]);
        g_ptr_array_unref(network->hosts);
        world_chance_free(network->chance);
        g_free(network);
        return NULL;
}

World *network_world(const Network *network) {
        return network->world;
}

Host *network_host(Network *network, const char *name) {
        Host *host;

        for (guint i = 0; i < network->hosts->len; i++) {
                host = network->hosts->pdata[i];
                if (g_str_equal(host->name, name))
                        return host;
        }
        host = g_new0(Host, 1);
        host->network = network;
        host->name = g_strdup(name);
        host->cut = g_ptr_array_new();
        g_ptr_array_add(network->hosts, host);
        return host;
}

const char *host_name(const Host *host) {
        return host->name;
}

Network *host_network(const Host *host) {
        return host->network;
}

bool network_is_cut(const Host *from, const Host *to) {
        return g_ptr_array_find(from->cut, to, NULL);
}

void host_set_slow(Host *host, usec_t extra) {
        host->slow = extra;
}

void host_set_loss(Host *host, unsigned once_in) {
        host->lost_once_in = once_in;
}

bool host_is_down(const Host *host) {
        return host->down;
}

/* ---- wires ---- */

static bool wire_is_blocked(const Wire *wire) {
        return wire->paused || network_is_cut(wire->from, wire->to);
}

static void wire_await(Wire *wire);

static void wire_on_time(void *userdata) {
        Wire *wire = userdata;
        Message *message = g_queue_peek_head(&wire->messages);
        WireFunc func = wire->func;
        void *data = message->data;

        wire->task = NULL;
        if (wire_is_blocked(wire))
                return;
        (void)g_queue_pop_head(&wire->messages);
        g_free(message);
        wire->arrived = true;
        wire_await(wire);
        func(data, wire->userdata); /* may free the wire */
}

static void wire_await(Wire *wire) {
        const Message *first = g_queue_peek_head(&wire->messages);
        usec_t now = world_now(wire->network->world);

        if (!first || wire->task || wire_is_blocked(wire))
                return;
        wire->task =
            world_after(wire->network->world, usec_sub(first->time, now), wire_on_time, wire);
}

/* What waited is sent again, some time later. */
static void wire_resume(Wire *wire, usec_t again_max) {
        Message *first = g_queue_peek_head(&wire->messages);
        usec_t now = world_now(wire->network->world);

        if (!first || wire_is_blocked(wire))
                return;
        if (first->time < now) {
                usec_t time = now + world_draw_between(wire->network->chance, 0, again_max);

                for (GList *link = wire->messages.head; link; link = link->next)
                        ((Message *)link->data)->time = MAX(((Message *)link->data)->time, time);
        }
        wire->task = world_task_free(wire->task);
        wire_await(wire);
}

Wire *wire_new(Host *from, Host *to, WireFunc func, void *userdata, GDestroyNotify free_message) {
        Wire *wire = g_new0(Wire, 1);

        wire->network = from->network;
        wire->from = from;
        wire->to = to;
        wire->func = func;
        wire->userdata = userdata;
        wire->free_message = free_message;
        wire->lost = from->down || to->down;
        g_queue_init(&wire->messages);
        wire->link.data = wire;
        g_queue_push_tail_link(&wire->network->wires, &wire->link);
        return wire;
}

static usec_t wire_draw_resending(const Wire *wire) {
        unsigned once_in = MAX(wire->from->lost_once_in, wire->to->lost_once_in);

        if (once_in == 0 || !world_draw_once_in(wire->network->chance, once_in))
                return 0;
        return world_draw_between(wire->network->chance, RESEND_MIN, RESEND_MAX);
}

static usec_t wire_draw_delay(const Wire *wire) {
        const NetworkDelays *delays = &wire->network->delays;
        WorldChance *chance = wire->network->chance;
        usec_t max =
            world_draw_once_in(chance, delays->late_once_in) ? delays->late_max : delays->max;
        usec_t usual = world_draw_between(chance, delays->min, MAX(max, delays->min));

        return usual + wire_draw_resending(wire) + wire->slow + wire->from->slow + wire->to->slow;
}

static void wire_put(Wire *wire, void *data) {
        const Message *last = g_queue_peek_tail(&wire->messages);
        Message *message = g_new0(Message, 1);

        message->time = world_now(wire->network->world) + wire_draw_delay(wire);
        if (last)
                message->time = MAX(message->time, last->time);
        message->data = data;
        g_queue_push_tail(&wire->messages, message);
        wire_await(wire);
}

void wire_send(Wire *wire, void *message) {
        if (!wire->func || wire->lost || wire->closed)
                wire->free_message(message);
        else
                wire_put(wire, message);
}

void wire_close(Wire *wire) {
        if (!wire->func) {
                wire_free(wire);
                return;
        }
        wire->closed = true;
        if (!wire->arrived && !wire->task) /* no connection was made yet */
                wire_clear(wire);
        if (!wire->lost)
                wire_put(wire, NULL);
}

void wire_ignore(Wire *wire) {
        if (wire->closed) {
                wire_free(wire);
                return;
        }
        wire->func = NULL;
        wire_clear(wire);
}

void wire_set_slow(Wire *wire, usec_t extra) {
        wire->slow = extra;
}

void wire_pause(Wire *wire, bool paused) {
        wire->paused = paused;
        if (!paused)
                wire_resume(wire, wire->network->delays.max);
}

/* ---- what befalls hosts ---- */

void network_cut(Host *from, Host *to) {
        if (!network_is_cut(from, to))
                g_ptr_array_add(from->cut, to);
}

void network_mend(Host *from, Host *to) {
        if (!g_ptr_array_remove(from->cut, to))
                return;
        for (GList *link = from->network->wires.head; link; link = link->next) {
                Wire *wire = link->data;

                if (wire->from == from && wire->to == to)
                        wire_resume(wire, from->network->delays.again_max);
        }
}

static void wire_break(Wire *wire, bool arrives) {
        if (!wire->func || wire->lost || wire->closed)
                return;
        if (!arrives)
                wire_clear(wire);
        wire_put(wire, NULL);
        wire->lost = true;
}

void network_break(Host *one, Host *other, bool arrives) {
        for (GList *link = one->network->wires.head; link; link = link->next) {
                Wire *wire = link->data;

                if (wire->from == one && wire->to == other)
                        wire_break(wire, arrives);
                else if (wire->from == other && wire->to == one)
                        wire_break(wire, false);
        }
}

void host_crash(Host *host) {
        host->down = true;
        for (GList *link = host->network->wires.head; link; link = link->next) {
                Wire *wire = link->data;

                if (wire->from != host && wire->to != host)
                        continue;
                wire_clear(wire);
                wire->lost = true;
        }
}

/* TCP's answer to what is sent to a machine that does not know the connection. */
void host_boot(Host *host) {
        host->down = false;
        for (GList *link = host->network->wires.head; link; link = link->next) {
                Wire *wire = link->data;

                if (wire->lost && wire->from == host && wire->func && !wire->messages.head)
                        wire_put(wire, NULL);
        }
}
