/* See bus.h. */
#include "bus.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <string.h>

#include "bus-owner.h"
#include "machine.h"

/* How long a message takes. */
#define TRAVEL_MIN 50
#define TRAVEL_MAX USEC_PER_MSEC

struct BusPeer {
        char *name; /* unique, on the bus */
        Process *process;
        BusPeerFunc func;
        void *userdata;
        GQueue letters; /* on their way to it */
        usec_t last;    /* arrives then */
};

typedef struct Letter {
        BusPeer *peer;
        unsigned call;
        char *error, *text;
        ProcessTask *task;
        GList link;
} Letter;

struct sd_bus_message {
        unsigned references, call;
        char *peer; /* who sent it, or is to get it */
        sd_bus *bus;
        char *member; /* a signal's */
        char *text;   /* the first argument */
        uint32_t number;
};

struct BusOwner {
        char *name;
        Process *process;
        BusOwnerFunc func;
        void *userdata;
        ProcessTask *gone;
        GList link;
};

static GQueue peers = G_QUEUE_INIT, owners = G_QUEUE_INIT;
static unsigned last_name, last_call;

/* ---- peers ---- */

BusPeer *bus_peer_new(Process *process, BusPeerFunc func, void *userdata) {
        BusPeer *peer = g_new0(BusPeer, 1);

        if (g_queue_is_empty(&peers)) /* another cluster has the same names */
                last_name = last_call = 0;
        peer->name = g_strdup_printf(":1.%u", ++last_name);
        peer->process = process;
        peer->func = func;
        peer->userdata = userdata;
        g_queue_init(&peer->letters);
        g_queue_push_tail(&peers, peer);
        return peer;
}

static void letter_free(Letter *letter) {
        process_task_free(letter->task);
        g_queue_unlink(&letter->peer->letters, &letter->link);
        g_free(letter->error);
        g_free(letter->text);
        g_free(letter);
}

static void owner_is_gone(void *userdata) {
        BusOwner *owner = userdata;

        owner->gone = NULL;
        owner->func(owner, owner->name, "", owner->userdata); /* may free the owner */
}

BusPeer *bus_peer_free(BusPeer *peer) {
        if (!peer)
                return NULL;
        while (!g_queue_is_empty(&peer->letters))
                letter_free(g_queue_peek_head(&peer->letters));
        for (GList *link = owners.head; link; link = link->next) {
                BusOwner *owner = link->data;

                if (strcmp(owner->name, peer->name) == 0 && !owner->gone)
                        owner->gone =
                            process_after(owner->process, TRAVEL_MAX, owner_is_gone, owner);
        }
        (void)g_queue_remove(&peers, peer);
        g_free(peer->name);
        g_free(peer);
        return NULL;
}

static BusPeer *bus_find_peer(const char *name) {
        for (GList *link = peers.head; link; link = link->next)
                if (strcmp(((const BusPeer *)link->data)->name, name) == 0)
                        return link->data;
        return NULL;
}

static void letter_arrives(void *userdata) {
        Letter *letter = userdata;
        BusPeer *peer = letter->peer;
        g_autofree char *error = g_steal_pointer(&letter->error),
                        *text = g_steal_pointer(&letter->text);
        unsigned call = letter->call;

        letter->task = NULL;
        letter_free(letter);
        peer->func(call, error, text, peer->userdata); /* may free the peer */
}

/* What a process that is over says, nobody hears. Letters keep their order. */
static void bus_send(const char *to, unsigned call, const char *error, const char *text) {
        BusPeer *peer = bus_find_peer(to);
        Process *turn = process_turn_if_any();
        Machine *machine;
        Letter *letter;
        usec_t now, at;

        if (!peer || (turn && process_is_over(turn)))
                return;
        machine = process_machine(peer->process);
        now = world_now(machine_world(machine));
        at = now + world_draw_between(machine_chance(machine), TRAVEL_MIN, TRAVEL_MAX);
        peer->last = MAX(at, peer->last + 1);
        letter = g_new0(Letter, 1);
        *letter =
            (Letter){.peer = peer, .call = call, .error = g_strdup(error), .text = g_strdup(text)};
        letter->link.data = letter;
        g_queue_push_tail_link(&peer->letters, &letter->link);
        letter->task = process_after(peer->process, peer->last - now, letter_arrives, letter);
}

/* ---- calls ---- */

sd_bus *bus_of(const Process *process) {
        return (sd_bus *)process; /* nobody looks into it */
}

unsigned bus_peer_ask(BusPeer *peer, Process *process, BusMethod method, void *object,
                      const char *text, uint32_t number) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *message = g_new0(sd_bus_message, 1);
        unsigned call = ++last_call;
        int r;

        *message = (sd_bus_message){
            .references = 1, .call = call, .bus = bus_of(process), .number = number};
        message->peer = g_strdup(peer->name);
        message->text = g_strdup(text);
        r = method(object, message, &error);
        if (r < 0 || sd_bus_error_is_set(&error))
                bus_send(message->peer, call,
                         sd_bus_error_is_set(&error) ? error.name : SD_BUS_ERROR_FAILED,
                         error.message);
        sd_bus_error_free(&error);
        sd_bus_message_unref(message);
        return call;
}

/* ---- who owns a name ---- */

int bus_owner_new(sd_bus *bus, const char *name, BusOwnerFunc func, void *userdata,
                  BusOwner **ret_owner) {
        BusOwner *owner = g_new0(BusOwner, 1);

        owner->name = g_strdup(name);
        owner->process = (Process *)bus;
        owner->func = func;
        owner->userdata = userdata;
        owner->link.data = owner;
        g_queue_push_tail_link(&owners, &owner->link);
        if (!bus_find_peer(name))
                owner->gone = process_after(owner->process, TRAVEL_MAX, owner_is_gone, owner);
        *ret_owner = owner;
        return 0;
}

BusOwner *bus_owner_free(BusOwner *owner) {
        if (!owner)
                return NULL;
        process_task_free(owner->gone);
        g_queue_unlink(&owners, &owner->link);
        g_free(owner->name);
        g_free(owner);
        return NULL;
}

/* ---- libsystemd's ---- */

sd_bus_message *sd_bus_message_ref(sd_bus_message *message) {
        message->references++;
        return message;
}

sd_bus_message *sd_bus_message_unref(sd_bus_message *message) {
        if (!message || --message->references > 0)
                return NULL;
        g_free(message->peer);
        g_free(message->member);
        g_free(message->text);
        g_free(message);
        return NULL;
}

sd_bus *sd_bus_message_get_bus(sd_bus_message *message) {
        return message->bus;
}

const char *sd_bus_message_get_sender(sd_bus_message *message) {
        return message->peer;
}

/* "s" or "su". */
int sd_bus_message_read(sd_bus_message *message, const char *types, ...) {
        va_list arguments;

        va_start(arguments, types);
        *va_arg(arguments, const char **) = message->text;
        if (strcmp(types, "su") == 0)
                *va_arg(arguments, uint32_t *) = message->number;
        va_end(arguments);
        return 1;
}

int sd_bus_reply_method_return(sd_bus_message *call, const char *types, ...) {
        va_list arguments;

        g_assert_cmpstr(types, ==, "s");
        va_start(arguments, types);
        bus_send(call->peer, call->call, NULL, va_arg(arguments, const char *));
        va_end(arguments);
        return 1;
}

int sd_bus_reply_method_errorf(sd_bus_message *call, const char *name, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        bus_send(call->peer, call->call, name, text);
        return 1;
}

int sd_bus_message_new_signal(sd_bus *bus, sd_bus_message **m, const char *path,
                              const char *interface, const char *member) {
        sd_bus_message *message = g_new0(sd_bus_message, 1);

        (void)path;
        (void)interface;
        *message = (sd_bus_message){.references = 1, .bus = bus, .member = g_strdup(member)};
        *m = message;
        return 0;
}

/* Of signals: "ssb". */
int sd_bus_message_append(sd_bus_message *message, const char *types, ...) {
        va_list arguments;
        const char *why;

        g_assert_cmpstr(types, ==, "ssb");
        va_start(arguments, types);
        message->text = g_strdup(va_arg(arguments, const char *));
        why = va_arg(arguments, const char *);
        (void)why;
        message->number = (uint32_t)va_arg(arguments, int);
        va_end(arguments);
        return 0;
}

int sd_bus_message_set_destination(sd_bus_message *message, const char *destination) {
        g_free(message->peer);
        message->peer = g_strdup(destination);
        return 0;
}

int sd_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *ret_cookie) {
        (void)bus;
        (void)ret_cookie;
        bus_send(message->peer, 0, message->member, message->number ? "at once" : "");
        return 1;
}
