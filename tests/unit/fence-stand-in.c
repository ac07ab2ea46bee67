/* See fence-stand-in.h. */
#include "fence-stand-in.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "clock.h"
#include "timer.h"

struct FencePort {
        sd_event *event;
        sd_event_source *source;
        FencePortFunc func;
        void *userdata;
};

#define FENCE_THERE                                                                                \
        {                                                                                          \
                .hello = {                                                                         \
                        .magic = {'j', 'k', 'f', 'e', 'n', 'c', 'e', '1'},                         \
                        .version = JOBKEEPER_VERSION,                                              \
                        .instance = "11111111111111111111111111111111",                            \
                        .flags = FENCE_CAN_KILL,                                                   \
                }                                                                                  \
        }

FenceStandIn fence_stand_in = FENCE_THERE;

void fence_stand_in_reset(void) {
        fence_stand_in = (FenceStandIn)FENCE_THERE;
}

static void stand_in_on_greet(void *userdata) {
        FencePort *port = userdata;

        if (!fence_stand_in.silent)
                port->func(FENCE_PORT_GREETED, port->userdata);
}

static void stand_in_on_end(void *userdata) {
        FencePort *port = userdata;

        port->func(FENCE_PORT_ENDED, port->userdata);
}

void fence_stand_in_hang_up(void) {
        FencePort *port = fence_stand_in.port;

        if (port)
                (void)timer_next_turn(port->event, &port->source, stand_in_on_end, port);
}

void fence_stand_in_replace(void) {
        fence_stand_in.hello.instance[0]++;
        memset(fence_stand_in.at, 0, sizeof fence_stand_in.at);
        fence_stand_in_hang_up();
}

int fence_port_new(sd_event *event, const char *socket_path, FencePortFunc func, void *userdata,
                   FencePort **ret_port) {
        FencePort *port;

        if (fence_stand_in.absent)
                return -ENOENT;
        port = g_new0(FencePort, 1);
        port->event = event;
        port->func = func;
        port->userdata = userdata;
        (void)timer_next_turn(event, &port->source, stand_in_on_greet, port);
        fence_stand_in.connections++;
        *ret_port = fence_stand_in.port = port;
        return 0;
}

FencePort *fence_port_free(FencePort *port) {
        if (!port)
                return NULL;
        if (fence_stand_in.port == port)
                fence_stand_in.port = NULL;
        sd_event_source_disable_unref(port->source);
        g_free(port);
        return NULL;
}

const FenceHello *fence_port_hello(const FencePort *port) {
        return &fence_stand_in.hello;
}

FenceTimers fence_port_timers(const FencePort *port) {
        FenceTimers timers = FENCE_TIMERS_UNSET;

        for (unsigned i = 0; i < FENCE_TIMERS; i++)
                if (fence_stand_in.at[i] != 0)
                        timers = MAX(timers, clock_boottime() >= fence_stand_in.at[i]
                                                 ? FENCE_TIMERS_PASSED
                                                 : FENCE_TIMERS_SET);
        return timers;
}

void fence_port_set(FencePort *port, unsigned timer, usec_t at) {
        fence_stand_in.at[timer] = at;
        fence_stand_in.sets[timer]++;
        fence_stand_in.last_set = timer;
}

void fence_port_leave(FencePort *port) {
        fence_stand_in.leaves++;
}

bool fence_port_is_populated(const FencePort *port) {
        return fence_stand_in.populated;
}
