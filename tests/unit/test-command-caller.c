/* Who asked for a command's lock, where the daemon's end of the bus (bus-fixture.h) is the test's
 * own: which connection it is, that its end is heard of, and what is answered and told to it. */
#include "bus-fixture.h"
#include "command-caller.h"
#include "json-line.h"
#include "lock-caller.h"

static CommandCaller *caller;
static Caller *one, *other;
static sd_bus_message *asked; /* what was asked last */
static unsigned vanished;

static void on_vanished(void *userdata) {
        cr_expect_eq(userdata, &vanished);
        vanished++;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        (void)error;
        if (!sd_bus_message_is_method_call(message, BUS_INTERFACE, NULL))
                return 0;
        sd_bus_message_unref(asked);
        asked = sd_bus_message_ref(message);
        return 1;
}

static void setup_callers(void) {
        setup_bus();
        cr_assert_geq(sd_bus_add_filter(bus, NULL, on_message, NULL), 0);
        cr_assert_geq(sd_bus_request_name(bus, BUS_NAME_ROOT, 0), 0);
        caller = command_caller_new(on_vanished, &vanished);
        one = caller_new();
        other = caller_new();
}

static void teardown_callers(void) {
        caller = command_caller_free(caller);
        asked = sd_bus_message_unref(asked);
        one = caller_free(one);
        other = caller_free(other);
        teardown_bus();
}

TestSuite(command_caller, .init = setup_callers, .fini = teardown_callers);

static bool is_asked(void) {
        return asked;
}

static Question *ask_us(Caller *who) {
        Question *question = caller_ask(who, "AcquireLock", "s", "");

        asked = sd_bus_message_unref(asked);
        await(is_asked, "a question");
        return question;
}

/* Who asks is the caller from now on. */
static Question *ask_and_be(Caller *who) {
        Question *question = ask_us(who);

        command_caller_set(caller, asked);
        return question;
}

static bool has_vanished(void) {
        return vanished > 0;
}

static const char *name_of(const Caller *who) {
        const char *name = NULL;

        cr_assert_geq(sd_bus_get_unique_name(who->bus, &name), 0);
        return name;
}

/* ---- who it is ---- */

Test(command_caller, nobody_is_nobody) {
        cr_expect_not(command_caller_is_known(caller));
        cr_expect_not(command_caller_is(caller, name_of(one)));
        cr_expect_not(command_caller_is(caller, NULL));
        cr_expect_not(command_caller_is_on(caller, bus));
        cr_expect_null(command_caller_free(NULL));
}

Test(command_caller, it_is_the_connection_that_asked) {
        (void)ask_and_be(one);
        cr_expect(command_caller_is_known(caller));
        cr_expect(command_caller_is(caller, name_of(one)));
        cr_expect_not(command_caller_is(caller, name_of(other)));
        cr_expect_not(command_caller_is(caller, BUS_NAME_ROOT));
        cr_expect(command_caller_is_on(caller, bus));
        cr_expect_not(command_caller_is_on(caller, one->bus));
        command_caller_forget(caller);
        cr_expect_not(command_caller_is_known(caller));
        cr_expect_not(command_caller_is(caller, name_of(one)));
        cr_expect_not(command_caller_is_on(caller, bus));
}

/* ---- that it leaves ---- */

Test(command_caller, that_it_leaves_the_bus_is_told_once) {
        (void)ask_and_be(one);
        other = caller_free(other);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(vanished, 0);
        cr_expect(command_caller_is_known(caller));
        one = caller_free(one);
        await(has_vanished, "it is told");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(vanished, 1);
        cr_expect_not(command_caller_is_known(caller));
}

/* It leaves no word behind that we could miss. */
Test(command_caller, one_that_has_left_before_we_look_is_noticed) {
        (void)ask_us(one);
        one = caller_free(one);
        /* The bus serves a connection in order: it knows of the end when it answers this. */
        cr_assert_geq(sd_bus_call_method(other->bus, "org.freedesktop.DBus",
                                         "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId",
                                         NULL, NULL, NULL),
                      0);
        serve_for(50 * USEC_PER_MSEC);
        command_caller_set(caller, asked);
        await(has_vanished, "it is told");
        cr_expect_eq(vanished, 1);
}

Test(command_caller, another_one_takes_its_place) {
        (void)ask_and_be(one);
        (void)ask_and_be(other);
        cr_expect_not(command_caller_is(caller, name_of(one)));
        cr_expect(command_caller_is(caller, name_of(other)));
        one = caller_free(one);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(vanished, 0);
        other = caller_free(other);
        await(has_vanished, "it is told");
}

Test(command_caller, of_one_that_is_forgotten_nothing_is_told) {
        (void)ask_and_be(one);
        command_caller_forget(caller);
        one = caller_free(one);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(vanished, 0);
}

/* ---- what it is answered ---- */

Test(command_caller, each_call_is_answered_once) {
        Question *acquires = ask_and_be(one), *attaches = NULL;

        command_caller_keep(caller, COMMAND_CALL_ACQUIRE, asked);
        attaches = ask_us(one);
        command_caller_keep(caller, COMMAND_CALL_ATTACH, asked);
        cr_expect(command_caller_waits(caller, COMMAND_CALL_ACQUIRE));
        cr_expect(command_caller_waits(caller, COMMAND_CALL_ATTACH));
        cr_expect_not(command_caller_waits(caller, COMMAND_CALL_ADOPT));
        command_caller_answer(caller, COMMAND_CALL_ACQUIRE, json_pack("{s:i}", "n", 1));
        cr_expect_not(command_caller_waits(caller, COMMAND_CALL_ACQUIRE));
        cr_expect_eq(json_integer_value(json_object_get(expect_answer(acquires), "n")), 1);
        cr_expect_not(attaches->answered);
        /* Nobody waits for these. */
        command_caller_answer(caller, COMMAND_CALL_ACQUIRE, json_pack("{s:i}", "n", 2));
        command_caller_refuse(caller, COMMAND_CALL_ADOPT, BUS_ERROR_FAILED, "no");
        command_caller_refuse(caller, COMMAND_CALL_ATTACH, BUS_ERROR_FAILED, "100 % sure");
        expect_error(attaches, BUS_ERROR_FAILED, "100 % sure");
        cr_expect_not(command_caller_waits(caller, COMMAND_CALL_ATTACH));
}

/* The process after us answers who is forgotten here. */
Test(command_caller, a_call_outlives_that_its_caller_is_forgotten) {
        Question *question = ask_and_be(one);

        command_caller_keep(caller, COMMAND_CALL_ACQUIRE, asked);
        command_caller_forget(caller);
        cr_expect(command_caller_waits(caller, COMMAND_CALL_ACQUIRE));
        command_caller_answer(caller, COMMAND_CALL_ACQUIRE, json_object());
        (void)expect_answer(question);
}

Test(command_caller, a_call_that_is_dropped_is_not_answered) {
        Question *before = ask_and_be(one), *after = NULL;

        command_caller_keep(caller, COMMAND_CALL_ADOPT, asked);
        after = ask_us(one);
        command_caller_keep(caller, COMMAND_CALL_ADOPT, asked);
        command_caller_answer(caller, COMMAND_CALL_ADOPT, json_object());
        (void)expect_answer(after);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_not(before->answered);
        after = ask_us(one);
        command_caller_keep(caller, COMMAND_CALL_ADOPT, asked);
        command_caller_drop(caller, COMMAND_CALL_ADOPT);
        cr_expect_not(command_caller_waits(caller, COMMAND_CALL_ADOPT));
        caller = command_caller_free(caller);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_not(after->answered);
}

Test(command_caller, what_waits_at_the_end_is_refused) {
        Question *questions[COMMAND_CALLS];

        for (CommandCall call = 0; call < COMMAND_CALLS; call++) {
                questions[call] = ask_and_be(one);
                command_caller_keep(caller, call, asked);
        }
        caller = command_caller_free(caller);
        expect_error(questions[COMMAND_CALL_ACQUIRE], BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        expect_error(questions[COMMAND_CALL_ATTACH], BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        expect_error(questions[COMMAND_CALL_ADOPT], BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
}

/* ---- what it is told ---- */

Test(command_caller, a_signal_is_for_the_caller_alone) {
        command_caller_tell(caller, "LockLost", "01", "nobody hears it", true);
        (void)ask_and_be(one);
        command_caller_tell(caller, "LockLost", "01", "why", true);
        expect_signal(one, "LockLost 01 why 1");
        command_caller_tell(caller, "LockRevoked", "01", "", false);
        expect_signal(one, "LockRevoked 01  0");
        command_caller_forget(caller);
        command_caller_tell(caller, "LockLost", "01", "why", true);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(one->signals->len, 0);
        cr_expect_eq(other->signals->len, 0);
}
