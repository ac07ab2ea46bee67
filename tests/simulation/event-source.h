/* Inside event.c and event-source.c: what a loop and its sources are made of. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <time.h>

#include "event.h"
#include "heap.h"
#include "process.h"

typedef enum SourceType {
        SOURCE_IO,
        SOURCE_TIME,
        SOURCE_DEFER,
        SOURCE_POST,
} SourceType;

#define EVENT_CLOCKS 3 /* event_clocks[] */
extern const clockid_t event_clocks[EVENT_CLOCKS];

struct sd_event {
        unsigned n_ref;
        Process *process;
        uint64_t iteration;
        Heap *pending;             /* what is due */
        Heap *times[EVENT_CLOCKS]; /* the next first */
        GPtrArray *descriptors;    /* sources of SOURCE_IO, registered with the kernel's words */
        GPtrArray *posts;
        GQueue floating; /* sources that are the loop's */
        bool look;       /* at the descriptors */
        bool in_turn, exits, finished;
        int code;
        ProcessTask *next; /* turn */
        usec_t next_at;    /* true time */
        EventExitFunc on_exit;
        void *on_exit_userdata;
        MachineListener listener; /* its clock is set */
};

struct sd_event_source {
        unsigned n_ref;
        sd_event *event; /* NULL once disconnected */
        SourceType type;
        int enabled;
        bool floating, pending, dispatching, exit_on_failure;
        int64_t priority;
        uint64_t since; /* the turn in which it became due */
        unsigned pending_index, time_index;
        unsigned clock; /* of event_clocks[] */
        usec_t time, accuracy;
        int fd;
        uint32_t events, revents;
        union {
                sd_event_io_handler_t io;
                sd_event_time_handler_t time;
                sd_event_handler_t plain;
        } func;
        void *userdata;
        sd_event_destroy_t destroy;
};

/* For the heaps of a loop. */
int source_compare_pending(const void *one, const void *other);
int source_compare_times(const void *one, const void *other);

void source_set_pending(sd_event_source *source, bool pending);
/* Calls it. It may be gone then, and the loop too. */
void source_dispatch(sd_event_source *source);
/* Something may be due: the loop has a turn in time. */
void event_arm(sd_event *event);
