/* Calls to PID 1: asynchronous, with a timeout, at most UNIT_CALLS_IN_FLIGHT_MAX at a time, each
 * owned by the object that waits for its answer.
 *
 * A call that finds no connection, or too many calls under way, waits in the queue; its message is
 * made when its turn comes, because a message belongs to one connection and the connection may
 * change while the call waits. A call that was sent ends with its connection: whether PID 1 acted
 * on it is then unknown. Freeing a call, at any time, means that its callback never comes.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define SYSTEMD_SERVICE "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"
#define SYSTEMD_UNIT_PATH_PREFIX "/org/freedesktop/systemd1/unit"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"

/* PID 1 answers in milliseconds; when a hundred units start at once, in seconds. sd-bus's own
 * default is 25 s. */
#define SYSTEMD_CALL_TIMEOUT (25 * USEC_PER_SEC)

/* dbus-daemon limits pending replies to 128 for a root client and answers LimitsExceeded above. */
#define UNIT_CALLS_IN_FLIGHT_MAX 64

typedef struct BusQueue BusQueue;
typedef struct BusCall BusCall;

/* Makes the message. Return: 0 or negative errno, which then reaches the callback as an error. */
typedef int (*BusCallBuild)(sd_bus *bus, void *userdata, sd_bus_message **ret_message);
/* Two for the bodies of such a function: a method of PID 1's Manager that takes `types`, and a read
 * of a property; of all properties of all interfaces where `property` is NULL. */
int systemd_method(sd_bus *bus, sd_bus_message **ret_message, const char *member, const char *types,
                   ...);
int systemd_get(sd_bus *bus, sd_bus_message **ret_message, const char *path, const char *interface,
                const char *property);
/* The answer, from the loop: `error` is NULL on success, `reply` is NULL on failure. The call is
 * over and may be freed. */
typedef void (*BusCallFunc)(sd_bus_message *reply, const sd_bus_error *error, void *userdata);

typedef enum BusCallFlags {
        BUS_CALL_ORDINARY = 0,
        BUS_CALL_URGENT = 1 << 0, /* before the waiting ones that are not */
} BusCallFlags;

int bus_queue_new(sd_event *event, BusQueue **ret_queue);
/* All calls must have been freed. */
BusQueue *bus_queue_free(BusQueue *queue);
DEFINE_CLEANUP(BusQueue, bus_queue_free);

typedef enum BusQueueNews {
        BUS_QUEUE_SENT,     /* a call was */
        BUS_QUEUE_ANSWERED, /* PID 1 has answered one, whatever it says */
        BUS_QUEUE_MISSED,   /* one ended without an answer */
        BUS_QUEUE_LET_GO,   /* one was freed before it was answered */
} BusQueueNews;
/* Has `func` hear of what becomes of calls, before who waits does: it neither makes nor frees any.
 * NULL: nobody hears. */
typedef void (*BusQueueFunc)(BusQueueNews news, void *userdata);
void bus_queue_on_news(BusQueue *queue, BusQueueFunc func, void *userdata);
/* Return: when the oldest call was sent that waits for its answer (CLOCK_MONOTONIC); 0: none does.
 */
usec_t bus_queue_oldest(const BusQueue *queue);

/* The connection to send on, NULL while there is none: to be said before it is closed. Borrowed.
 * What is in flight when it becomes NULL is answered from the loop, with
 * SD_BUS_ERROR_DISCONNECTED. */
void bus_queue_set_bus(BusQueue *queue, sd_bus *bus);

/* Queues a call. Never calls back from inside. */
BusCall *bus_call_new(BusQueue *queue, BusCallBuild build, BusCallFunc func, void *userdata,
                      usec_t timeout, BusCallFlags flags);
BusCall *bus_call_free(BusCall *call);
DEFINE_CLEANUP(BusCall, bus_call_free);

/* Return: whether the message has been handed to the connection (then PID 1 may act on it). */
bool bus_call_sent(const BusCall *call);
/* Return: whether the answer has come. */
bool bus_call_done(const BusCall *call);
