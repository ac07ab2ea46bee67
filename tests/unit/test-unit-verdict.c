/* How a unit ended, case by case: what PID 1 shows, how its start job ended, what its owner wanted;
 * and in what order it is told. */
#include <criterion/criterion.h>
#include <glib.h>
#include <signal.h>

#include "event-loop.h"
#include "unit-event.h"
#include "unit-verdict.h"

typedef struct Case {
        const char *what;
        char *result; /* PID 1's word */
        int32_t code, status;
        char *start_word;        /* NULL: not heard */
        UnitStop stopper, asked; /* who took the start job away; what the owner wanted before */
        bool killed;
        UnitOutcome outcome;
        UnitStop stop;
        const char *detail;
        bool was_active; /* its start job was done */
        bool limitless;
        bool late; /* the owner's wish came when it was over */
} Case;

static char success[] = "success", signaled[] = "signal", timed_out[] = "timeout",
            exit_code[] = "exit-code", done[] = "done", failed[] = "failed",
            canceled[] = "canceled";

#define BY_ITSELF UNIT_STOP_NONE, UNIT_STOP_NONE, false
#define BY_OWNER UNIT_STOP_NONE, UNIT_STOP_OWNER, false
#define BY_OWNERS_KILL UNIT_STOP_NONE, UNIT_STOP_OWNER, true
#define BY_OTHERS UNIT_STOP_OTHER, UNIT_STOP_NONE, false

static const Case cases[] = {
    {"by itself, well", success, CLD_EXITED, 0, done, BY_ITSELF, UNIT_OUTCOME_SUCCESS,
     UNIT_STOP_NONE, ""},
    {"by itself, badly", exit_code, CLD_EXITED, 3, failed, BY_ITSELF, UNIT_OUTCOME_EXIT_CODE,
     UNIT_STOP_NONE, "exit-code"},
    {"no executable", exit_code, CLD_EXITED, 203, failed, BY_ITSELF, UNIT_OUTCOME_START_FAILED,
     UNIT_STOP_NONE, "exit status 203/EXEC"},
    {"its time limit", timed_out, CLD_KILLED, SIGTERM, failed, BY_ITSELF, UNIT_OUTCOME_TIMEOUT,
     UNIT_STOP_NONE, "timeout"},
    {"stopped, and dies of it", signaled, CLD_KILLED, SIGTERM, canceled, BY_OWNER,
     UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal"},
    {"stopped, and ends well", success, CLD_EXITED, 0, canceled, BY_OWNER, UNIT_OUTCOME_SUCCESS,
     UNIT_STOP_OWNER, ""},
    {"stopped, and its children do not go", timed_out, CLD_EXITED, 0, canceled, BY_OWNER,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, ""},
    {"stopped too late", success, CLD_EXITED, 0, done, BY_OWNER, UNIT_OUTCOME_SUCCESS,
     UNIT_STOP_NONE, ""},
    {"stopped too late, and failed", exit_code, CLD_EXITED, 1, failed, BY_OWNER,
     UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code"},
    {"stopped when only what it left lived, which keeps a start job that fails", exit_code,
     CLD_EXITED, 1, canceled, BY_OWNER, UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code", false,
     false, true},
    {"killed then", signaled, CLD_KILLED, SIGSEGV, failed, BY_OWNERS_KILL, UNIT_OUTCOME_SIGNAL,
     UNIT_STOP_NONE, "signal", false, false, true},
    {"stopped when its time limit had ended it", timed_out, CLD_KILLED, SIGTERM, canceled, BY_OWNER,
     UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout", false, false, true},
    {"stopped when others had", success, CLD_EXITED, 0, canceled, BY_OWNER, UNIT_OUTCOME_SUCCESS,
     UNIT_STOP_OTHER, "", false, false, true},
    {"killed: the start job fails then", signaled, CLD_KILLED, SIGKILL, failed, BY_OWNERS_KILL,
     UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal"},
    {"killed after the time limit was hit", timed_out, CLD_KILLED, SIGKILL, failed, BY_OWNERS_KILL,
     UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal"},
    {"stopped by others, and ends well", success, CLD_EXITED, 0, canceled, BY_OTHERS,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, ""},
    {"stopped by others, and dies of it", signaled, CLD_KILLED, SIGTERM, canceled, BY_OTHERS,
     UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER, "signal"},
    {"found over, wanted to end", signaled, CLD_KILLED, SIGTERM, NULL, BY_OWNER,
     UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER, "signal"},
    {"found over, its stop timeout passed", timed_out, CLD_EXITED, 0, NULL, BY_OWNER,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, ""},
    {"found over, well and by itself, wanted to end", success, CLD_EXITED, 0, NULL, BY_OWNER,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "", true},
    {"found over, stopped, and ended well", success, CLD_EXITED, 0, NULL, BY_OWNER,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER, ""},
    {"found over: it ended well, and its children did not go", timed_out, CLD_EXITED, 0, NULL,
     BY_ITSELF, UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "", true},
    {"the same, wanted to end", timed_out, CLD_EXITED, 0, NULL, BY_OWNER, UNIT_OUTCOME_SUCCESS,
     UNIT_STOP_NONE, "", true},
    {"found over: it was stopped, did not go, and never had a limit", timed_out, CLD_KILLED,
     SIGKILL, NULL, BY_ITSELF, UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE, "signal", false, true},
    {"found over: others stopped it, it ended well, and its children did not go", timed_out,
     CLD_EXITED, 0, NULL, BY_ITSELF, UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, "", false, true},
    {"found over: others stopped it, and it ended well", success, CLD_EXITED, 0, NULL, BY_ITSELF,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_OTHER, ""},
    {"found over: its time limit passed, and it ended well", timed_out, CLD_EXITED, 0, NULL,
     BY_ITSELF, UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout"},
    {"it failed, and somebody had that forgotten", success, CLD_EXITED, 3, failed, BY_ITSELF,
     UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE, "exit-code"},
    {"a status that somebody calls a success", success, CLD_EXITED, 3, done, BY_ITSELF,
     UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE, "", true},
    {"never ran, for its time limit passed before", timed_out, 0, 0, failed, BY_ITSELF,
     UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE, "timeout", false, true},
    {"never ran", success, 0, 0, canceled, BY_OWNER, UNIT_OUTCOME_START_FAILED, UNIT_STOP_OWNER,
     "the start job ended: canceled"},
    {"never ran, and nobody knows why", success, 0, 0, NULL, BY_ITSELF, UNIT_OUTCOME_START_FAILED,
     UNIT_STOP_NONE, "the start job ended: unknown"},
    {"never got that far", exit_code, 0, 0, failed, BY_ITSELF, UNIT_OUTCOME_START_FAILED,
     UNIT_STOP_NONE, "exit-code before the main process started"},
};

Test(unit_verdict, every_case) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                const Case *c = &cases[i];
                const UnitProperties properties = {.active_enter = c->was_active ? 20 : 0,
                                                   .start_limit = c->limitless ? USEC_INFINITY : 9,
                                                   .result = c->result,
                                                   .exec_main_code = c->code,
                                                   .exec_main_status = c->status,
                                                   .exec_main_start = 10,
                                                   .exec_main_exit = 20,
                                                   .exec_main_gone = 20,
                                                   .cpu = 5};
                const StartJob start_job = {.word = c->start_word, .stopper = c->stopper};
                UnitResult result = {.stop = c->asked};

                unit_verdict(&result, &properties, &start_job, c->killed,
                             c->asked == UNIT_STOP_NONE ? USEC_INFINITY : (c->late ? 21 : 20));
                cr_expect_eq(result.outcome, c->outcome, "%s: %s", c->what,
                             unit_outcome_to_string(result.outcome));
                cr_expect_eq(result.stop, c->stop, "%s: %d", c->what, (int)result.stop);
                cr_expect_str_eq(result.detail, c->detail, "%s: %s", c->what, result.detail);
                cr_expect_eq(result.exit_status, c->status, "%s", c->what);
                cr_expect(result.started == 10 && result.ended == 20 && result.cpu == 5);
        }
}

/* Nobody asked for an end, and how the start job ended tells nothing of it. `left`: when the unit
 * was active no more, of which the main process ended at 20; 0: not told. */
static UnitProperties after_start(const char *type, char *state, char *result, int32_t code,
                                  int32_t status, usec_t left) {
        return (UnitProperties){.type = (char *)type,
                                .active_state = state,
                                .result = result,
                                .active_enter = 11,
                                .active_left = left,
                                .start_limit = 9,
                                .exec_main_code = code,
                                .exec_main_status = status,
                                .exec_main_start = 10,
                                .exec_main_exit = 20,
                                .exec_main_gone = 20};
}

static void expect_verdict(const UnitProperties *p, UnitOutcome outcome, UnitStop stop) {
        const StartJob start_job = {0};
        UnitResult verdict = {0};

        unit_verdict(&verdict, p, &start_job, false, USEC_INFINITY);
        cr_expect_eq(verdict.outcome, outcome, "%s, %s, %d: %s", p->type, p->result,
                     p->exec_main_status, unit_outcome_to_string(verdict.outcome));
        cr_expect_eq(verdict.stop, stop, "%s, %s, %d: %d", p->type, p->result, p->exec_main_status,
                     (int)verdict.stop);
}

static void expect_after_start(const char *type, char *state, char *result, int32_t code,
                               int32_t status, UnitOutcome outcome, UnitStop stop) {
        const UnitProperties properties = after_start(type, state, result, code, status, 0);

        expect_verdict(&properties, outcome, stop);
}

Test(unit_verdict, what_went_on_after_its_start_was_stopped_or_not) {
        static const char *const types[] = {UNIT_TYPE_EXEC, UNIT_TYPE_NOTIFY};
        char active[] = "active", inactive[] = "inactive", over[] = "failed";

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                expect_after_start(types[i], active, success, CLD_EXITED, 0, UNIT_OUTCOME_SUCCESS,
                                   UNIT_STOP_NONE);
                expect_after_start(types[i], over, exit_code, CLD_EXITED, 3, UNIT_OUTCOME_EXIT_CODE,
                                   UNIT_STOP_NONE);
                expect_after_start(types[i], inactive, success, CLD_EXITED, 0, UNIT_OUTCOME_SUCCESS,
                                   UNIT_STOP_OTHER);
                expect_after_start(types[i], inactive, success, CLD_KILLED, SIGTERM,
                                   UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER);
        }
}

/* It, or its children, did not go in time. What may say that it stops may have begun that. */
Test(unit_verdict, what_does_not_go_in_time_was_stopped_where_it_cannot_stop_itself) {
        char over[] = "failed";

        expect_after_start(UNIT_TYPE_EXEC, over, timed_out, CLD_KILLED, SIGKILL,
                           UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER);
        expect_after_start(UNIT_TYPE_EXEC, over, timed_out, CLD_EXITED, 0, UNIT_OUTCOME_SUCCESS,
                           UNIT_STOP_OTHER);
        expect_after_start(UNIT_TYPE_NOTIFY, over, timed_out, CLD_KILLED, SIGKILL,
                           UNIT_OUTCOME_SIGNAL, UNIT_STOP_NONE);
}

/* A status of its own for SIGTERM, as some have. It may have said that itself before it failed. */
Test(unit_verdict, what_ends_while_it_is_being_ended_was_leaving) {
        static const struct {
                const char *what;
                usec_t left;
                bool was_leaving;
        } ends[] = {
            {"PID 1 was at it", 19, true},
            {"PID 1 saw its end", 20, false},
            {"and said so later", 21, false},
            {"nobody knows", 0, false},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
                char over[] = "failed";
                const UnitProperties properties =
                    after_start(UNIT_TYPE_EXEC, over, exit_code, CLD_EXITED, 143, ends[i].left);

                cr_expect_eq(unit_verdict_was_leaving(&properties), ends[i].was_leaving, "%s",
                             ends[i].what);
                expect_verdict(&properties, UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE);
        }
}

/* The main process ended well, and what it left was stopped later, and did not go in time. */
Test(unit_verdict, the_stop_of_what_is_left_is_none_of_the_main_process) {
        char over[] = "failed";
        const UnitProperties properties =
            after_start(UNIT_TYPE_EXEC, over, timed_out, CLD_EXITED, 0, 25);

        expect_verdict(&properties, UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

Test(unit_verdict, a_detail_is_cut_between_characters) {
        g_autofree char *long_text = g_strnfill(sizeof(((UnitResult *)0)->detail) - 2, 'x');
        UnitResult result = {0};

        unit_verdict_detail(&result, "%s\xc3\xa4", long_text);
        cr_expect_str_eq(result.detail, long_text);
}

/* ---- telling ---- */

static GString *told;

static void on_event(UnitEvent event, void *userdata) {
        (void)userdata;
        g_string_append_c(told, "sxea"[event]);
}

/* Return: what was told in so many rounds. */
static const char *told_after(sd_event *loop, unsigned rounds) {
        while (rounds-- > 0)
                cr_assert_geq(sd_event_run(loop, 0), 0);
        return told->str;
}

Test(unit_event, one_a_round_in_order_and_no_end_while_it_is_held) {
        UnitEvents events = {0};
        sd_event *loop = NULL;

        told = g_string_new(NULL);
        loop = loop_new();
        cr_assert_geq(unit_events_init(&events, loop, on_event, NULL), 0);
        unit_events_hold(&events, true);
        unit_events_add(&events, UNIT_EVENT_ENDED);
        unit_events_add(&events, UNIT_EVENT_EXITED);
        unit_events_add(&events, UNIT_EVENT_STARTED);
        cr_expect_str_eq(told->str, "", "never from inside");
        cr_expect_str_eq(told_after(loop, 5), "s");
        unit_events_hold(&events, false);
        cr_expect_str_eq(told_after(loop, 1), "sx");
        cr_expect_str_eq(told_after(loop, 5), "sxe");
        sd_event_source_disable_unref(events.teller);
        (void)loop_end(loop);
        (void)g_string_free(told, TRUE);
}
