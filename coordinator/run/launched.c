/* See launched.h. */
#include "launched.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sysexits.h>

#include "fence-link.h"
#include "launch-dropin.h"
#include "launch.h"
#include "unit-spec.h"

/* systemd.exec(5), "Process Exit Codes": the program cannot be executed. */
#define EXIT_STATUS_EXEC 203

char **launched_words(const Node *node, bool fenced, usec_t begin_by) {
        char **words = g_new0(char *, 6);
        guint n = 3;

        words[0] = g_strdup(JOBKEEPER_LAUNCH);
        words[1] = g_build_filename(node->runtime_dir, "session", NULL);
        words[2] = g_strdup_printf("0x%016" PRIx64, (uint64_t)session_id(node->session));
        if (fenced && fence_link_instance(node->fence))
                words[n++] = g_strdup(fence_link_instance(node->fence));
        words[n] = g_strdup_printf(LAUNCH_BEGIN_BY "%" PRIu64, begin_by);
        return words;
}

/* What it is about that one run is an error of its own. */
void launched_note_error(const Node *node, const char *root, int error) {
        if (error != -EINVAL && error != -ENOMEM)
                launch_fault_note_root(node->launch_fault, root);
}

/* The other statuses are the job's: of a user that there is not, of a start that came too late. */
void launched_note_refusal(const Node *node, const char *root, const UnitResult *result) {
        if (result->outcome == UNIT_OUTCOME_NO_ROOM)
                launch_fault_note_root(node->launch_fault, root);
        if (result->outcome != UNIT_OUTCOME_START_FAILED)
                return;
        switch (result->refusal) {
        case EXIT_STATUS_EXEC:
        case EX_USAGE: /* of another version */
                launch_fault_note_program(node->launch_fault, JOBKEEPER_LAUNCH);
                return;
        case LAUNCH_NO_MARKER:
                launch_fault_note_root(node->launch_fault, root);
        }
}

/* It was wanted to end, or something else kept it from being started. */
static void launched_not_started(RunRecord *record, const char *why) {
        g_autofree char *before = record->why;

        record->state = RUN_INTERRUPTED;
        record->started = 0;
        record->ended = clock_realtime();
        record->why = g_strconcat("not started: ", before ? before : why, NULL);
}

bool launched_forbid(const char *root, RunRecord *record, const char *why) {
        g_autofree char *directory = launch_dropin_directory(root, record->unit);
        const LaunchPlace place = {.directory = directory, .nonce = record->nonce};

        if (!launch_dropin_is_of(root, record->unit, record->nonce) || launch_forbid(&place) < 0)
                return false;
        launched_not_started(record, why);
        return true;
}

static void launched_not_known(RunRecord *record) {
        g_free(record->why);
        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        record->why =
            g_strdup("systemd was made to start its unit again, which was refused; how it "
                     "had ended before is not known");
}

/* When its command ended is not known exactly: the unit was stopped later. */
static void launched_succeeded(RunRecord *record, const LaunchNote *note) {
        g_clear_pointer(&record->why, g_free);
        record->state = RUN_SUCCEEDED;
        record->exit_status = 0;
        record->started = 0;
        record->ended = note->ended;
}

/* Return: whether it ended as what obeys SIGTERM does, perhaps by a trap of its own. */
static bool launched_obeyed(const LaunchNote *note) {
        return note->code != CLD_EXITED || note->status == 0 || note->status == 128 + SIGTERM;
}

/* Return: whether it ended without having said that it is ready: its status does not tell. */
static bool launched_broke_its_word(const LaunchNote *note) {
        return g_str_equal(note->word, "protocol");
}

/* Return: who had PID 1 end it, by what is noted: what was stopped and ended well (in PID 1's
 * words: a service does so that dies of SIGTERM) is gone at once, and what was to be started again
 * was stopped before, unless it had failed by then. */
static UnitStop launched_stop_of(const LaunchNote *note, bool again, UnitStop stopper) {
        bool well = g_str_equal(note->word, "success");

        if (launched_broke_its_word(note) || (!well && !(again && launched_obeyed(note))))
                return UNIT_STOP_NONE;
        return stopper == UNIT_STOP_NONE ? UNIT_STOP_OTHER : stopper;
}

/* Return: whether that is a result; a time-out may be its own or the stop's. */
static bool launched_take_result(RunRecord *record, const LaunchNote *note, bool again,
                                 UnitStop stopper) {
        const char *word = launched_broke_its_word(note)
                               ? note->word
                               : unit_result_word_of_process(note->code, note->status);
        UnitResult result = {.outcome = unit_outcome_from_service(word, note->code, note->status),
                             .stop = launched_stop_of(note, again, stopper),
                             .exit_status = note->status,
                             .started = note->started,
                             .ended = note->ended,
                             .cpu = USEC_INFINITY};

        if (!note->has_result || g_str_equal(note->word, "timeout"))
                return false;
        if (result.outcome != UNIT_OUTCOME_SUCCESS)
                (void)g_strlcpy(result.detail, note->word, sizeof result.detail);
        run_record_take_result(record, &result, true);
        return true;
}

/* Return: whether PID 1 tells nothing of how its main process ended, or that there was none. */
static bool launched_is_asked(const UnitResult *result) {
        return !result || result->outcome == UNIT_OUTCOME_UNKNOWN ||
               (result->outcome == UNIT_OUTCOME_START_FAILED && result->started == 0);
}

/* Its start was attempted. Return: as launched_take(). */
static bool launched_take_note(const LaunchPlace *place, RunRecord *record, bool again,
                               UnitStop stopper) {
        LaunchNote note;

        launch_read(place, &note);
        if (note.ended_well) {
                launched_succeeded(record, &note);
                return true;
        }
        if (stopper == UNIT_STOP_OWNER && !again) /* then that is what is known of its end */
                return false;
        if (launched_take_result(record, &note, again, stopper))
                return true;
        if (again)
                launched_not_known(record);
        return again;
}

bool launched_take(const char *root, RunRecord *record, const UnitResult *result,
                   UnitStop stopper) {
        g_autofree char *directory = launch_dropin_directory(root, record->unit);
        const LaunchPlace place = {.directory = directory, .nonce = record->nonce};
        const char *refused = result ? launch_refusal_in_words(result->refusal) : NULL;
        bool again = result && result->refusal == (int)LAUNCH_AGAIN;
        bool did_not_run = result && result->outcome == UNIT_OUTCOME_START_FAILED;
        int r;

        if (!launched_is_asked(result) || !launch_dropin_is_of(root, record->unit, record->nonce))
                return false;
        if (refused && !again) {
                launched_not_started(record, refused);
                return true;
        }
        r = launch_forbid(&place);
        if (r >= 0 && (again || !did_not_run)) {
                launched_not_started(record, again ? "it had been given up before it began"
                                                   : "its unit was not found, and had not begun");
                return true;
        }
        return r == -EEXIST && (again || !did_not_run) &&
               launched_take_note(&place, record, again, stopper);
}
