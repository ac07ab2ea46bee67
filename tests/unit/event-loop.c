/* See event-loop.h. */
#include "event-loop.h"

#include <criterion/criterion.h>
#include <glib.h>

static unsigned loops; /* that are not freed */

static int loop_on_turn(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        return 0;
}

static void loop_on_freed(void *userdata) {
        (void)userdata;
        loops--;
}

/* With a source that is the loop's own and goes when it does. */
sd_event *loop_new(void) {
        sd_event *loop = NULL;
        sd_event_source *witness;

        cr_assert_geq(sd_event_new(&loop), 0);
        cr_assert_geq(sd_event_add_defer(loop, &witness, loop_on_turn, NULL), 0);
        cr_assert_geq(sd_event_source_set_enabled(witness, SD_EVENT_OFF), 0);
        cr_assert_geq(sd_event_source_set_destroy_callback(witness, loop_on_freed), 0);
        cr_assert_geq(sd_event_source_set_floating(witness, true), 0);
        sd_event_source_unref(witness);
        loops++;
        return loop;
}

sd_event *loop_end(sd_event *loop) {
        unsigned others = loops - 1;

        sd_event_unref(loop);
        /* An assertion that fails after a test is not counted, but a crash is. */
        if (loops != others)
                g_error("a source of the event loop was not freed");
        return NULL;
}
