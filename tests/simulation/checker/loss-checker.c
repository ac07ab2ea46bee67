/* Who holds its locks no more ends its runs: all of them are told to end some time before the
 * deadline, and those that were not are when the session is lost, or another one is made. A start
 * that fails leaves none behind. But what continues without its locks only who stops the daemon
 * ends, or a service that is not to be there any more. */
#include "loss-checker.h"

#include <string.h>

#include "service-checker.h"

/* So long after it PID 1 has been told, slow or out of reach for a moment. */
#define TOLD_WITHIN (5 * USEC_PER_SEC)
/* What began was claimed so many seconds before at most. */
#define CLAIMED_WITHIN 60
/* What began so shortly before it may not be known yet. */
#define JUST_BEGUN (3 * USEC_PER_SEC)

struct LossBook {
        GHashTable *losses; /* "JOB:RUN" → usec_t */
};

LossBook *loss_book_new(void) {
        LossBook *book = g_new0(LossBook, 1);

        book->losses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return book;
}

LossBook *loss_book_free(LossBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->losses);
        g_free(book);
        return NULL;
}

void loss_note(Checker *checker, const char *job, const char *run) {
        usec_t now = checker_now(checker);
        char *key = g_strdup_printf("%s:%s", job, run);

        if (g_hash_table_contains(checker_losses(checker)->losses, key))
                g_free(key);
        else
                g_hash_table_insert(checker_losses(checker)->losses, key,
                                    g_memdup2(&now, sizeof(now)));
}

void loss_note_session(Checker *checker, const char *node, bool in_time) {
        const GPtrArray *alive = history_alive(checker_history(checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (strcmp(run->node, node) != 0)
                        continue;
                loss_note(checker, run->job, run->run);
                if (in_time && !run->continues && !run->over && !run->stopped &&
                    run->begun + JUST_BEGUN < checker_now(checker))
                        checker_complain(checker,
                                         "run %s of %s on %s was not told to end, and the session "
                                         "is lost",
                                         run->run, run->job, node);
        }
}

void loss_judge(Checker *checker, const HistoryRun *run) {
        g_autofree char *key = g_strdup_printf("%s:%s", run->job, run->run);
        const usec_t *lost = g_hash_table_lookup(checker_losses(checker)->losses, key);

        if (!lost || run->continues || run->stopped || run->over < *lost + TOLD_WITHIN ||
            history_befell(checker_history(checker), run->node, HISTORY_ANY | HISTORY_HANG, *lost,
                           run->over))
                return;
        checker_complain(checker,
                         "run %s of %s on %s lived on for %" G_GUINT64_FORMAT
                         " s when it had lost its locks",
                         run->run, run->job, run->node, (run->over - *lost) / USEC_PER_SEC);
}

void checker_fence_ends(Checker *checker, const HistoryRun *run) {
        if (!run->excused && !run->over)
                checker_complain(
                    checker, "run %s of %s on %s was left to its fence by a daemon that is well",
                    run->run, run->job, run->node);
}

/* Return: whether a newer tick takes its place, by a clock that may be wrong by some seconds. */
static bool loss_is_replaced(const Checker *checker, const HistoryRun *run) {
        int64_t now = MACHINE_EPOCH + (int64_t)(checker_now(checker) / USEC_PER_SEC),
                begun = MACHINE_EPOCH + (int64_t)(run->begun / USEC_PER_SEC);

        return plan_is_replaced(checker_plan(checker), run->job,
                                run->tick ? run->tick : begun - CLAIMED_WITHIN,
                                now + checker_skew(checker, run->node) + 1);
}

/* A daemon that follows another one cannot tell what systemd has yet to begin from a run that is to
 * be ended, and its word may arrive just after the beginning.
 * Return: whether `run` began so lately that it had not when its end was decided. */
static bool loss_has_just_begun(const Checker *checker, const HistoryRun *run) {
        return run->begun + JUST_BEGUN > checker_now(checker);
}

void checker_is_asked_to_end(Checker *checker, const char *node, const char *unit) {
        const GPtrArray *alive = history_alive(checker_history(checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (run->continues && !run->over && strcmp(run->unit, unit) == 0 &&
                    strcmp(run->node, node) == 0 &&
                    !history_is_unwanted(checker_history(checker), run->job, run->run) &&
                    !loss_has_just_begun(checker, run) && !service_may_end(checker, run) &&
                    !loss_is_replaced(checker, run))
                        checker_complain(checker,
                                         "run %s of %s on %s, which continues whatever becomes of "
                                         "its locks, is ended by a daemon that nobody stops",
                                         run->run, run->job, run->node);
        }
}

void checker_start_failed(Checker *checker, const char *node) {
        const GPtrArray *alive = history_alive(checker_history(checker)),
                        *holds = history_holds(checker_history(checker));

        for (guint i = 0; i < alive->len; i++) {
                const HistoryRun *run = alive->pdata[i];

                if (!run->excused && !run->continues && strcmp(run->node, node) == 0)
                        checker_complain(checker,
                                         "run %s of %s on %s is left behind by a start that failed",
                                         run->run, run->job, node);
        }
        for (guint i = 0; i < holds->len; i++) {
                const HistoryHold *hold = holds->pdata[i];

                if (hold->unattended && !hold->excused && strcmp(hold->node, node) == 0)
                        checker_complain(checker,
                                         "%s (%u) on %s is left behind by a start that failed",
                                         hold->who, hold->number, node);
        }
}
