/* What Status says of the members of the cluster, and of those that are away. */
#include "status-report.h"

#include "json-line.h"
#include "members.h"
#include "status-fixture.h"

TestSuite(status_report, .init = setup_bus, .fini = teardown_bus);

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

static bool is_one(void) {
        return members_list(coordinator->members)->len == 1;
}

Test(status_report, members_are_shown_as_they_say) {
        json_t *object = NULL, *members = NULL;

        begin_with_a();
        server_write(NODES "/n2",
                     "{\"machine\":\"m\",\"boot\":\"b\",\"version\":\"0.2\",\"labels\":"
                     "{\"role\":\"db\"},\"unfit\":{\"x\":\"why\"},\"drifted\":[\"y\"],"
                     "\"absent\":[\"z\"],\"skewed\":true,\"busy\":\"max-runs\","
                     "\"outside\":4102444800}");
        await(are_two, "it is there");
        object = ask_status();
        members = json_object_get(object, "members");
        expect_text(json_array_get(members, 1),
                    "{\"absent\":[\"z\"],\"busy\":\"max-runs\",\"counts\":{\"absent\":1,"
                    "\"drifted\":1,\"unfit\":1},\"drifted\":[\"y\"],\"labels\":{"
                    "\"role\":\"db\"},\"node\":\"n2\",\"outside\":{\"until\":4102444800},"
                    "\"self\":false,\"skewed\":true,\"unfit\":{"
                    "\"x\":\"why\"},\"unnamed\":0,\"version\":\"0.2\"}");
        cr_expect_str_eq(string_of(json_array_get(members, 0), "node"), "n1");
        cr_expect(json_is_true(json_object_get(json_array_get(members, 0), "self")));
        json_decref(object);
}

/* A member that cannot run any of `n` jobs. */
static char *member_unfit_for(unsigned n) {
        g_autoptr(GString) text = g_string_new("{\"machine\":\"m\",\"boot\":\"b\",\"unfit\":{");

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%s\"j%03u\":\"%0300u\"", i ? "," : "", i, 0U);
        (void)g_string_append(text, "},\"drifted\":[\"j1\",\"j2\"]}");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

Test(status_report, of_what_another_node_cannot_run_the_first_are_named_and_all_counted) {
        g_autofree char *data = member_unfit_for(200);
        json_t *object = NULL, *member = NULL, *unfit = NULL;

        begin_with_a();
        server_write(NODES "/n2", data);
        await(are_two, "it is there");
        object = ask_status();
        member = json_array_get(json_object_get(object, "members"), 1);
        unfit = json_object_get(member, "unfit");
        cr_expect_eq(json_object_size(unfit), STATUS_NAMES_MAX);
        cr_expect_eq(json_string_length(json_object_get(unfit, "j000")), SAID_TEXT_MAX);
        cr_expect_not_null(json_object_get(unfit, "j019"));
        expect_text(json_object_get(member, "counts"),
                    "{\"absent\":0,\"drifted\":2,\"unfit\":200}");
        cr_expect_lt(strlen(said), 12000U, "%zu", strlen(said));
        json_decref(object);
}

static bool all_are_unfit(void) {
        const Member *self = members_list(coordinator->members)->pdata[0];

        return g_hash_table_size(self->unfit) == 30;
}

Test(status_report, of_what_this_node_cannot_run_all_is_named) {
        json_t *object = NULL, *member = NULL;

        for (unsigned i = 0; i < 30; i++) {
                g_autofree char *name = g_strdup_printf("j%02u", i);
                write_job_named(name, "    every: 1h\n    exec: [/does/not/exist]\n");
        }
        begin_with_a();
        await(all_are_unfit, "it is said");
        object = ask_status();
        member = json_array_get(json_object_get(object, "members"), 0);
        cr_expect_eq(json_object_size(json_object_get(member, "unfit")), 30U);
        json_decref(object);
}

Test(status_report, who_left_is_away_and_who_once_ran_something) {
        json_t *object = NULL, *away = NULL;
        double since = 0;

        begin_with_a();
        server_create("/jobkeeper/open/n9", "", 0);
        server_create("/jobkeeper/open/n2", "", 0);
        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it is there");
        object = ask_status();
        expect_text(json_object_get(object, "away"), "[{\"node\":\"n9\",\"since\":null}]");
        json_decref(object);

        server_delete(NODES "/n2");
        await(is_one, "it left");
        object = ask_status();
        away = json_object_get(object, "away");
        cr_expect_eq(json_array_size(away), 2U, "each once");
        since = json_number_value(json_object_get(find_with(away, "node", "n2"), "since"));
        cr_expect(since > (double)coordinator->node->started / (double)USEC_PER_SEC);
        cr_expect_not_null(find_with(away, "node", "n9"));
        json_decref(object);

        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it came back");
        object = ask_status();
        expect_text(json_object_get(object, "away"), "[{\"node\":\"n9\",\"since\":null}]");
        json_decref(object);
}

/* Without a session nobody is known to be there, so nobody to be away. */
Test(status_report, nobody_is_away_while_it_is_not_known_who_is_there) {
        json_t *object = NULL;

        begin_with_a();
        server_write(NODES "/n2", "{\"machine\":\"m\",\"boot\":\"b\"}");
        await(are_two, "it is there");
        server_delete(NODES "/n2");
        await(is_one, "it left");
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        turn();
        object = ask_status();
        expect_text(json_object_get(object, "away"), "[]");
        json_decref(object);
}
