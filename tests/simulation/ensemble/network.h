/* The network of a simulated world: hosts, and wires between them. See network.c. */
#pragma once

#include <glib.h>

#include "world.h"

typedef struct Network Network;
typedef struct Host Host;
typedef struct Wire Wire;

/* How long a message is on its way. */
typedef struct NetworkDelays {
        usec_t min, max;
        unsigned late_once_in; /* 0: never */
        usec_t late_max;       /* then it takes up to so long */
        usec_t again_max;      /* what was held up by a cut comes so late after it, at most: TCP
                                  tries again in growing pauses */
} NetworkDelays;

Network *network_new(World *world);
/* Nobody may use a wire any more. */
Network *network_free(Network *network);
DEFINE_CLEANUP(Network, network_free);

World *network_world(const Network *network);

/* Return: the host of that name, made where there is none; the network's. */
Host *network_host(Network *network, const char *name);
const char *host_name(const Host *host);
Network *host_network(const Host *host);

/* Nothing gets from one to the other, while what is sent the other way does. What was sent waits
 * until the way is open again. */
void network_cut(Host *from, Host *to);
void network_mend(Host *from, Host *to);
bool network_is_cut(const Host *from, const Host *to);
/* Every message from it or to it takes so much longer. */
void host_set_slow(Host *host, usec_t extra);
/* One message in so many, from or to it, is lost, and sent again some time later, before all behind
 * it; 0: none. */
void host_set_loss(Host *host, unsigned once_in);
/* The machine is gone, and nobody is told: what is under way from it and to it is lost. Once it
 * runs again, those who still have a connection to it are told that there is none. */
void host_crash(Host *host);
void host_boot(Host *host);
bool host_is_down(const Host *host);

/* Connections between the two break, and both hear of it soon. What is under way from the first
 * arrives before that, or not; what is under way to it never does. */
void network_break(Host *one, Host *other, bool arrives);

/* One direction of a connection: what is sent arrives in order, or not. `func` gets the messages,
 * which are then the receiver's, and NULL when the sender has closed it. */
typedef void (*WireFunc)(void *message, void *userdata);
Wire *wire_new(Host *from, Host *to, WireFunc func, void *userdata, GDestroyNotify free_message);
/* Takes the message over. */
void wire_send(Wire *wire, void *message);
/* The sender is through with it: what was sent arrives, then the end. Of a connection on which
 * nothing arrived yet nothing ever does. */
void wire_close(Wire *wire);
/* The receiver is through with it. */
void wire_ignore(Wire *wire);
/* From now on what is sent takes so much longer. */
void wire_set_slow(Wire *wire, usec_t extra);
/* The receiver does not read for a while; what it gets afterwards comes in order. */
void wire_pause(Wire *wire, bool paused);
