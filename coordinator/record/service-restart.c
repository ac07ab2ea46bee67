/* See service-restart.h. */
#include "service-restart.h"

#include <glib.h>

typedef enum ServiceEndKind {
        SERVICE_END_NONE,
        SERVICE_END_OWN,    /* by itself, well or not */
        SERVICE_END_WANTED, /* somebody stopped it */
        SERVICE_END_LOST,   /* what it ran on, or its locks */
} ServiceEndKind;

static const ServiceEndKind service_end_kinds[RUN_STATE_COUNT] = {
    [RUN_SUCCEEDED] = SERVICE_END_OWN,    [RUN_FAILED] = SERVICE_END_OWN,
    [RUN_TIMED_OUT] = SERVICE_END_OWN,    [RUN_STOPPED] = SERVICE_END_WANTED,
    [RUN_INTERRUPTED] = SERVICE_END_LOST, [RUN_UNKNOWN] = SERVICE_END_LOST,
};

static usec_t service_restart_pause(const ServiceEnd *end, unsigned doublings) {
        return usec_doubled(MAX(end->delay, SERVICE_RESTART_MIN),
                            MAX(end->max_delay, SERVICE_RESTART_MIN), doublings);
}

ServiceRestart service_restart_after(const ServiceEnd *end) {
        ServiceRestart restart = {.follows = true};
        bool was_short = end->lived < SERVICE_RESTART_LONG;
        unsigned before = was_short ? end->short_lived : 0;

        switch (service_end_kinds[end->state]) {
        case SERVICE_END_OWN:
                restart.pause = service_restart_pause(end, before);
                break;
        case SERVICE_END_WANTED:
                restart.pause = service_restart_pause(end, 0);
                return restart;
        case SERVICE_END_LOST:
                if (end->state == RUN_UNKNOWN && end->continues)
                        return (ServiceRestart){.follows = false};
                restart.pause = before > 0 ? service_restart_pause(end, before - 1) : 0;
                break;
        case SERVICE_END_NONE:
                return (ServiceRestart){.follows = false};
        }
        if (was_short)
                restart.short_lived = before < G_MAXUINT ? before + 1 : before;
        return restart;
}
