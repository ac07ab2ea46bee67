/* The queue of calls to PID 1, against a peer on a socket pair that answers or keeps silent. What
 * is in flight when a connection is given up is answered by nobody but the queue. */
#include <criterion/criterion.h>
#include <glib.h>
#include <sys/socket.h>

#include "bus-call.h"
#include "event-loop.h"
#include "unit.h"

#define PATIENCE (30 * USEC_PER_SEC)

typedef struct Scene {
        sd_event *event;
        BusQueue *queue;
        sd_bus *client, *peer;
        unsigned heard;
        bool silent;
} Scene;

/* A call and what became of it. */
typedef struct Asked {
        BusCall *call;
        unsigned answers;
        bool good;
        char error[64];
        struct Asked *frees; /* a call that goes when this one is answered */
} Asked;

static int on_heard(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Scene *scene = userdata;

        if (!sd_bus_message_is_method_call(message, "a.b", "Ask"))
                return 0;
        scene->heard++;
        return scene->silent ? 1 : sd_bus_reply_method_return(message, NULL);
}

static void scene_connect(Scene *scene) {
        sd_id128_t id;
        int fds[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        cr_assert(sd_id128_randomize(&id) >= 0);
        cr_assert(sd_bus_new(&scene->peer) >= 0 && sd_bus_new(&scene->client) >= 0);
        cr_assert(sd_bus_set_fd(scene->peer, fds[0], fds[0]) >= 0);
        cr_assert(sd_bus_set_server(scene->peer, 1, id) >= 0);
        cr_assert(sd_bus_set_anonymous(scene->peer, 1) >= 0);
        cr_assert(sd_bus_add_filter(scene->peer, NULL, on_heard, scene) >= 0);
        cr_assert(sd_bus_start(scene->peer) >= 0);
        cr_assert(sd_bus_attach_event(scene->peer, scene->event, 0) >= 0);
        cr_assert(sd_bus_set_fd(scene->client, fds[1], fds[1]) >= 0);
        cr_assert(sd_bus_start(scene->client) >= 0);
        cr_assert(sd_bus_attach_event(scene->client, scene->event, 0) >= 0);
        bus_queue_set_bus(scene->queue, scene->client);
}

/* As the manager gives a connection up. */
static void scene_drop(Scene *scene) {
        bus_queue_set_bus(scene->queue, NULL);
        (void)sd_bus_detach_event(scene->client);
        scene->client = sd_bus_close_unref(scene->client);
        (void)sd_bus_detach_event(scene->peer);
        scene->peer = sd_bus_close_unref(scene->peer);
}

static void scene_init(Scene *scene) {
        *scene = (Scene){.silent = true};
        scene->event = loop_new();
        cr_assert(bus_queue_new(scene->event, &scene->queue) >= 0);
        scene_connect(scene);
}

static void scene_clear(Scene *scene) {
        scene_drop(scene);
        bus_queue_free(scene->queue);
        scene->event = loop_end(scene->event);
}

static void wait_until(Scene *scene, const unsigned *count, unsigned n) {
        usec_t end = clock_monotonic() + PATIENCE;

        while (*count < n && clock_monotonic() < end)
                cr_assert(sd_event_run(scene->event, 50 * USEC_PER_MSEC) >= 0);
        cr_assert_eq(*count, n);
}

/* Runs the loop until it has nothing to do. */
static void settle(Scene *scene) {
        while (sd_event_run(scene->event, 10 * USEC_PER_MSEC) > 0) {
        }
}

static int build(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        return sd_bus_message_new_method_call(bus, ret_message, NULL, "/a", "a.b", "Ask");
}

static void on_answer(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        Asked *asked = userdata;

        asked->answers++;
        asked->good = reply != NULL;
        if (error)
                (void)g_strlcpy(asked->error, error->name, sizeof asked->error);
        if (asked->frees)
                asked->frees->call = bus_call_free(asked->frees->call);
}

static void ask(Scene *scene, Asked *asked) {
        *asked = (Asked){0};
        asked->call = bus_call_new(scene->queue, build, on_answer, asked, PATIENCE, 0);
}

static void expect_cut(const Asked *asked) {
        cr_expect_eq(asked->answers, 1);
        cr_expect_str_eq(asked->error, SD_BUS_ERROR_DISCONNECTED);
        cr_expect(bus_call_done(asked->call));
}

Test(bus_call, an_answer_comes_once) {
        Scene scene;
        Asked asked;

        scene_init(&scene);
        scene.silent = false;
        ask(&scene, &asked);
        cr_expect(!bus_call_sent(asked.call));
        wait_until(&scene, &asked.answers, 1);
        cr_expect(asked.good && bus_call_done(asked.call));
        scene_drop(&scene);
        settle(&scene);
        cr_expect_eq(asked.answers, 1);
        scene_connect(&scene);
        bus_call_free(asked.call);
        scene_clear(&scene);
}

Test(bus_call, what_is_in_flight_ends_with_its_connection) {
        Asked asked[3], late;
        Scene scene;

        scene_init(&scene);
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++)
                ask(&scene, &asked[i]);
        wait_until(&scene, &scene.heard, 3);
        scene_drop(&scene);
        ask(&scene, &late);
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++)
                cr_expect(asked[i].answers == 0 && !bus_call_done(asked[i].call) &&
                              bus_call_sent(asked[i].call),
                          "nothing comes from inside");
        settle(&scene);
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++)
                expect_cut(&asked[i]);
        cr_expect(late.answers == 0 && !bus_call_sent(late.call), "it waits for the next one");
        scene.silent = false;
        scene_connect(&scene);
        wait_until(&scene, &late.answers, 1);
        cr_expect(late.good);
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++)
                bus_call_free(asked[i].call);
        bus_call_free(late.call);
        scene_clear(&scene);
}

Test(bus_call, a_lost_connection_gives_its_places_back) {
        enum { N = UNIT_CALLS_IN_FLIGHT_MAX + 2 };
        g_autofree Asked *asked = g_new0(Asked, N);
        unsigned cut = 0;
        Scene scene;

        scene_init(&scene);
        for (size_t i = 0; i < N; i++)
                ask(&scene, &asked[i]);
        wait_until(&scene, &scene.heard, UNIT_CALLS_IN_FLIGHT_MAX);
        settle(&scene);
        cr_expect_eq(scene.heard, UNIT_CALLS_IN_FLIGHT_MAX);
        scene_drop(&scene);
        scene_connect(&scene); /* before the cut ones have been told */
        wait_until(&scene, &scene.heard, N);
        for (size_t i = 0; i < N; i++)
                cut += asked[i].answers;
        cr_expect_eq(cut, UNIT_CALLS_IN_FLIGHT_MAX);
        for (size_t i = 0; i < N; i++)
                bus_call_free(asked[i].call);
        scene_clear(&scene);
}

Test(bus_call, a_cut_call_may_be_freed_at_any_time) {
        Asked asked[4];
        Scene scene;

        scene_init(&scene);
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++)
                ask(&scene, &asked[i]);
        wait_until(&scene, &scene.heard, 4);
        asked[1].frees = &asked[2];
        asked[3].frees = &asked[3];
        scene_drop(&scene);
        asked[0].call = bus_call_free(asked[0].call);
        settle(&scene);
        cr_expect_eq(asked[0].answers, 0);
        expect_cut(&asked[1]);
        cr_expect_eq(asked[2].answers, 0);
        cr_expect_eq(asked[3].answers, 1);
        bus_call_free(asked[1].call);
        scene_connect(&scene);
        scene_clear(&scene);
}

static GString *order;

static int build_letter(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        (void)g_string_append(order, userdata);
        return build(bus, userdata, ret_message);
}

static void on_nothing(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
}

static BusCall *ask_letter(Scene *scene, const char *letter, BusCallFlags flags) {
        return bus_call_new(scene->queue, build_letter, on_nothing, (void *)letter, PATIENCE,
                            flags);
}

Test(bus_call, what_is_urgent_goes_first_and_in_its_order) {
        BusCall *calls[5];
        Scene scene;

        scene_init(&scene);
        order = g_string_new(NULL);
        calls[0] = ask_letter(&scene, "a", BUS_CALL_ORDINARY);
        calls[1] = ask_letter(&scene, "b", BUS_CALL_ORDINARY);
        calls[2] = ask_letter(&scene, "C", BUS_CALL_URGENT);
        calls[3] = ask_letter(&scene, "D", BUS_CALL_URGENT);
        calls[4] = ask_letter(&scene, "e", BUS_CALL_ORDINARY);
        wait_until(&scene, &scene.heard, 5);
        cr_expect_str_eq(order->str, "CDabe");
        for (size_t i = 0; i < G_N_ELEMENTS(calls); i++)
                bus_call_free(calls[i]);
        g_string_free(order, TRUE);
        scene_clear(&scene);
}

#define MANY 100000

/* All runs of a machine are stopped in one turn: what each costs does not grow with those before
 * it. */
Test(bus_call, many_urgent_calls_cost_as_much_as_each) {
        g_autofree BusCall **calls = g_new0(BusCall *, MANY);
        usec_t before = clock_monotonic();
        Scene scene;

        scene_init(&scene);
        order = g_string_new(NULL);
        for (unsigned i = 0; i < MANY; i++)
                calls[i] = ask_letter(&scene, ".", BUS_CALL_URGENT);
        for (unsigned i = 0; i < MANY; i++)
                bus_call_free(calls[i]);
        cr_expect_lt(clock_monotonic() - before, 5 * USEC_PER_SEC);
        g_string_free(order, TRUE);
        scene_clear(&scene);
}
