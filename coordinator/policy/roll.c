/* See roll.h. */
#include "roll.h"

#include <string.h>

#include "follow.h"

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
               roll_is_failure(run->state);
}

static unsigned roll_failures(const RollInput *input) {
        unsigned n = 0;

        for (guint i = 0; i < input->rolls->runs->len; i++)
                n += roll_counts(input, roll_at(input, i));
        return n;
}

/* Return: whether the others leave us no turn; *ret_run is then the oldest of them. The turns are
 * those of the job, whatever the tick. */
static bool roll_is_full(const RollInput *input, const RollRun **ret_run) {
        const RollRun *oldest = NULL;
        unsigned n = 0;

        for (guint i = 0; i < input->rolls->runs->len; i++) {
                const RollRun *run = roll_at(input, i);

                if (run->state != RUN_CLAIMED || !roll_is_others(input, run))
                        continue;
                oldest = oldest ? oldest : run;
                n++;
        }
        if (input->turns == 0 || n < input->turns)
                return false;
        *ret_run = oldest;
        return true;
}

RollVerdict roll_judge(const RollInput *input, const RollRun **ret_run) {
        *ret_run = NULL;
        if (!input->begun && input->max_failures > 0 && roll_failures(input) >= input->max_failures)
                return ROLL_STOPPED;
        return roll_is_full(input, ret_run) ? ROLL_WAIT : ROLL_GO;
}

static char *roll_why_stopped(const RollInput *input) {
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

char *roll_why(const RollInput *input) {
        const RollRun *run;

        switch (roll_judge(input, &run)) {
        case ROLL_STOPPED:
                return roll_why_stopped(input);
        case ROLL_WAIT:
                return g_strdup_printf("its turn comes when the run %s on %s is settled", run->run,
                                       run->node);
        case ROLL_GO:
        case ROLL_VERDICT_COUNT:
                break;
        }
        return g_strdup("");
}
