/* Surveys against a real server: what stands there is told as it stands, and a survey that is given
 * up leaves nothing behind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "helper-wire.h"
#include "helper-zookeeper-main.h"
#include "lock-look.h"
#include "lock-survey.h"

#define TIMEOUT (20 * USEC_PER_SEC)
#define FOREVER USEC_INFINITY
#define MANY 300

typedef struct Survey {
        LockSurvey *survey;
        unsigned count;
        int error;
        bool free_in_callback;
} Survey;

static void on_survey(LockSurvey *survey, int error, void *userdata) {
        Survey *ours = userdata;

        cr_assert_eq(survey, ours->survey);
        ours->count++;
        ours->error = error;
        if (ours->free_in_callback)
                ours->survey = lock_survey_free(ours->survey);
}

static bool is_done(void *userdata) {
        return ((Survey *)userdata)->count > 0;
}

static void await_survey(World *world, Survey *survey, int error) {
        cr_assert(loop_until(world->event, is_done, survey, WORLD_LIMIT), "no answer");
        cr_assert_eq(survey->count, 1);
        cr_assert_eq(survey->error, error, "%d", survey->error);
}

static void begin(World *world, Survey *survey, Session *session, const LockPlace *places,
                  size_t n_places) {
        *survey = (Survey){.free_in_callback = survey->free_in_callback};
        cr_assert_eq(lock_survey_new(session, world->parent, NULL, places, n_places, on_survey,
                                     survey, &survey->survey),
                     0);
        cr_assert_eq(survey->count, 0, "told from inside a function");
}

static const GPtrArray *look(World *world, Survey *survey, Session *session) {
        begin(world, survey, session, NULL, 0);
        await_survey(world, survey, 0);
        return lock_survey_entries(survey->survey);
}

static void done(Survey *survey) {
        survey->survey = lock_survey_free(survey->survey);
}

Test(lock_survey, holders_and_waiters_are_told_in_their_order) {
        World world;
        Survey survey = {0};
        Holder writer = {0}, reader = {0}, other = {0};
        const GPtrArray *entries;
        const LockEntry *first, *second, *third;

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &other, 1, "~b");
        holder_take(&world, &writer, 0, "a");
        holder_acquire(&world, &reader, world_session(&world, 1), "~a", FOREVER);
        world_await_children(&world, world_session(&world, 0), "a", 2);
        world_settle(&world, world_session(&world, 1));

        entries = look(&world, &survey, world_session(&world, 0));
        cr_assert_eq(entries->len, 3);
        first = entries->pdata[0];
        second = entries->pdata[1];
        third = entries->pdata[2];
        cr_assert_str_eq(first->resource, "a");
        cr_assert_str_eq(first->path, lock_set_paths(writer.set)[0]);
        cr_assert_str_eq(first->payload, "{\"test\":1}");
        cr_assert_eq(first->mode, LOCK_EXCLUSIVE);
        cr_assert(first->holds);
        cr_assert_eq(first->session, session_id(world_session(&world, 0)));
        cr_assert_eq(first->token, lock_set_fencing_token(writer.set));
        cr_assert_leq(first->since, clock_realtime() + USEC_PER_SEC);
        cr_assert_geq(first->since + 60 * USEC_PER_SEC, clock_realtime());
        cr_assert_eq(second->mode, LOCK_SHARED);
        cr_assert_not(second->holds);
        cr_assert_eq(second->before, 1);
        cr_assert_eq(second->session, session_id(world_session(&world, 1)));
        cr_assert_str_eq(third->resource, "b");
        cr_assert(third->holds);
        done(&survey);
        holder_release(&writer);
        holder_release(&reader);
        holder_release(&other);
        world_close(&world);
}

Test(lock_survey, slots_are_told_with_their_number) {
        World world;
        Survey survey = {0};
        Holder holders[4] = {{0}};
        const GPtrArray *entries;

        world_open_shared(&world, 2, TIMEOUT);
        for (size_t i = 0; i < 4; i++) {
                holder_acquire_with(&world, &holders[i], world_session(&world, i % 2),
                                    (LockRequest){.resource = "a", .slots = 3},
                                    (LockOptions){.wait = FOREVER});
                world_await_children(&world, world_session(&world, 0), "a", i + 1);
        }
        entries = look(&world, &survey, world_session(&world, 1));
        cr_assert_eq(entries->len, 4);
        for (size_t i = 0; i < 4; i++) {
                const LockEntry *entry = entries->pdata[i];

                cr_assert(entry->slot);
                cr_assert_eq(entry->slots, 3);
                cr_assert_eq(entry->holds, i < 3);
        }
        done(&survey);
        for (size_t i = 0; i < 4; i++)
                holder_release(&holders[i]);
        world_close(&world);
}

Test(lock_survey, a_single_node_and_a_place_elsewhere_are_told) {
        World world;
        Survey survey = {0};
        Holder single = {0}, away = {0};
        g_autofree char *path = NULL;
        const GPtrArray *entries;

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        path = g_strconcat(world.parent, "/elsewhere", NULL);
        holder_acquire_with(&world, &single, world_session(&world, 0),
                            (LockRequest){.resource = "s", .naming = LOCK_NAMING_SINGLE_NODE},
                            (LockOptions){.wait = FOREVER});
        holder_acquire_with(
            &world, &away, world_session(&world, 1),
            (LockRequest){.resource = "k", .naming = LOCK_NAMING_KAZOO, .path = path},
            (LockOptions){.wait = FOREVER});
        holder_await(&world, &single, LOCK_EVENT_HELD);
        holder_await(&world, &away, LOCK_EVENT_HELD);
        begin(&world, &survey, world_session(&world, 0),
              (const LockPlace[]){{"s", NULL}, {"k", path}, {"absent", NULL}}, 3);
        await_survey(&world, &survey, 0);
        entries = lock_survey_entries(survey.survey);
        cr_assert_eq(entries->len, 2);
        cr_assert_str_eq(((LockEntry *)entries->pdata[0])->resource, "k");
        cr_assert_eq(((LockEntry *)entries->pdata[0])->naming, LOCK_NAMING_KAZOO);
        cr_assert_str_eq(((LockEntry *)entries->pdata[0])->path, lock_set_paths(away.set)[0]);
        cr_assert_str_eq(((LockEntry *)entries->pdata[1])->resource, "s");
        cr_assert_eq(((LockEntry *)entries->pdata[1])->naming, LOCK_NAMING_SINGLE_NODE);
        cr_assert(((LockEntry *)entries->pdata[1])->holds);
        done(&survey);
        holder_release(&single);
        holder_release(&away);
        world_close(&world);
}

static bool begins_with_a(const char *name) {
        return name[0] == 'a';
}

Test(lock_survey, what_is_no_resource_s_name_is_not_looked_at) {
        World world;
        Survey survey = {0};
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a $(reboot)");
        cr_assert_eq(look(&world, &survey, world_session(&world, 0))->len, 2);
        done(&survey);
        cr_assert_eq(lock_survey_new(world_session(&world, 0), world.parent, begins_with_a, NULL, 0,
                                     on_survey, &survey, &survey.survey),
                     0);
        survey.count = 0;
        await_survey(&world, &survey, 0);
        cr_assert_eq(lock_survey_entries(survey.survey)->len, 1);
        cr_assert_str_eq(((LockEntry *)lock_survey_entries(survey.survey)->pdata[0])->resource,
                         "a");
        done(&survey);
        holder_release(&holder);
        world_close(&world);
}

typedef struct Look {
        LockLook *look;
        json_t *report;
} Look;

static void on_look(LockLook *look, int error, void *userdata) {
        Look *ours = userdata;

        cr_assert_eq(error, 0, "%d", error);
        ours->report = lock_look_report(look);
        ours->look = lock_look_free(look);
}

static bool has_report(void *userdata) {
        return ((Look *)userdata)->report;
}

/* Whoever reaches ZooKeeper can make a directory of any name; a shell may have it as a word. */
Test(lock_look, only_names_of_resources_are_told) {
        static const char *const names[] = {"$(reboot)", "A", "job:", "job:$x", "-a", "a b"};
        World world;
        Holder good = {0}, bad[G_N_ELEMENTS(names)] = {{0}};
        Look look = {0};
        g_autofree char *root = NULL;

        world_open_shared(&world, 1, TIMEOUT);
        root = g_steal_pointer(&world.parent);
        world.parent = g_strconcat(root, "/locks", NULL);
        holder_take(&world, &good, 0, "job:nightly orders-db");
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                holder_acquire_with(&world, &bad[i], world_session(&world, 0),
                                    (LockRequest){.resource = names[i]},
                                    (LockOptions){.wait = FOREVER});
                holder_await(&world, &bad[i], LOCK_EVENT_HELD);
        }
        cr_assert_eq(lock_look_new(world_session(&world, 0), &(DaemonConfig){.root = root}, NULL,
                                   true, NULL, on_look, &look, &look.look),
                     0);
        cr_assert(loop_until(world.event, has_report, &look, WORLD_LIMIT));
        cr_assert_eq(json_array_size(json_object_get(look.report, "resources")), 2);
        json_decref(look.report);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                holder_release(&bad[i]);
        holder_release(&good);
        world_close(&world);
}

Test(lock_survey, nothing_there_is_no_error) {
        World world;
        Survey survey = {0};

        world_open_shared(&world, 2, TIMEOUT);
        cr_assert_eq(look(&world, &survey, world_session(&world, 0))->len, 0);
        done(&survey);
        world_make_resource(&world, "a");
        cr_assert_eq(look(&world, &survey, world_session(&world, 0))->len, 0);
        done(&survey);
        world_close(&world);
}

/* More than may be in flight; foreign ones, each with data that is no text. */
Test(lock_survey, many_entries_all_come_and_their_payloads_are_text) {
        World world;
        Survey survey = {0};
        const GPtrArray *entries;
        g_autofree char *long_text = g_strnfill(LOCK_ENTRY_PAYLOAD_MAX + 100, 'x');

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        for (size_t i = 0; i < MANY; i++) {
                g_autofree char *path = g_strdup_printf("%s/a/x-%03zu", world.parent, i);

                cr_assert_eq(zk_create(session_zk(world_session(&world, 1)), path,
                                       i == 0 ? long_text : "\xff\xfe{", ZK_CREATE_EPHEMERAL, NULL,
                                       NULL, NULL),
                             0);
        }
        world_settle(&world, world_session(&world, 1));
        entries = look(&world, &survey, world_session(&world, 0));
        cr_assert_eq(entries->len, MANY);
        for (size_t i = 0; i < MANY; i++) {
                const LockEntry *entry = entries->pdata[i];

                cr_assert(entry->foreign);
                cr_assert(g_utf8_validate(entry->payload, -1, NULL));
                cr_assert_leq(strlen(entry->payload), LOCK_ENTRY_PAYLOAD_MAX);
                cr_assert_eq(entry->payload[0] == 'x', i == 0);
        }
        done(&survey);
        world_disconnect(&world, 1);
        world_close(&world);
}

/* Contenders come and go while the survey asks about them. */
Test(lock_survey, who_vanishes_meanwhile_is_left_out) {
        World world;
        Survey survey = {0};
        Holder holders[40] = {{0}};

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        for (size_t round = 0; round < 10; round++) {
                for (size_t i = 0; i < 40; i++)
                        holder_acquire(&world, &holders[i], world_session(&world, 1), "~a",
                                       FOREVER);
                world_await_children(&world, world_session(&world, 0), "a", 40);
                begin(&world, &survey, world_session(&world, 0), NULL, 0);
                for (size_t i = 0; i < round; i++)
                        (void)sd_event_run(world.event, USEC_PER_MSEC);
                for (size_t i = 0; i < 40; i++)
                        holder_release(&holders[i]);
                await_survey(&world, &survey, 0);
                cr_assert_leq(lock_survey_entries(survey.survey)->len, 40);
                done(&survey);
                world_await_children(&world, world_session(&world, 0), "a", 0);
        }
        world_close(&world);
}

Test(lock_survey, it_may_be_freed_at_any_time) {
        World world;
        Survey survey = {0};
        Holder holder = {0};

        world_open_shared(&world, 2, TIMEOUT);
        holder_take(&world, &holder, 0, "a b c");
        for (size_t i = 0; i < 20; i++) {
                begin(&world, &survey, world_session(&world, 1), NULL, 0);
                for (size_t n = 0; n < i; n++)
                        (void)sd_event_run(world.event, USEC_PER_MSEC);
                done(&survey);
        }
        survey.free_in_callback = true;
        begin(&world, &survey, world_session(&world, 1), NULL, 0);
        await_survey(&world, &survey, 0);
        cr_assert_null(survey.survey);
        holder_release(&holder);
        world_close(&world);
}

Test(lock_survey, what_we_may_not_list_is_named_and_what_we_may_not_read_is_shown) {
        World world;
        Survey survey = {0};
        Holder holder = {0}, closed = {0};
        const GPtrArray *entries;
        g_autofree char *directory = NULL;

        world_open_shared(&world, 1, TIMEOUT);
        world_connect_as(&world, 1, zookeeper_shared(), TIMEOUT, "user:password");
        world_make_resource(&world, "a");
        holder_take(&world, &holder, 1, "a");
        entries = look(&world, &survey, world_session(&world, 0));
        cr_assert_eq(entries->len, 1);
        cr_assert_str_empty(((LockEntry *)entries->pdata[0])->payload);
        cr_assert_eq(((LockEntry *)entries->pdata[0])->token, lock_set_fencing_token(holder.set));
        cr_assert(((LockEntry *)entries->pdata[0])->holds);
        done(&survey);

        holder_take(&world, &closed, 1, "closed");
        entries = look(&world, &survey, world_session(&world, 0));
        cr_assert_eq(entries->len, 1, "the others are told of all the same");
        cr_assert_eq(lock_survey_unreadable(survey.survey)->len, 1);
        cr_assert_str_eq(lock_survey_unreadable(survey.survey)->pdata[0], "closed");
        done(&survey);
        cr_assert_eq(look(&world, &survey, world_session(&world, 1))->len, 2);
        done(&survey);
        holder_release(&closed);
        holder_release(&holder);
        world_await_children(&world, world_session(&world, 1), "closed", 0);
        directory = world_path(&world, "closed");
        cr_assert_eq(world_delete(&world, world_session(&world, 1), directory), ZK_OK);
        world_close(&world);
}

Test(lock_survey, what_a_cut_connection_swallowed_is_asked_again) {
        Wire wire;
        Survey survey = {0};
        Holder holder = {0};

        wire_open(&wire, zookeeper_shared(), 2, TIMEOUT);
        wire_hold(&wire, &holder, 0, "a b c");
        proxy_order(wire.proxies[1], OPCODE_GET, PROXY_LOSE_ANSWER, 1);
        cr_assert_eq(look(&wire.world, &survey, wire_session(&wire, 1))->len, 3);
        cr_assert_eq(proxy_ordered(wire.proxies[1]), 0, "nothing was lost");
        done(&survey);
        proxy_order(wire.proxies[1], OPCODE_LIST, PROXY_CUT_BEFORE, 1);
        cr_assert_eq(look(&wire.world, &survey, wire_session(&wire, 1))->len, 3);
        done(&survey);
        holder_release(&holder);
        wire_close(&wire);
}

Test(lock_survey, a_session_that_ends_ends_the_survey) {
        World world;
        Survey survey = {0};

        world_open_shared(&world, 2, TIMEOUT);
        world_make_resource(&world, "a");
        begin(&world, &survey, world_session(&world, 1), NULL, 0);
        world.clients[1].session = session_free(world_session(&world, 1));
        cr_assert_eq(survey.count, 1);
        cr_assert_eq(survey.error, -ENOTCONN);
        done(&survey);
        world_connect(&world, 1, zookeeper_shared(), TIMEOUT, NULL);
        begin(&world, &survey, world_session(&world, 1), NULL, 0);
        session_close(world_session(&world, 1));
        world_await_event(&world, 1, SESSION_EVENT_CLOSED, 1);
        cr_assert_eq(survey.count, 1);
        done(&survey);
        cr_assert_eq(lock_survey_new(world_session(&world, 1), "/", NULL, NULL, 0, on_survey,
                                     &survey, &survey.survey),
                     -ENOTCONN);
        cr_assert_null(survey.survey);
        world_close(&world);
}

ZOOKEEPER_MAIN;
