/* See slice.h. */
#include "slice.h"

#include <glib.h>

#include "clock.h"

/* So long may a turn of the loop be held up. */
#define SLICE_TIME (2 * USEC_PER_MSEC)

struct Slice {
        SliceFunc func;
        void *userdata;
        sd_event_source *source;
};

static int slice_on_turn(sd_event_source *source, void *userdata) {
        const Slice *slice = userdata;
        usec_t end = clock_monotonic() + SLICE_TIME;

        (void)source;
        /* Freed with the last step. */
        while (slice->func(slice->userdata))
                if (clock_monotonic() >= end)
                        return 0;
        return 0;
}

int slice_new(sd_event *event, SliceFunc func, void *userdata, Slice **ret_slice) {
        _cleanup_(slice_freep) Slice *slice = g_new0(Slice, 1);
        int r = sd_event_add_defer(event, &slice->source, slice_on_turn, slice);

        slice->func = func;
        slice->userdata = userdata;
        if (r >= 0)
                r = sd_event_source_set_enabled(slice->source, SD_EVENT_ON);
        if (r >= 0)
                r = sd_event_source_set_priority(slice->source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        *ret_slice = g_steal_pointer(&slice);
        return 0;
}

Slice *slice_free(Slice *slice) {
        if (!slice)
                return NULL;
        sd_event_source_disable_unref(slice->source);
        g_free(slice);
        return NULL;
}
