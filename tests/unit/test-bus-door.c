/* A connection to the bus that owns a name there: a bus that comes late or goes, and a name that is
 * not to be had at first. */
#include "bus-door.h"

#include "bus-fixture.h"
#include "journal.h"

#define NAME "org.jobkeeper.Door"

TestSuite(bus_door, .init = setup_bus, .fini = teardown_bus);

static BusDoor *door;
static unsigned settled, lost;

static int on_greet(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)error;
        return sd_bus_reply_method_return(message, "s", userdata);
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Greet", NULL, "s", on_greet, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static void on_settled(void *userdata) {
        (void)userdata;
        settled++;
}

static void on_lost(sd_bus *connection, void *userdata) {
        (void)userdata;
        cr_assert_not_null(connection);
        lost++;
}

static void open_door(void) {
        static char greeting[] = "hello";
        const BusDoorOptions options = {
            .name = NAME,
            .path = BUS_PATH,
            .interface = BUS_INTERFACE,
            .vtable = vtable,
            .object = greeting,
            .settled = on_settled,
            .lost = on_lost,
        };

        door = bus_door_new(event, &options);
}

static void close_door(void) {
        door = bus_door_free(door);
}

static bool is_settled(void) {
        return settled > 0;
}

static void ask_door(void) {
        ask_as(bus, NAME, "Greet", NULL);
}

static bool it_answers(void) {
        if (said && g_str_equal(said, "hello"))
                return true;
        if (said)
                ask_door();
        return false;
}

static void expect_no_name(void) {
        ask_door();
        expect_said(SD_BUS_ERROR_SERVICE_UNKNOWN);
}

/* ---- the bus ---- */

/* Its last close() could wait for as long as its sender likes. */
Test(bus_door, a_descriptor_is_not_delivered) {
        open_door();
        await(is_settled, "it is settled");
        ask_as(bus, NAME, "Greet", "h", STDERR_FILENO);
        expect_said(SD_BUS_ERROR_NOT_SUPPORTED);
        ask_door();
        expect_said("hello");
        close_door();
}

Test(bus_door, who_has_the_name_answers) {
        open_door();
        cr_expect_eq(settled, 0U, "the bus has not answered yet");
        await(is_settled, "it is settled");
        ask_door();
        expect_said("hello");
        cr_expect_eq(settled, 1U);
        cr_expect_eq(lost, 0U);
        close_door();
        cr_expect_eq(lost, 1U);
        expect_no_name();
}

Test(bus_door, a_bus_that_is_not_there_holds_up_nothing_and_is_waited_for) {
        bus_end();
        open_door();
        cr_expect_eq(settled, 1U);
        serve_for(USEC_PER_SEC / 10);
        bus_begin();
        ask_door();
        await(it_answers, "it answers");
        close_door();
}

static bool is_told_again(void) {
        return settled > 1;
}

Test(bus_door, a_bus_that_goes_is_found_again) {
        open_door();
        await(is_settled, "it is settled");
        bus_end();
        await(is_told_again, "the end of the connection is seen");
        bus_begin();
        ask_door();
        await(it_answers, "it answers");
        cr_expect_eq(lost, 1U, "who asked on the first connection is told nothing any more");
        cr_expect_eq(journal_count("-"), 0U, "which is nothing to complain of");
        close_door();
}

/* ---- the name ---- */

static sd_bus *other;

static bool are_two_refused(void) {
        return settled >= 2;
}

/* A second daemon, started by hand beside the first, or that of before that has not gone yet. */
Test(bus_door, a_name_that_another_has_is_waited_for) {
        other = another_caller();
        cr_assert_geq(sd_bus_request_name(other, NAME, 0), 0);
        open_door();
        await(is_settled, "it is settled for now");
        cr_expect(journal_has("warning: cannot acquire the bus name " NAME ": "));
        await(are_two_refused, "it is tried again");
        cr_expect_eq(journal_count("-"), 1U, "and said once");
        sd_bus_flush_close_unref(other);
        ask_door();
        await(it_answers, "it answers");
        close_door();
}

/* A package's installation starts us before the bus has read our policy. */
Test(bus_door, a_name_that_is_refused_at_first_is_asked_for_again) {
        bus_end();
        bus_set_policy("<policy context='default'><allow send_destination='*' eavesdrop='true'/>"
                       "<allow eavesdrop='true'/><allow own='*'/><deny own='" NAME "'/></policy>");
        bus_begin();
        open_door();
        await(is_settled, "it is settled for now");
        cr_expect(journal_has("warning: cannot acquire the bus name " NAME ": "));
        cr_expect(journal_has(", retrying"));
        expect_no_name();
        bus_set_policy(NULL);
        ask_door();
        await(it_answers, "it answers");
        cr_expect_eq(journal_count("-"), 1U);
        close_door();
}

Test(bus_door, there_may_be_none) {
        cr_expect_null(bus_door_free(NULL));
}
