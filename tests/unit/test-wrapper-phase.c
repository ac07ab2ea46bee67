/* The life of a lock that `jobkeeper lock` holds itself, cell by cell, against a second table
 * written from what jobkeeper(1) promises and not from the code; and every path through it: the
 * command is started once, and the lock goes once, after the command. */
#include "wrapper-phase.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const phases[] = {
    [WRAPPER_WAITING] = "waiting",       [WRAPPER_HOLDING] = "holding",
    [WRAPPER_HOLDING_ON] = "holding-on", [WRAPPER_STOPPING] = "stopping",
    [WRAPPER_KILLED] = "killed",         [WRAPPER_GOING_ON] = "going-on",
    [WRAPPER_RELEASING] = "releasing",
};

static const char *const actions[] = {
    [WRAPPER_NOTHING] = "-",
    [WRAPPER_QUEUE] = "queue",
    [WRAPPER_QUEUE_ANEW] = "queue-anew",
    [WRAPPER_START] = "start",
    [WRAPPER_GIVE_UP] = "give-up",
    [WRAPPER_FINISH] = "finish",
    [WRAPPER_FINISH_LOST] = "finish-lost",
    [WRAPPER_STOP] = "stop",
    [WRAPPER_KILL] = "kill",
    [WRAPPER_TELL] = "tell",
    [WRAPPER_FORWARD] = "forward",
    [WRAPPER_LEAVE] = "leave",
    [WRAPPER_IMPOSSIBLE] = "impossible",
};

/* One row an event: "phase action" in each phase, in their order; NULL where it cannot come. */
static const char *const rows[WRAPPER_EVENT_COUNT][WRAPPER_PHASE_COUNT] = {
    [WRAPPER_EVENT_SESSION] = {"waiting queue", "holding -", "holding-on -", "stopping -",
                               "killed -", "going-on -", "releasing -"},
    [WRAPPER_EVENT_GRANTED] = {"holding start"},
    [WRAPPER_EVENT_GRANTED_TO_GO_ON] = {"holding-on start"},
    [WRAPPER_EVENT_GRANTED_LATE] = {"waiting queue-anew"},
    [WRAPPER_EVENT_TIMEOUT] = {"releasing give-up"},
    [WRAPPER_EVENT_REFUSED] = {"releasing finish", "releasing finish", "releasing finish"},
    [WRAPPER_EVENT_STOP] = {"waiting -", "stopping stop", "holding-on -", "stopping -", "killed -",
                            "going-on -", "releasing -"},
    [WRAPPER_EVENT_LOST] = {"waiting queue-anew", "killed kill", "going-on tell", "killed kill",
                            "killed -", "going-on -", "releasing -"},
    [WRAPPER_EVENT_ENDED] = {NULL, "releasing finish", "releasing finish", "releasing finish-lost",
                             "releasing finish-lost", "releasing finish", NULL},
    [WRAPPER_EVENT_SIGNAL] = {"releasing finish", "holding forward", "holding-on forward",
                              "stopping forward", "killed forward", "going-on forward",
                              "releasing leave"},
    [WRAPPER_EVENT_CLOSED] = {[WRAPPER_RELEASING] = "releasing leave"},
};

Test(wrapper_phase, cell_by_cell) {
        for (int event = 0; event < WRAPPER_EVENT_COUNT; event++)
                for (int phase = 0; phase < WRAPPER_PHASE_COUNT; phase++) {
                        WrapperStep step =
                            wrapper_phase_step((WrapperPhase)phase, (WrapperEvent)event);
                        const char *expected = rows[event][phase];
                        char found[64];

                        (void)snprintf(found, sizeof found, "%s %s", phases[step.phase],
                                       actions[step.action]);
                        if (expected)
                                cr_expect_str_eq(found, expected, "event %d in %s: %s", event,
                                                 phases[phase], found);
                        else
                                cr_expect(step.action == WRAPPER_IMPOSSIBLE &&
                                              (int)step.phase == phase,
                                          "event %d in %s: %s", event, phases[phase], found);
                }
}

static bool has_command(WrapperPhase phase) {
        return phase != WRAPPER_WAITING && phase != WRAPPER_RELEASING;
}

/* What a step does to the command is what the phases say of it. */
Test(wrapper_phase, a_command_is_there_from_its_start_to_its_end) {
        for (int event = 0; event < WRAPPER_EVENT_COUNT; event++)
                for (int phase = 0; phase < WRAPPER_PHASE_COUNT; phase++) {
                        WrapperStep step =
                            wrapper_phase_step((WrapperPhase)phase, (WrapperEvent)event);
                        bool before = has_command((WrapperPhase)phase),
                             now = has_command(step.phase);

                        cr_expect_eq(step.action == WRAPPER_START, !before && now, "%d, %s", event,
                                     phases[phase]);
                        if (step.action == WRAPPER_STOP || step.action == WRAPPER_KILL ||
                            step.action == WRAPPER_TELL || step.action == WRAPPER_FORWARD)
                                cr_expect(before && now, "%d, %s", event, phases[phase]);
                        if (before && !now)
                                cr_expect(event == WRAPPER_EVENT_ENDED ||
                                              event == WRAPPER_EVENT_REFUSED,
                                          "%d, %s", event, phases[phase]);
                        if (phase == WRAPPER_RELEASING)
                                cr_expect_eq(step.phase, WRAPPER_RELEASING);
                }
}
