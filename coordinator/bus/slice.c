/* See slice.h. */
#include "slice.h"

#include <errno.h>
#include <glib.h>

#include "timer.h"

/* So long may a turn of the loop be held up. */
#define SLICE_TIME (2 * USEC_PER_MSEC)

struct Slice {
        sd_event *event;
        SliceFunc func;
        void *userdata;
        sd_event_source *turn;
};

static void slice_on_turn(void *userdata);

/* Behind whatever is due at that priority: other slices, and questions. */
static int slice_arm(Slice *slice) {
        int r = timer_next_turn(slice->event, &slice->turn, slice_on_turn, slice);

        return r < 0 ? r : sd_event_source_set_priority(slice->turn, SD_EVENT_PRIORITY_IDLE);
}

static void slice_on_turn(void *userdata) {
        Slice *slice = userdata;
        usec_t end = clock_monotonic() + SLICE_TIME;

        /* Freed with the last step. */
        while (slice->func(slice->userdata))
                if (clock_monotonic() >= end) {
                        if (slice_arm(slice) < 0)
                                (void)sd_event_exit(slice->event, -ENOMEM);
                        return;
                }
}

int slice_new(sd_event *event, SliceFunc func, void *userdata, Slice **ret_slice) {
        _cleanup_(slice_freep) Slice *slice = g_new0(Slice, 1);
        int r;

        slice->event = sd_event_ref(event);
        slice->func = func;
        slice->userdata = userdata;
        r = slice_arm(slice);
        if (r < 0)
                return r;
        *ret_slice = g_steal_pointer(&slice);
        return 0;
}

Slice *slice_free(Slice *slice) {
        if (!slice)
                return NULL;
        sd_event_source_disable_unref(slice->turn);
        sd_event_unref(slice->event);
        g_free(slice);
        return NULL;
}
