/* See follow-fixture.h. */
#include "follow-fixture.h"

#include "job-links.h"
#include "paths.h"
#include "runs.h"

int64_t follow_tick;

bool follow_has_started(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

bool follow_is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

bool follow_both_are_over(void) {
        return started->len == 2 && follow_is_over();
}

bool follow_has_two_starts(void) {
        return started->len == 2 && follow_has_started();
}

bool follow_has_three_starts(void) {
        return started->len == 3 && follow_has_started();
}

char *follow_request_path(const char *job) {
        g_autofree char *run = run_id_for_tick(follow_tick, 1), *id = ask_id("a", run, job);

        return path_request(FOLLOW_ROOT, id);
}

char *follow_run(const char *job) {
        g_autofree char *run = run_id_for_tick(follow_tick, 1);

        return run_id_for_ask("a", run, job);
}

void follow_start(const char *more) {
        follow_tick = due_soon(more);
        await(follow_has_started, "a start");
}

bool follow_has_variable(const char *assignment) {
        return g_strv_contains((const char *const *)service_newest()->environment, assignment);
}

void follow_ask_for_b(unsigned runs) {
        g_autofree char *path = follow_request_path("b"),
                        *data = g_strdup_printf(
                            "{\"job\":\"b\",\"run\":\"5-m1\",\"why\":\"after\",\"not_after\":"
                            "%" G_GINT64_FORMAT ",\"within\":60,\"parent\":{\"job\":\"x\","
                            "\"run\":\"5-1\",\"state\":\"succeeded\",\"chain\":%u}}",
                            follow_tick + 60, runs);

        server_create(path, data, 0);
        server_fire_parent(path);
}

unsigned follow_tries;

static bool follow_is_asking(const ZkCall *call) {
        return call_has(call, ZK_OP_CREATE, FOLLOW_ROOT "/requests/");
}

ServerWay follow_lose_the_answer(const ZkCall *call) {
        return follow_is_asking(call) && follow_tries++ == 0 ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}
