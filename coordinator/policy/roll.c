/* See roll.h. */
#include "roll.h"

#include <string.h>

#include "duration.h"
#include "follow.h"
#include "unit-spec.h"

/* So many nodes are named to people. */
#define ROLL_NAMED_MAX 3

bool roll_is_failure(RunState state) {
        return follow_may_ask((FollowLink){.why = FOLLOW_ON_FAILURE}, state);
}

static const RollRun *roll_at(const RollInput *input, guint place) {
        return input->rolls->runs->pdata[place];
}

static bool roll_is_others(const RollInput *input, const RollRun *run) {
        return strcmp(run->node, input->node) != 0;
}

static bool roll_counts(const RollInput *input, const RollRun *run) {
        return run->tick == input->tick && roll_is_others(input, run) &&
               roll_is_failure(run->state) && !run->back.again;
}

static unsigned roll_failures(const RollInput *input) {
        unsigned n = 0;

        for (guint i = 0; i < input->rolls->runs->len; i++)
                n += roll_counts(input, roll_at(input, i));
        return n;
}

/* ---- machines that are to come back ---- */

/* Return: until when the machine of that run is waited for. */
static usec_t roll_until(const RollInput *input, const RollRun *run) {
        return usec_add(run->back.since, input->rejoin_timeout);
}

/* Return: whether the machine of that run of another node is waited for, or would be if there were
 * time left. */
static bool roll_misses(const RollInput *input, const RollRun *run) {
        return input->rejoin_timeout > 0 && run->back.since > 0 && !run->back.late &&
               roll_is_others(input, run);
}

static bool roll_has_time(const RollInput *input, const RollRun *run) {
        return input->now < roll_until(input, run);
}

bool roll_awaits(const RollInput *input, const RollRun *run) {
        return roll_misses(input, run) && (run->tick == input->tick || roll_has_time(input, run));
}

/* Return: whether it stops the roll that its machine is not back. */
static bool roll_is_late(const RollInput *input, const RollRun *run) {
        return input->rejoin_timeout > 0 && run->tick == input->tick &&
               roll_is_others(input, run) &&
               (run->back.late || (run->back.since > 0 && !roll_has_time(input, run)));
}

/* Return: the oldest of those whose machines are late; NULL: none is. */
static const RollRun *roll_find_late(const RollInput *input) {
        for (guint i = 0; i < input->rolls->runs->len; i++)
                if (roll_is_late(input, roll_at(input, i)))
                        return roll_at(input, i);
        return NULL;
}

bool roll_is_back(const RollRun *run, const Member *member, usec_t now) {
        if (!member || member->busy == MEMBER_STOPPING)
                return false;
        return (run->back.boot && g_strcmp0(member->boot, run->back.boot) != 0) ||
               now >= usec_add(run->back.since, ROLL_STAY);
}

void roll_take_back(Rolls *rolls, const RollRun *run) {
        if (roll_is_failure(run->state) && !run->back.again)
                (void)rolls_note(rolls, run->tick, run->node, run->run, run->state);
        else
                (void)rolls_forget(rolls, run->tick, run->node);
}

bool roll_note_late(const RollInput *input, Rolls *rolls) {
        const RollRun *run = roll_find_late(input);
        RollRun late;

        if (!run)
                return false;
        late = *run;
        late.back.late = true;
        return rolls_put(rolls, &late);
}

/* ---- the verdict ---- */

/* Return: whether the turn of that run of another node is not over. */
static bool roll_is_in_the_way(const RollInput *input, const RollRun *run) {
        if (run->state == RUN_CLAIMED)
                return roll_is_others(input, run);
        return roll_misses(input, run) && roll_has_time(input, run);
}

/* Return: whether the others leave us no turn; *ret_run is then the oldest of them. The turns are
 * those of the job, whatever the tick. */
static bool roll_is_full(const RollInput *input, const RollRun **ret_run) {
        const RollRun *oldest = NULL;
        unsigned n = 0;

        for (guint i = 0; i < input->rolls->runs->len; i++) {
                const RollRun *run = roll_at(input, i);

                if (!roll_is_in_the_way(input, run))
                        continue;
                oldest = oldest ? oldest : run;
                n++;
        }
        if (input->turns == 0 || n < input->turns)
                return false;
        *ret_run = oldest;
        return true;
}

/* Return: whether as many have failed as may. */
static bool roll_has_failed(const RollInput *input) {
        return input->max_failures > 0 && roll_failures(input) >= input->max_failures;
}

RollVerdict roll_judge(const RollInput *input, const RollRun **ret_run) {
        *ret_run = NULL;
        if (!input->rolls)
                return ROLL_DAMAGED;
        if (!input->begun && (roll_has_failed(input) || roll_find_late(input)))
                return ROLL_STOPPED;
        return roll_is_full(input, ret_run) ? ROLL_WAIT : ROLL_GO;
}

/* ---- for people ---- */

static char *roll_why_failed(const RollInput *input) {
        GString *text = g_string_new("roll-stopped: ");
        unsigned n = 0;

        for (guint i = 0; i < input->rolls->runs->len; i++) {
                const RollRun *run = roll_at(input, i);

                if (!roll_counts(input, run) || ++n > ROLL_NAMED_MAX)
                        continue;
                g_string_append_printf(text, "%s%s on %s (%s)", n > 1 ? ", " : "",
                                       run_state_to_string(run->state), run->node, run->run);
        }
        if (n > ROLL_NAMED_MAX)
                g_string_append_printf(text, ", and on %u more", n - ROLL_NAMED_MAX);
        g_string_append_printf(text, "; max-failures is %u", input->max_failures);
        return g_string_free(text, FALSE);
}

static char *roll_why_late(const RollInput *input) {
        const RollRun *run = roll_find_late(input);
        g_autofree char *timeout = duration_to_string(input->rejoin_timeout);

        return g_strdup_printf(
            "roll-stopped: %s is not back since its run %s (%s); rejoin-timeout is %s", run->node,
            run->run, run_state_to_string(run->state), timeout);
}

static char *roll_why_waiting(const RollInput *input, const RollRun *run) {
        g_autofree char *until = NULL;

        if (run->state == RUN_CLAIMED && input->away)
                return g_strdup_printf("its turn comes when %s is back and its run %s is settled",
                                       run->node, run->run);
        if (run->state == RUN_CLAIMED)
                return g_strdup_printf("its turn comes when the run %s on %s is settled", run->run,
                                       run->node);
        until = tick_to_rfc3339((int64_t)(roll_until(input, run) / USEC_PER_SEC));
        return g_strdup_printf(
            "its turn comes when %s is a member again after its run %s (%s); it is "
            "waited for until %s",
            run->node, run->run, run_state_to_string(run->state), until);
}

char *roll_why(const RollInput *input) {
        const RollRun *run;

        switch (roll_judge(input, &run)) {
        case ROLL_STOPPED:
                return roll_has_failed(input) ? roll_why_failed(input) : roll_why_late(input);
        case ROLL_WAIT:
                return roll_why_waiting(input, run);
        case ROLL_DAMAGED:
                return g_strdup("it is damaged, and does not say whose runs are under way or have "
                                "failed: none begins until it is deleted");
        case ROLL_GO:
        case ROLL_VERDICT_COUNT:
                break;
        }
        return g_strdup("");
}
