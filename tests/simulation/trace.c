/* See trace.h. */
#include "trace.h"

#include <inttypes.h>

static struct {
        const World *world;
        FILE *file;
} trace;

void trace_begin(const World *world, FILE *file) {
        trace.world = world;
        trace.file = file;
}

void trace_end(void) {
        trace.world = NULL;
        trace.file = NULL;
}

bool trace_is_on(void) {
        return trace.file;
}

void trace_write(const char *who, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;
        usec_t now;

        if (!trace.file)
                return;
        now = world_now(trace.world);
        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        (void)fprintf(trace.file, "%5" PRIu64 ".%06" PRIu64 " %-8s %s\n", now / USEC_PER_SEC,
                      now % USEC_PER_SEC, who, text);
}
