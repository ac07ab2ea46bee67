/* Who owns a name on the bus, and so whose signals count.
 *
 * Anybody may send anybody a signal, and a match's `sender=` keeps none out that was sent to us
 * alone: sd-bus takes the well-known name of a match for every unique name, and the bus asks no
 * match at all before it delivers. What cannot be forged is the sender's unique name, which the bus
 * writes. So a signal counts when it comes from the connection that owns the name now.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"

typedef struct BusOwner BusOwner;

/* The name changed hands: from `before` to `now`, unique names, "" for nobody. Also called, with ""
 * for both, when the name turns out to have no owner to begin with. May free the owner. */
typedef void (*BusOwnerFunc)(BusOwner *owner, const char *before, const char *now, void *userdata);

/* Follows the owner of a name, well-known or unique, from now on. Does not wait: what is sent on
 * the same connection afterwards is answered after the bus has said who owns the name. `func` may
 * be NULL. Return: 0 or negative errno. */
int bus_owner_new(sd_bus *bus, const char *name, BusOwnerFunc func, void *userdata,
                  BusOwner **ret_owner);
BusOwner *bus_owner_free(BusOwner *owner);
DEFINE_CLEANUP(BusOwner, bus_owner_free);

/* Return: whether the owner of the name sent it. */
bool bus_owner_sent(const BusOwner *owner, sd_bus_message *message);
