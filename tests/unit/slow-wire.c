/* See slow-wire.h. */
#include "slow-wire.h"

/* The server is given a request of its own in place of each, so that the client's stays until its
 * answer arrives, and a watch of its own likewise. */
typedef struct Parcel {
        Wire *wire; /* NULL: nobody waits for it any more */
        usec_t at;
        ZkCall *call;   /* the client's, or NULL: what a watch saw */
        ZkWatch *watch; /* the client's */
        ZkWatchEvent event;
        ZkReply reply; /* borrows from these: */
        ZkOpResult *results;
        char *data, *path;
} Parcel;

struct Wire {
        WireParts parts;
        Zk *zk;
        GQueue there, here; /* of Parcel */
        usec_t last_there, last_here;
        GPtrArray *relays; /* of Relay */
};

/* What the server fires in place of the client's watch. */
typedef struct Relay {
        ZkWatch shadow;
        Wire *wire; /* NULL once freed */
        ZkWatch *watch;
} Relay;

static GPtrArray *old_relays; /* the server may have their watches still */

Wire *wire_new(Zk *zk, const WireParts *parts) {
        Wire *wire = g_new0(Wire, 1);

        wire->zk = zk;
        wire->parts = *parts;
        g_queue_init(&wire->there);
        g_queue_init(&wire->here);
        wire->relays = g_ptr_array_new();
        return wire;
}

static void parcel_free(Parcel *parcel) {
        if (parcel->call)
                call_clear(parcel->call);
        g_free(parcel->results);
        g_free(parcel->data);
        g_free(parcel->path);
        g_free(parcel);
}

Wire *wire_free(Wire *wire) {
        Parcel *parcel;

        if (!wire)
                return NULL;
        while ((parcel = g_queue_pop_head(&wire->there)) ||
               (parcel = g_queue_pop_head(&wire->here)))
                parcel_free(parcel);
        if (!old_relays)
                old_relays = g_ptr_array_new();
        for (guint i = 0; i < wire->relays->len; i++) {
                ((Relay *)wire->relays->pdata[i])->wire = NULL;
                g_ptr_array_add(old_relays, wire->relays->pdata[i]);
        }
        g_ptr_array_unref(wire->relays);
        g_free(wire);
        return NULL;
}

static usec_t wire_arrival(const Wire *wire, usec_t *last) {
        usec_t at = wire->parts.now(wire->parts.userdata) + wire->parts.delay(wire->parts.userdata);

        *last = MAX(*last, at);
        return *last;
}

void wire_collect(Wire *wire) {
        ZkCall *call;

        while ((call = g_queue_pop_head(&wire->zk->calls))) {
                Parcel *parcel = g_new0(Parcel, 1);

                *parcel = (Parcel){
                    .wire = wire, .at = wire_arrival(wire, &wire->last_there), .call = call};
                g_queue_push_tail(&wire->there, parcel);
        }
}

/* ---- at the server ---- */

static void wire_on_reply(const ZkReply *reply, void *userdata) {
        Parcel *parcel = userdata;
        Wire *wire = parcel->wire;

        parcel->results = g_memdup2(reply->results, reply->n_results * sizeof *reply->results);
        parcel->data = g_memdup2(reply->data, reply->data ? reply->data_size + 1 : 0);
        parcel->path = g_strdup(reply->path);
        parcel->reply = (ZkReply){.code = reply->code,
                                  .stat = reply->stat,
                                  .results = parcel->results,
                                  .n_results = reply->n_results,
                                  .data = parcel->data,
                                  .data_size = reply->data_size,
                                  .path = parcel->path};
        parcel->at = wire_arrival(wire, &wire->last_here);
        g_queue_push_tail(&wire->here, parcel);
}

static void wire_on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        const Relay *relay = userdata;
        Parcel *parcel;

        if (!relay->wire)
                return;
        parcel = g_new0(Parcel, 1);
        *parcel = (Parcel){.wire = relay->wire,
                           .at = wire_arrival(relay->wire, &relay->wire->last_here),
                           .watch = relay->watch,
                           .event = event,
                           .path = g_strdup(path)};
        g_queue_push_tail(&relay->wire->here, parcel);
}

static ZkWatch *wire_relay(Wire *wire, ZkWatch *watch) {
        Relay *relay = g_new0(Relay, 1);

        *relay = (Relay){.shadow = *watch, .wire = wire, .watch = watch};
        relay->shadow.func = wire_on_watch;
        relay->shadow.userdata = relay;
        g_ptr_array_add(wire->relays, relay);
        return &relay->shadow;
}

static ZkCall *wire_copy(Wire *wire, const ZkCall *call, Parcel *parcel) {
        ZkCall *copy = g_memdup2(call, sizeof *call);

        copy->path = g_strdup(call->path);
        copy->data = g_strdup(call->data);
        copy->ops = g_memdup2(call->ops, call->n_ops * sizeof *call->ops);
        for (size_t i = 0; i < call->n_ops; i++) {
                copy->ops[i].path = g_strdup(call->ops[i].path);
                copy->ops[i].data = g_strdup(call->ops[i].data);
        }
        copy->func = wire_on_reply;
        copy->userdata = parcel;
        copy->watch = call->watch ? wire_relay(wire, call->watch) : NULL;
        return copy;
}

static ServerWay way_now;

static ServerWay wire_way(const ZkCall *call) {
        return way_now;
}

void wire_arrive(Wire *wire) {
        Parcel *parcel = g_queue_pop_head(&wire->there);

        wire_collect(wire); /* whatever is asked by now comes after it */
        way_now = wire->parts.way(parcel->call, wire->parts.userdata);
        g_queue_push_tail(&wire->zk->calls, wire_copy(wire, parcel->call, parcel));
        server.way = wire_way;
        server_serve();
}

bool wire_has_requests(const Wire *wire) {
        return wire->there.length > 0;
}

/* ---- here ---- */

static void wire_deliver(Wire *wire) {
        Parcel *parcel = g_queue_pop_head(&wire->here);
        ZkCall *call = g_steal_pointer(&parcel->call);
        usec_t age;

        if (call) {
                age = usec_sub(clock_boottime(), call->sent);
                parcel->reply.sent_realtime = usec_sub(clock_realtime(), age);
                port_reply(call, parcel->reply);
        } else if (parcel->watch->func) {
                parcel->watch->func(parcel->event, parcel->path, parcel->watch->userdata);
        }
        parcel_free(parcel);
}

static usec_t wire_head(const GQueue *queue) {
        return queue->head ? ((const Parcel *)queue->head->data)->at : USEC_INFINITY;
}

usec_t wire_next(const Wire *wire) {
        return MIN(wire_head(&wire->there), wire_head(&wire->here));
}

void wire_step(Wire *wire) {
        if (wire_head(&wire->there) < wire_head(&wire->here))
                wire_arrive(wire);
        else
                wire_deliver(wire);
}
