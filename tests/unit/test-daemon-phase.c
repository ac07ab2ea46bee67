/* daemon-phase.c, cell by cell: what must hold for every phase and event, whatever the table says.
 */
#include <criterion/criterion.h>

#include "daemon-phase.h"

Test(session_phase, a_loss_forgets_everything_from_everywhere) {
        for (int phase = 0; phase < SESSION_PHASE_COUNT; phase++) {
                SessionPhaseStep step = session_phase_step((SessionPhase)phase, SESSION_PHASE_LOST);

                cr_expect_eq(step.phase, SESSION_PHASE_ABSENT, "phase %d", phase);
                cr_expect_eq(step.action, SESSION_PHASE_FORGET, "phase %d", phase);
        }
}

Test(session_phase, nothing_is_ready_but_what_was_recovered) {
        for (int phase = 0; phase < SESSION_PHASE_COUNT; phase++)
                for (int event = 0; event < SESSION_PHASE_EVENT_COUNT; event++) {
                        SessionPhaseStep step =
                            session_phase_step((SessionPhase)phase, (SessionPhaseEvent)event);

                        if (step.phase == SESSION_PHASE_READY && phase != SESSION_PHASE_READY) {
                                cr_expect_eq(phase, SESSION_PHASE_PREPARING);
                                cr_expect_eq(event, SESSION_PHASE_RECOVERED);
                                cr_expect_eq(step.action, SESSION_PHASE_BEGIN);
                        }
                }
}

Test(session_phase, nothing_begins_beside_leftovers) {
        SessionPhaseStep step =
            session_phase_step(SESSION_PHASE_ABSENT, SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS);

        cr_expect_eq(step.phase, SESSION_PHASE_HELD_BACK);
        for (int event = 0; event < SESSION_PHASE_EVENT_COUNT; event++)
                if (session_phase_step(SESSION_PHASE_HELD_BACK, (SessionPhaseEvent)event).action ==
                    SESSION_PHASE_PREPARE)
                        cr_expect_eq(event, SESSION_PHASE_LEFTOVERS_GONE);
}

Test(session_phase, a_break_loses_no_answer) {
        cr_expect_eq(session_phase_step(SESSION_PHASE_PREPARING, SESSION_PHASE_RESUMED).action,
                     SESSION_PHASE_ASK_AGAIN);
        cr_expect_eq(session_phase_step(SESSION_PHASE_READY, SESSION_PHASE_RESUMED).action,
                     SESSION_PHASE_CONTINUE);
        cr_expect_eq(session_phase_step(SESSION_PHASE_HELD_BACK, SESSION_PHASE_RESUMED).action,
                     SESSION_PHASE_NOTHING);
}

Test(session_phase, an_impossible_event_changes_no_phase) {
        for (int phase = 0; phase < SESSION_PHASE_COUNT; phase++)
                for (int event = 0; event < SESSION_PHASE_EVENT_COUNT; event++) {
                        SessionPhaseStep step =
                            session_phase_step((SessionPhase)phase, (SessionPhaseEvent)event);

                        if (step.action == SESSION_PHASE_IMPOSSIBLE)
                                cr_expect_eq(step.phase, (SessionPhase)phase);
                }
}

Test(process_phase, a_restart_and_a_stop_never_mix) {
        for (int event = 0; event < PROCESS_PHASE_EVENT_COUNT; event++) {
                cr_expect_eq(process_phase_next(PROCESS_PHASE_LEAVING, (ProcessPhaseEvent)event),
                             PROCESS_PHASE_LEAVING);
                cr_expect_neq(process_phase_next(PROCESS_PHASE_DRAINING, (ProcessPhaseEvent)event),
                              PROCESS_PHASE_LEAVING);
                cr_expect_neq(process_phase_next(PROCESS_PHASE_STOPPING, (ProcessPhaseEvent)event),
                              PROCESS_PHASE_LEAVING);
                cr_expect_eq(process_phase_next(PROCESS_PHASE_CLOSING, (ProcessPhaseEvent)event),
                             PROCESS_PHASE_CLOSING);
        }
}

Test(process_phase, from_work_to_its_end) {
        cr_expect_eq(process_phase_next(PROCESS_PHASE_WORKING, PROCESS_PHASE_RESTART),
                     PROCESS_PHASE_LEAVING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_WORKING, PROCESS_PHASE_STOP),
                     PROCESS_PHASE_DRAINING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_WORKING, PROCESS_PHASE_CLOSE),
                     PROCESS_PHASE_WORKING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_DRAINING, PROCESS_PHASE_END_RUNS),
                     PROCESS_PHASE_STOPPING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_STOPPING, PROCESS_PHASE_CLOSE),
                     PROCESS_PHASE_CLOSING);
}

/* The session is not closed beside what runs. */
Test(process_phase, a_drain_is_followed_by_the_end_of_the_runs) {
        cr_expect_eq(process_phase_next(PROCESS_PHASE_DRAINING, PROCESS_PHASE_CLOSE),
                     PROCESS_PHASE_DRAINING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_DRAINING, PROCESS_PHASE_STOP),
                     PROCESS_PHASE_DRAINING);
        cr_expect_eq(process_phase_next(PROCESS_PHASE_WORKING, PROCESS_PHASE_END_RUNS),
                     PROCESS_PHASE_WORKING);
}
