/* See rename.h. */
#include "rename.h"

#include <string.h>

#include "ledger-change.h"

/* Return: whether no definition is in force of it, nor is it under another name. */
static bool is_anybodys(const Ledger *ledger) {
        return !*ledger->digest && !ledger->renamed;
}

RenameNeed rename_need(const Ledger *own, const JobSpec *spec, bool changed, bool follows) {
        const char *was = spec->books.was.job;

        if (!own || is_anybodys(own))
                return was ? RENAME_LOOK : RENAME_NOT;
        if (!own->renamed)
                return RENAME_NOT;
        if (was)
                return changed ? RENAME_LOOK : RENAME_LOOK_BACK;
        return follows ? RENAME_NOT : RENAME_LOOK_BACK;
}

static Rename rename_of(RenameVerdict verdict, const LedgerEntry *run, const char *name) {
        return (Rename){.verdict = verdict, .run = run, .name = name};
}

Rename rename_judge(const Ledger *own, const Ledger *old, const JobSpec *spec) {
        const char *left = own ? own->renamed : NULL;
        const LedgerEntry *run = own ? ledger_first_claimed(own) : NULL;

        if (old && old->renamed && strcmp(old->renamed, spec->name) != 0)
                return rename_of(RENAME_ELSEWHERE, NULL, old->renamed);
        if (old && old->renamed)
                return rename_of(left ? RENAME_ELSEWHERE : RENAME_NOTHING, NULL, left);
        if (!old && left && strcmp(left, spec->books.was.job) != 0)
                return rename_of(RENAME_ELSEWHERE, NULL, left);
        if (!run && old)
                run = ledger_first_claimed(old);
        if (run)
                return rename_of(RENAME_WAITS, run, NULL);
        return rename_of(old ? RENAME_TAKES : RENAME_BEGINS, NULL, NULL);
}

/* Return: whether somebody has it, or may have. */
static bool is_somebodys(const Ledger *ledger, bool absent) {
        return ledger->renamed || !absent || (*ledger->digest && !ledger->withdrawn);
}

Rename rename_judge_back(const Ledger *own, const Ledger *next, bool absent) {
        const LedgerEntry *run = ledger_first_claimed(own);

        if (next && is_somebodys(next, absent))
                return rename_of(RENAME_ELSEWHERE, NULL, own->renamed);
        if (!run && next)
                run = ledger_first_claimed(next);
        return rename_of(run ? RENAME_WAITS : RENAME_BACK, run, NULL);
}

char *rename_left_text(const char *was, const char *name) {
        return g_strdup_printf("\"%s\" was renamed to \"%s\", and goes on as that", was, name);
}

/* Where nothing is taken over the job begins anew, as one that was withdrawn. */
Ledger *rename_next_own(const Ledger *own, const Ledger *old, const JobSpec *spec, int64_t now) {
        Ledger *next;

        if (old)
                return ledger_move(old, spec->books.was.job, spec->name);
        if (!own)
                return ledger_new(now, "");
        next = ledger_copy(own);
        ledger_adopt_digest(next, "", now);
        return next;
}

Ledger *rename_next_back(const Ledger *own, const Ledger *next, const char *was,
                         const JobSpec *spec, int64_t now) {
        Ledger *back;

        if (next) {
                back = ledger_move(next, was, spec->name);
                ledger_resume(back);
        } else {
                back = ledger_copy(own);
                ledger_adopt_digest(back, "", now);
        }
        return back;
}

Ledger *rename_next_old(const Ledger *old, const JobSpec *spec, int64_t now) {
        Ledger *next = old ? ledger_copy(old) : ledger_new(now, "");

        ledger_leave(next, spec->name, now);
        return next;
}
