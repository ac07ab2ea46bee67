/* See roll-fixture.h. */
#include "roll-fixture.h"

#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "paths.h"
#include "run-record.h"
#include "runs.h"

#define ROLL_LEDGER ROLL_ROOT "/jobs/a@n1"

int64_t roll_tick;

static bool roll_is_owed(void) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        const ServerNode *node = server_node(ROLL_LEDGER);

        return node && *server_data(ROLL_LEDGER) &&
               ledger_decode(server_data(ROLL_LEDGER), strlen(server_data(ROLL_LEDGER)), &ledger) ==
                   0 &&
               strstr(server_data(ROLL_LEDGER), "schedule");
}

/* As due_soon(), of the instance. The tick is far enough away for a slow machine. */
void roll_begin(const char *keys, const char *others) {
        g_autoptr(GDateTime) when = NULL;
        g_autofree char *text = NULL, *all = NULL;

        roll_tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 4;
        when = g_date_time_new_from_unix_utc(roll_tick);
        text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S");
        all = g_strdup_printf(
            "    mode: each-node\n    schedule: \"%s\"\n    exec: [/bin/true]\n%s", text, keys);
        write_job(all);
        open_daemon();
        await(roll_is_owed, "a ledger");
        if (others)
                roll_write(others);
        cr_assert_lt(clock_realtime(), (usec_t)roll_tick * USEC_PER_SEC, "this machine is slow");
}

char *roll_data(const char *others) {
        g_auto(GStrv) words = g_strsplit(others, " ", -1);
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        g_autofree char *run = run_id_for_tick(roll_tick, 1);

        for (char **word = words; *word && **word; word += 2) {
                const char *since = strchr(word[1], '@');
                g_autofree char *state = g_strndup(word[1], strcspn(word[1], "@+!"));
                RollRun noted = {.tick = roll_tick, .node = word[0], .run = run};

                cr_assert_eq(run_state_from_string(state, &noted.state), 0, "%s", word[1]);
                if (since)
                        noted.back = (RollReturn){
                            .since =
                                ((usec_t)roll_tick - strtoull(since + 1, NULL, 10)) * USEC_PER_SEC,
                            .boot = (char *)"b1"};
                noted.back.again = strchr(word[1], '+');
                noted.back.late = strchr(word[1], '!');
                (void)rolls_put(rolls, &noted);
        }
        return rolls_encode(rolls);
}

char *roll_known(void) {
        _cleanup_(rolls_freep) Rolls *rolls = NULL;
        const char *data = server_data(ROLL_PATH);
        const RollRun *run;

        cr_assert_eq(rolls_decode(data, strlen(data), &rolls), 0, "%s", data);
        run = rolls_get(rolls, roll_tick, "n1");
        if (!run)
                return g_strdup("");
        return g_strconcat(run_state_to_string(run->state), run->back.since ? "@" : "",
                           run->back.again ? "+" : "", run->back.late ? "!" : "", NULL);
}

void roll_write(const char *others) {
        g_autofree char *data = roll_data(others);

        if (server_node(ROLL_PATH))
                server_write(ROLL_PATH, data);
        else
                server_create(ROLL_PATH, data, 0);
}

void roll_expect(const char *others) {
        g_autofree char *data = roll_data(others);

        cr_expect_str_eq(server_data(ROLL_PATH), data);
}

char *roll_record_path(const char *node, const char *suffix) {
        g_autofree char *job = g_strconcat("a@", node, NULL),
                        *run = g_strdup_printf("%" G_GINT64_FORMAT "-%s", roll_tick, suffix);

        return path_run(ROLL_ROOT, job, run);
}

const char *roll_record(void) {
        g_autofree char *path = roll_record_path("n1", "1");

        return server_data(path);
}

void roll_settle_record(RunState state) {
        g_autofree char *path = roll_record_path("n1", "1"), *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(roll_record(), strlen(roll_record()), &record), 0);
        record->state = state;
        data = run_record_encode(record);
        server_write(path, data);
}

bool roll_has_started(void) {
        return started->len == 1 && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

bool roll_is_over(void) {
        return started->len > 0 && runs_count(coordinator->runs) == 0;
}
