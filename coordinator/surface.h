/* The surface: the daemon on D-Bus (bus-interface.h says what it answers). The connection comes
 * back by itself; nothing else depends on it. */
#pragma once

#include "coordinator.h"

int surface_new(Coordinator *coordinator, Surface **ret_surface);
Surface *surface_free(Surface *surface);
DEFINE_CLEANUP(Surface, surface_free);
