/* The daemon's face: gives the bus its view of the coordinator (bus/view.h), and has the bus tell
 * whether the clock is good to begin with. */
#pragma once

#include "coordinator.h"

typedef struct Face Face;

/* Return: 0 or negative errno. Freed before the coordinator. */
int face_new(Coordinator *coordinator, Face **ret_face);
Face *face_free(Face *face);
DEFINE_CLEANUP(Face, face_free);
