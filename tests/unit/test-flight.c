/* flight.c: several requests that count only together. */
#include <criterion/criterion.h>

#include "flight.h"
#include "small-server.h"

typedef struct Passenger {
        unsigned told, replies;
        ZkCode code;
        Flight *flight;
} Passenger;

static Zk *zk;
static ZkState state = ZK_STATE_CONNECTED;

static void on_state(Zk *port, ZkState now, void *userdata) {
        (void)port;
        (void)userdata;
        state = now;
}

static void begin(void) {
        const ZkOptions options = {.servers = "127.0.0.1:1", .state = on_state};

        server_begin();
        server_create("/a", "x", 0);
        cr_assert_eq(zk_connect(NULL, &options, &zk), 0);
        zk->state = ZK_STATE_CONNECTED;
}

static void end(void) {
        zk = zk_free(zk);
        server_end();
}

static void passenger_on_done(ZkCode code, void *userdata) {
        Passenger *passenger = userdata;

        passenger->told++;
        passenger->code = code;
        passenger->flight = flight_free(passenger->flight); /* as an owner does */
}

static void passenger_on_reply(const ZkReply *reply, void *userdata) {
        Passenger *passenger = userdata;

        (void)reply;
        cr_expect_eq(passenger->told, 0, "the flight is over before its last answer");
        passenger->replies++;
}

static void board(Passenger *passenger) {
        passenger->flight = flight_new(zk, passenger_on_done, passenger);
        flight_sync(passenger->flight, "/a");
        flight_get(passenger->flight, "/a", passenger_on_reply, passenger);
        flight_exists(passenger->flight, "/none", passenger_on_reply, passenger);
        flight_get_children(passenger->flight, "/", passenger_on_reply, passenger);
        cr_assert_eq(flight_depart(passenger->flight), 0);
}

Test(flight, told_once_after_the_last_answer, .init = begin, .fini = end) {
        Passenger passenger = {0};

        board(&passenger);
        cr_expect_eq(passenger.told, 0);
        server_serve();
        cr_expect_eq(passenger.told, 1);
        cr_expect_eq(passenger.replies, 3);
        cr_expect_eq(passenger.code, ZK_OK, "no such node is an answer");
}

Test(flight, what_may_be_refused_is_not_the_whole_flights, .init = begin, .fini = end) {
        Passenger passenger = {0};

        server.unreadable = "/a";
        passenger.flight = flight_new(zk, passenger_on_done, &passenger);
        flight_try_get(passenger.flight, "/a", passenger_on_reply, &passenger);
        cr_assert_eq(flight_depart(passenger.flight), 0);
        server_serve();
        cr_expect_eq(passenger.code, ZK_OK);
        passenger = (Passenger){0};
        board(&passenger);
        server_serve();
        cr_expect_eq(passenger.code, ZK_NO_AUTH, "what is needed for the rest is");
}

static ServerWay lose_reads_of_a(const ZkCall *call) {
        return call->request == REQUEST_GET ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

Test(flight, one_lost_answer_is_the_whole_flights, .init = begin, .fini = end) {
        Passenger passenger = {0};

        server.way = lose_reads_of_a;
        board(&passenger);
        server_serve();
        cr_expect_eq(passenger.told, 1);
        cr_expect_eq(passenger.code, ZK_UNKNOWN);
}

static ServerWay refuse_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(flight, a_refusal_is_told, .init = begin, .fini = end) {
        Passenger passenger = {0};

        server.way = refuse_lists;
        server.refusal = ZK_NO_AUTH;
        board(&passenger);
        server_serve();
        cr_expect_eq(passenger.code, ZK_NO_AUTH);
}

Test(flight, freed_it_tells_nobody, .init = begin, .fini = end) {
        Passenger passenger = {0};

        board(&passenger);
        passenger.flight = flight_free(passenger.flight);
        server_serve();
        cr_expect_eq(passenger.told + passenger.replies, 0);
}

Test(flight, without_a_port_it_does_not_depart, .init = begin, .fini = end) {
        _cleanup_(flight_freep) Flight *flight = flight_new(NULL, passenger_on_done, NULL);

        flight_get(flight, "/a", NULL, NULL);
        cr_expect_eq(flight_depart(flight), -ENOTCONN);
}

Test(flight, empty_it_does_not_depart, .init = begin, .fini = end) {
        _cleanup_(flight_freep) Flight *flight = flight_new(zk, passenger_on_done, NULL);

        cr_expect_eq(flight_depart(flight), -ENODATA);
}
