/* Work in slices: what takes long is done a few milliseconds at a time, whenever the loop has
 * nothing better to do. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct Slice Slice;

/* Does a little. Return: whether there is more to do; if not, the work may have been freed. */
typedef bool (*SliceFunc)(void *userdata);

/* Calls `func` from the loop until it has no more to do. */
int slice_new(sd_event *event, SliceFunc func, void *userdata, Slice **ret_slice);
Slice *slice_free(Slice *slice);
DEFINE_CLEANUP(Slice, slice_free);
