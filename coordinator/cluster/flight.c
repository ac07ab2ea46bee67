/* See flight.h. */
#include "flight.h"

#include <errno.h>
#include <glib.h>

struct Flight {
        Zk *zk; /* weak */
        FlightFunc func;
        void *userdata;
        GPtrArray *requests; /* FlightRequest */
        unsigned pending;
        int fault; /* of the first request that could not be sent */
        ZkCode code;
};

typedef struct FlightRequest {
        Flight *flight; /* weak: owns us */
        ZkReplyFunc func;
        void *userdata;
        bool may_be_refused; /* which is an answer, too */
        ZkCall *call;
} FlightRequest;

static void flight_request_free(void *data) {
        FlightRequest *request = data;

        zk_call_free(request->call);
        g_free(request);
}

Flight *flight_new(Zk *zk, FlightFunc func, void *userdata) {
        Flight *flight = g_new0(Flight, 1);

        flight->zk = zk;
        flight->func = func;
        flight->userdata = userdata;
        flight->requests = g_ptr_array_new_with_free_func(flight_request_free);
        flight->fault = zk ? 0 : -ENOTCONN;
        flight->code = ZK_OK;
        return flight;
}

Flight *flight_free(Flight *flight) {
        if (!flight)
                return NULL;
        g_ptr_array_unref(flight->requests);
        g_free(flight);
        return NULL;
}

/* How much an answer says about the whole; the higher one counts, and of equals the first. */
static unsigned flight_weight(ZkCode code) {
        switch (code) {
        case ZK_OK:
        case ZK_NO_NODE:
        case ZK_NODE_EXISTS:
                return 0;
        case ZK_CLOSED:
                return 3;
        case ZK_UNKNOWN:
                return 2;
        default:
                return 1;
        }
}

static void flight_on_reply(const ZkReply *reply, void *userdata) {
        FlightRequest *request = userdata;
        Flight *flight = request->flight;

        request->call = NULL;
        if (flight_weight(reply->code) > flight_weight(flight->code) &&
            !(request->may_be_refused && zk_code_is_refusal(reply->code)))
                flight->code = reply->code;
        if (request->func)
                request->func(reply, request->userdata);
        if (--flight->pending == 0)
                flight->func(flight->code, flight->userdata);
}

static FlightRequest *flight_request_new(Flight *flight, ZkReplyFunc func, void *userdata) {
        FlightRequest *request = g_new0(FlightRequest, 1);

        request->flight = flight;
        request->func = func;
        request->userdata = userdata;
        g_ptr_array_add(flight->requests, request);
        return request;
}

static void flight_sent(Flight *flight, int r) {
        if (r < 0 && flight->fault == 0)
                flight->fault = r;
        flight->pending += r >= 0;
}

static void flight_send_get(Flight *flight, const char *path, FlightRequest *request) {
        if (flight->zk)
                flight_sent(flight, zk_get(flight->zk, path, flight_on_reply, request,
                                           &request->call, NULL, NULL, NULL));
}

void flight_get(Flight *flight, const char *path, ZkReplyFunc func, void *userdata) {
        flight_send_get(flight, path, flight_request_new(flight, func, userdata));
}

void flight_try_get(Flight *flight, const char *path, ZkReplyFunc func, void *userdata) {
        FlightRequest *request = flight_request_new(flight, func, userdata);

        request->may_be_refused = true;
        flight_send_get(flight, path, request);
}

void flight_exists(Flight *flight, const char *path, ZkReplyFunc func, void *userdata) {
        FlightRequest *request = flight_request_new(flight, func, userdata);

        if (flight->zk)
                flight_sent(flight, zk_exists(flight->zk, path, flight_on_reply, request,
                                              &request->call, NULL, NULL, NULL));
}

void flight_get_children(Flight *flight, const char *path, ZkReplyFunc func, void *userdata) {
        FlightRequest *request = flight_request_new(flight, func, userdata);

        if (flight->zk)
                flight_sent(flight, zk_get_children(flight->zk, path, flight_on_reply, request,
                                                    &request->call, NULL, NULL, NULL));
}

void flight_sync(Flight *flight, const char *path) {
        FlightRequest *request = flight_request_new(flight, NULL, NULL);

        if (flight->zk)
                flight_sent(flight,
                            zk_sync(flight->zk, path, flight_on_reply, request, &request->call));
}

void flight_watch(Flight *flight, const char *path, ZkReplyFunc func, void *userdata,
                  ZkWatchFunc watch_func, ZkWatch **ret_watch) {
        FlightRequest *request = flight_request_new(flight, func, userdata);

        if (flight->zk)
                flight_sent(flight, zk_get(flight->zk, path, flight_on_reply, request,
                                           &request->call, watch_func, userdata, ret_watch));
}

/* One that fails is a transaction as well. */
static void flight_on_nothing_written(const ZkReply *reply, void *userdata) {
        const bool lost = reply->code == ZK_UNKNOWN || reply->code == ZK_CLOSED;

        flight_on_reply(&(ZkReply){.code = lost ? reply->code : ZK_OK}, userdata);
}

void flight_write_nothing(Flight *flight, const char *path) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = path, .version = -1};
        FlightRequest *request = flight_request_new(flight, NULL, NULL);

        if (flight->zk)
                flight_sent(flight, zk_multi(flight->zk, &check, 1, flight_on_nothing_written,
                                             request, &request->call));
}

int flight_depart(Flight *flight) {
        if (flight->fault < 0)
                return flight->fault;
        return flight->pending > 0 ? 0 : -ENODATA;
}
