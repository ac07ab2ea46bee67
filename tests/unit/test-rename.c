/* What becomes of a job that has another name now, cell by cell: from its own ledger, that of the
 * name that it had, and what this node's files say. */
#include "rename.h"

#include "ledger-fixture.h"

static JobSpec *spec_of(const char *was) {
        JobSpec *spec = g_new0(JobSpec, 1);

        spec->name = g_strdup("new");
        spec->books.was.job = g_strdup(was);
        return spec;
}

/* "-": none; "digest", "renamed to NAME", with "run" under way. */
static Ledger *ledger_from(const char *text) {
        Ledger *ledger;

        if (strcmp(text, "-") == 0)
                return NULL;
        ledger = strstr(text, "run ") ? ledger_of(40, 0,
                                                  "{'run':'50-1','tick':50,'state':'claimed',"
                                                  "'node':'n2','attempt':1}")
                                      : ledger_new(40, "");
        g_free(ledger->digest);
        ledger->digest = g_strdup(strstr(text, "withdrawn") ? "" : "digest");
        if (strstr(text, "leaving"))
                ledger->withdrawn = 50;
        if (strstr(text, "to "))
                ledger->renamed = g_strdup(strstr(text, "to ") + strlen("to "));
        return ledger;
}

static const struct {
        const char *own, *was;
        bool changed, follows;
        RenameNeed need;
} needs[] = {
    {"-", NULL, true, false, RENAME_NOT},
    {"-", "old", true, false, RENAME_LOOK},
    {"-", "old", false, false, RENAME_LOOK},
    {"alive", NULL, true, false, RENAME_NOT},
    {"alive", "old", true, false, RENAME_NOT},
    {"alive", "old", false, false, RENAME_NOT},
    {"withdrawn", NULL, true, false, RENAME_NOT},
    {"withdrawn", "old", false, false, RENAME_LOOK},
    {"left to old", NULL, true, false, RENAME_LOOK_BACK},
    {"left to old", NULL, false, false, RENAME_LOOK_BACK},
    {"left to old", NULL, true, true, RENAME_NOT},
    {"left to old", NULL, false, true, RENAME_NOT},
    {"left to old", "old", false, false, RENAME_LOOK_BACK},
    {"left to old", "old", false, true, RENAME_LOOK_BACK},
    {"left to old", "old", true, false, RENAME_LOOK},
    {"left to x", "old", true, false, RENAME_LOOK},
};

Test(rename, what_the_own_ledger_needs) {
        for (size_t i = 0; i < G_N_ELEMENTS(needs); i++) {
                _cleanup_(ledger_freep) Ledger *own = ledger_from(needs[i].own);
                _cleanup_(job_spec_freep) JobSpec *spec = spec_of(needs[i].was);

                cr_expect_eq(rename_need(own, spec, needs[i].changed, needs[i].follows),
                             needs[i].need, "%s, was %s, %d %d", needs[i].own,
                             needs[i].was ? needs[i].was : "nothing", needs[i].changed,
                             needs[i].follows);
        }
}

static const struct {
        const char *own, *old;
        RenameVerdict verdict;
        const char *name;
} verdicts[] = {
    {"-", "-", RENAME_BEGINS, NULL},
    {"-", "alive", RENAME_TAKES, NULL},
    {"-", "withdrawn", RENAME_TAKES, NULL},
    {"-", "run ", RENAME_WAITS, NULL},
    {"-", "withdrawn, run ", RENAME_WAITS, NULL},
    {"-", "left to new", RENAME_NOTHING, NULL},
    {"-", "left to x", RENAME_ELSEWHERE, "x"},
    {"withdrawn", "-", RENAME_BEGINS, NULL},
    {"withdrawn", "alive", RENAME_TAKES, NULL},
    {"withdrawn", "left to new", RENAME_NOTHING, NULL},
    {"withdrawn", "left to x", RENAME_ELSEWHERE, "x"},
    {"withdrawn, run ", "alive", RENAME_WAITS, NULL},
    {"withdrawn, run ", "-", RENAME_WAITS, NULL},
    {"left to old", "alive", RENAME_TAKES, NULL},
    {"left to old", "run ", RENAME_WAITS, NULL},
    {"left to old", "-", RENAME_BEGINS, NULL},
    {"left to old", "left to x", RENAME_ELSEWHERE, "x"},
    {"left to old", "left to new", RENAME_ELSEWHERE, "old"},
    {"left to x", "alive", RENAME_TAKES, NULL},
    {"left to x", "-", RENAME_ELSEWHERE, "x"},
};

Test(rename, what_the_two_ledgers_say) {
        for (size_t i = 0; i < G_N_ELEMENTS(verdicts); i++) {
                _cleanup_(ledger_freep) Ledger *own = ledger_from(verdicts[i].own),
                                               *old = ledger_from(verdicts[i].old);
                _cleanup_(job_spec_freep) JobSpec *spec = spec_of("old");
                const Rename rename = rename_judge(own, old, spec);

                cr_expect_eq(rename.verdict, verdicts[i].verdict, "%s, %s: %d", verdicts[i].own,
                             verdicts[i].old, rename.verdict);
                cr_expect_eq(g_strcmp0(rename.name, verdicts[i].name), 0, "%s, %s: %s",
                             verdicts[i].own, verdicts[i].old, rename.name);
                cr_expect_eq(rename.run != NULL, rename.verdict == RENAME_WAITS);
        }
}

static const struct {
        const char *own, *next;
        bool absent;
        RenameVerdict verdict;
} returns[] = {
    {"left to x", "alive", false, RENAME_ELSEWHERE},
    {"left to x", "alive", true, RENAME_ELSEWHERE},
    {"left to x", "leaving", false, RENAME_ELSEWHERE},
    {"left to x", "leaving", true, RENAME_BACK},
    {"left to x", "leaving, run ", true, RENAME_WAITS},
    {"left to x", "withdrawn", false, RENAME_ELSEWHERE},
    {"left to x", "withdrawn", true, RENAME_BACK},
    {"left to x", "withdrawn, run ", true, RENAME_WAITS},
    {"run , left to x", "withdrawn", true, RENAME_WAITS},
    {"left to x", "left to y", true, RENAME_ELSEWHERE},
    {"left to x", "withdrawn, left to y", true, RENAME_ELSEWHERE},
    {"left to x", "-", false, RENAME_BACK},
};

Test(rename, whether_it_comes_back) {
        for (size_t i = 0; i < G_N_ELEMENTS(returns); i++) {
                _cleanup_(ledger_freep) Ledger *own = ledger_from(returns[i].own),
                                               *next = ledger_from(returns[i].next);
                const Rename rename = rename_judge_back(own, next, returns[i].absent);

                cr_expect_eq(rename.verdict, returns[i].verdict, "%s, %s, %d: %d", returns[i].own,
                             returns[i].next, returns[i].absent, rename.verdict);
                cr_expect_eq(
                    g_strcmp0(rename.name, rename.verdict == RENAME_ELSEWHERE ? "x" : NULL), 0);
                cr_expect_eq(rename.run != NULL, rename.verdict == RENAME_WAITS);
        }
}

/* With what was settled and is owed under the name in between. */
Test(rename, what_comes_back) {
        _cleanup_(job_spec_freep) JobSpec *spec = spec_of(NULL);
        _cleanup_(ledger_freep) Ledger *own = ledger_from("left to x"), *back = NULL, *anew = NULL;
        _cleanup_(ledger_freep) Ledger *next = ledger_of(
            60, 0,
            "{'run':'70-1','tick':70,'state':'failed','node':'n2','attempt':1,'not_before':90}");

        next->withdrawn = 75;
        next->last = run_record_new("x", "70-1");
        back = rename_next_back(own, next, "x", spec, 80);
        expect_ledger(back, "mark 60 | 70 failed 70-1");
        cr_expect_not_null(ledger_first_retry(back));
        cr_expect_str_eq(back->digest, next->digest);
        cr_expect_null(back->renamed);
        cr_expect_str_eq(back->was, "x");
        cr_expect_str_eq(back->last->job, "new");
        cr_expect_eq(back->withdrawn, 0);
        anew = rename_next_back(own, NULL, "x", spec, 80);
        cr_expect_str_eq(anew->digest, "");
        cr_expect_null(anew->renamed);
        cr_expect_eq(anew->from, 80);
}

/* The mark, and what is open above it, is the new name's; nothing is open under the old one. */
Test(rename, what_was_settled_and_what_is_owed_goes_along) {
        _cleanup_(job_spec_freep) JobSpec *spec = spec_of("old");
        _cleanup_(ledger_freep) Ledger *old = ledger_of(
            40, 0,
            "{'run':'30-0','tick':30,'to':40,'count':2,'state':'skipped','why':'paused'},"
            "{'run':'50-1','tick':50,'state':'failed','node':'n2','attempt':1,'not_before':70},"
            "{'run':'60-0','tick':60,'state':'skipped','why':'overlap'}");
        _cleanup_(ledger_freep) Ledger *own = NULL, *left = NULL;

        old->withdrawn = 45;
        own = rename_next_own(NULL, old, spec, 65);
        left = rename_next_old(old, spec, 65);
        expect_ledger(own, "mark 40 | 50 failed 50-1 | 60 skipped 60-0 (overlap)");
        cr_expect_not_null(ledger_first_retry(own), "what is to be attempted again is so still");
        cr_expect_str_eq(own->digest, old->digest);
        cr_expect_str_eq(own->was, "old");
        cr_expect_null(own->renamed);
        cr_expect_eq(own->from, old->from, "what is owed stays owed");
        expect_ledger(left, "mark 40");
        cr_expect_str_eq(left->renamed, "new");
        cr_expect_eq(left->from, 65);
        cr_expect(*left->digest, "not anybody's, also for a version that knows of no names");
}

/* A definition that came since began later: what was to be attempted again before is so still. */
Test(rename, what_is_owed_from_before_the_definition_in_force_goes_along) {
        _cleanup_(job_spec_freep) JobSpec *spec = spec_of("old");
        _cleanup_(ledger_freep) Ledger *old = ledger_of(
            40, 60,
            "{'run':'50-1','tick':50,'state':'failed','node':'n2','attempt':1,'not_before':70}");
        _cleanup_(ledger_freep) Ledger *own = rename_next_own(NULL, old, spec, 65);

        cr_assert_not_null(ledger_first_retry(own));
        cr_expect_str_eq(ledger_first_retry(own)->run, "50-1");
}

Test(rename, where_nothing_is_taken_over_the_job_begins_anew_and_the_old_name_is_closed) {
        _cleanup_(job_spec_freep) JobSpec *spec = spec_of("old");
        _cleanup_(ledger_freep) Ledger *before = ledger_from("left to old");
        _cleanup_(ledger_freep) Ledger *own = rename_next_own(NULL, NULL, spec, 65),
                                       *again = rename_next_own(before, NULL, spec, 66),
                                       *left = rename_next_old(NULL, spec, 65);

        cr_expect_str_eq(own->digest, "");
        cr_expect_eq(own->from, 65);
        cr_expect_str_eq(again->digest, "");
        cr_expect_null(again->renamed);
        cr_expect_eq(again->from, 66);
        cr_expect_str_eq(left->renamed, "new");
}

Test(rename, what_is_written_is_read) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_from("left to x"), *read = NULL;
        g_autofree char *text = NULL;

        ledger->was = g_strdup("before");
        text = ledger_encode(ledger);
        cr_assert_eq(ledger_decode(text, strlen(text), &read), 0);
        cr_expect_str_eq(read->renamed, "x");
        cr_expect_str_eq(read->was, "before");
        g_free(ledger->renamed);
        ledger->renamed = g_strdup("../x");
        g_free(text);
        text = ledger_encode(ledger);
        cr_expect_eq(ledger_decode(text, strlen(text), &read), -EBADMSG);
}

Test(rename, the_newest_run_is_the_new_names) {
        _cleanup_(job_spec_freep) JobSpec *spec = spec_of("old");
        _cleanup_(ledger_freep) Ledger *old = ledger_from("alive"), *own = NULL, *left = NULL;

        old->last = run_record_new("old", "30-1");
        own = rename_next_own(NULL, old, spec, 65);
        left = rename_next_old(old, spec, 65);
        cr_expect_str_eq(own->last->job, "new", "what follows it is what follows that job");
        cr_expect_str_eq(left->last->job, "old");
}
