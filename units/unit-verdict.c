/* See unit-verdict.h. */
#include "unit-verdict.h"

#include <glib.h>
#include <stdarg.h>

void unit_verdict_detail(UnitResult *result, const char *format, ...) {
        va_list arguments;
        const char *end;

        va_start(arguments, format);
        (void)g_vsnprintf(result->detail, sizeof result->detail, format, arguments);
        va_end(arguments);
        /* An error message may be cut inside a character. */
        if (!g_utf8_validate(result->detail, -1, &end))
                result->detail[end - result->detail] = '\0';
}

/* A start job that is done leaves the unit active, whatever becomes of what is left of it. One that
 * was done while the main process went on tells nothing of that. */
static bool verdict_was_active(const UnitProperties *properties) {
        return properties->active_enter > 0 && !unit_properties_short_start(properties);
}

/* Was it our (or somebody else's) stop that ended the start job, so that a "timeout" is the stop
 * timeout and no time limit? */
static bool verdict_stop_came_first(const UnitResult *result, const StartJob *start_job,
                                    bool killed) {
        if (start_job->word)
                return start_job_ended_as(start_job, "canceled") || killed;
        return result->stop == UNIT_STOP_OWNER;
}

/* What PID 1 says of the whole unit may be of a later day than the main process: the stop of what
 * that left took too long, or somebody had the failure forgotten. */
static bool verdict_word_misleads(const UnitResult *result, const UnitProperties *p,
                                  const StartJob *start_job, bool killed) {
        bool ran = p->exec_main_code != 0;

        if (g_strcmp0(p->result, "timeout") == 0)
                return p->active_enter > 0 || (ran && p->start_limit == USEC_INFINITY) ||
                       verdict_stop_came_first(result, start_job, killed);
        return g_strcmp0(p->result, "success") == 0 && ran && !verdict_was_active(p);
}

static void verdict_note_detail(UnitResult *result, const UnitProperties *p,
                                const StartJob *start_job, const char *word) {
        int status = p->exec_main_code ? p->exec_main_status : p->launch_status;
        const char *name = unit_exit_status_name(status);

        if (result->outcome == UNIT_OUTCOME_SUCCESS)
                return;
        if (result->outcome != UNIT_OUTCOME_START_FAILED)
                unit_verdict_detail(result, "%s", word);
        else if (p->exec_main_code || name)
                unit_verdict_detail(result, "exit status %d/%s", status, name ? name : "?");
        else if (!g_str_equal(word, "success"))
                unit_verdict_detail(result, "%s before the main process started", word);
        else
                unit_verdict_detail(result, "the start job ended: %s",
                                    start_job->word ? start_job->word : "unknown");
}

/* What ended well by itself after it had started, SIGTERM included, has left the unit active; and
 * no limit but that of a stop is left to pass by then, be it the stop of what a main process left
 * that had ended before. What may talk to PID 1 may have begun that itself. */
static bool verdict_shows_a_stop_after_start(const UnitProperties *p) {
        return (g_strcmp0(p->result, "timeout") == 0 && g_strcmp0(p->type, UNIT_TYPE_EXEC) == 0 &&
                (p->active_left == 0 || p->active_left < p->exec_main_gone)) ||
               (g_strcmp0(p->result, "success") == 0 && g_strcmp0(p->active_state, "active") != 0);
}

/* A main process that ends well leaves the unit active, unless it ended because the unit was being
 * stopped. Where nobody heard how the start job ended, this is all that tells of it; a time limit
 * is told apart by its outcome. */
static bool verdict_shows_a_stop(const UnitResult *result, const UnitProperties *p,
                                 const StartJob *start_job) {
        if (unit_properties_outlive_start(p))
                return verdict_shows_a_stop_after_start(p);
        return !start_job->word && result->outcome == UNIT_OUTCOME_SUCCESS &&
               p->exec_main_code != 0 && !verdict_was_active(p);
}

/* Return: whether it was over before the owner's wish left us. After a failure PID 1 keeps the
 * start job until what is left is dead, so that a stop may still take that away. */
static bool verdict_was_over(const UnitProperties *p, usec_t asked) {
        return asked == USEC_INFINITY || (p->exec_main_code && p->exec_main_gone < asked);
}

static void verdict_fill(UnitResult *result, const UnitProperties *p, const StartJob *start_job,
                         bool killed) {
        const char *word = p->result ? p->result : "";

        if (verdict_word_misleads(result, p, start_job, killed))
                word = unit_result_word_of_process(p->exec_main_code, p->exec_main_status);
        result->outcome = unit_outcome_from_service(word, p->exec_main_code, p->exec_main_status);
        result->exit_status = p->exec_main_status;
        result->refusal = p->exec_main_code ? 0 : p->launch_status;
        result->started = p->exec_main_start;
        result->ended = p->exec_main_exit;
        result->cpu = p->cpu;
        /* The fence was not there, or left off, before it began. */
        if (start_job_ended_as(start_job, "dependency")) {
                result->stop = UNIT_STOP_FENCE;
                verdict_note_detail(result, p, start_job, word);
                return;
        }
        /* A wish that PID 1 heard after the main process had ended by itself changed nothing. */
        if (start_job_ended_as(start_job, "done") || verdict_was_active(p) ||
            (start_job_ended_as(start_job, "failed") && !killed))
                result->stop = UNIT_STOP_NONE;
        else if (result->stop == UNIT_STOP_NONE)
                result->stop = start_job->stopper == UNIT_STOP_NONE &&
                                       verdict_shows_a_stop(result, p, start_job)
                                   ? UNIT_STOP_OTHER
                                   : start_job->stopper;
        verdict_note_detail(result, p, start_job, word);
}

bool unit_verdict_was_leaving(const UnitProperties *p) {
        return unit_properties_outlive_start(p) && p->exec_main_code && p->active_left > 0 &&
               p->active_left < p->exec_main_gone;
}

void unit_verdict(UnitResult *result, const UnitProperties *properties, const StartJob *start_job,
                  bool killed, usec_t asked) {
        StartJob by_itself = {.word = start_job->word, .stopper = start_job->stopper};

        if (!verdict_was_over(properties, asked)) {
                verdict_fill(result, properties, start_job, killed);
                return;
        }
        if (by_itself.stopper == UNIT_STOP_NONE && start_job_ended_as(start_job, "canceled"))
                by_itself.word = NULL;
        result->stop = UNIT_STOP_NONE;
        verdict_fill(result, properties, &by_itself, false);
}
