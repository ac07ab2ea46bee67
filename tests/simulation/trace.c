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
        usec_t now;
        va_list arguments;

        if (!trace.file)
                return;
        now = world_now(trace.world);
        (void)fprintf(trace.file, "%5" PRIu64 ".%06" PRIu64 " %-8s ", now / USEC_PER_SEC,
                      now % USEC_PER_SEC, who);
        va_start(arguments, format);
        (void)vfprintf(trace.file, format, arguments);
        va_end(arguments);
        (void)fputc('\n', trace.file);
}
