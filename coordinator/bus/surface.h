/* The surface: the daemon on D-Bus (bus-interface.h says what it answers). The connection comes
 * back by itself; nothing else depends on it.
 *
 * It tells the service manager when the daemon is ready: once it can be asked, so that what is
 * started after it finds it. A bus that is not there, refuses us or says nothing holds up no start,
 * though: runs do not need it. */
#pragma once

#include "view.h"

typedef struct Surface Surface;

/* `view` is borrowed. Return: 0 or negative errno. */
int surface_new(const View *view, Surface **ret_surface);
Surface *surface_free(Surface *surface);
DEFINE_CLEANUP(Surface, surface_free);
