/* What may be trusted, cell by cell. */
#include <criterion/criterion.h>
#include <string.h>

#include "ensemble-record.h"
#include "ensemble-verdict.h"

#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OTHER_ID "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define WORD "11111111111111111111111111111111"
#define OTHER_WORD "22222222222222222222222222222222"

typedef struct VerdictCell {
        const char *title;
        const char *known; /* id; NULL: nothing */
        int64_t root, newest;
        const char *word; /* of an acceptance that is known, or NULL */
        bool elsewhere;
        const char *seen; /* id; NULL: none, "": damaged */
        int64_t seen_root, seen_newest;
        const char *seen_word;
        bool doubted;
        EnsembleVerdict expected;
        const char *instead; /* what was known in whose place it was accepted, or NULL */
} VerdictCell;

static const VerdictCell verdict_cells[] = {
    {"as we left it", ID, 5, 9, NULL, false, ID, 5, 9, NULL, false, ENSEMBLE_OURS},
    {"a crash kept the last from us", ID, 5, 9, NULL, false, ID, 5, 12, NULL, false, ENSEMBLE_OURS},
    {"nothing was ever run here", ID, 5, 0, NULL, false, ID, 5, 0, NULL, false, ENSEMBLE_OURS},
    {"accepted once, long ago", ID, 5, 9, WORD, false, ID, 5, 9, WORD, false, ENSEMBLE_OURS},
    {"servers were added", ID, 5, 9, NULL, true, ID, 5, 9, NULL, false, ENSEMBLE_OURS},

    {"nothing on either side", NULL, 0, 0, NULL, false, NULL, 0, 0, NULL, false, ENSEMBLE_NEW},
    {"of a version before", NULL, 0, 0, NULL, false, NULL, 5, 7, NULL, false, ENSEMBLE_NEW},
    {"a new node", NULL, 0, 0, NULL, false, ID, 5, 0, NULL, false, ENSEMBLE_LEARN},
    {"a new node, accepted once", NULL, 0, 0, NULL, false, ID, 5, 0, WORD, false, ENSEMBLE_LEARN},

    {"wiped", ID, 5, 9, NULL, false, NULL, 0, 0, NULL, false, ENSEMBLE_GONE},
    {"a tree of a version before", ID, 5, 9, NULL, false, NULL, 5, 9, NULL, false, ENSEMBLE_GONE},
    {"wiped, and nothing was ever run", ID, 5, 0, NULL, false, NULL, 0, 0, NULL, false,
     ENSEMBLE_GONE},
    {"gone elsewhere", ID, 5, 9, NULL, true, NULL, 0, 0, NULL, false, ENSEMBLE_GONE},
    {"made anew", ID, 5, 9, NULL, false, OTHER_ID, 3, 4, NULL, false, ENSEMBLE_OTHER},
    {"made anew, higher", ID, 5, 9, NULL, false, OTHER_ID, 50, 90, NULL, false, ENSEMBLE_OTHER},
    {"copied", ID, 5, 9, NULL, false, ID, 6, 9, NULL, false, ENSEMBLE_OTHER},
    {"sent elsewhere", ID, 5, 9, NULL, true, OTHER_ID, 3, 4, NULL, false, ENSEMBLE_ELSEWHERE},
    {"restored", ID, 5, 9, NULL, false, ID, 5, 8, NULL, false, ENSEMBLE_OLDER},
    {"restored to before the first run", ID, 5, 9, NULL, false, ID, 5, 0, NULL, false,
     ENSEMBLE_OLDER},
    {"restored, and servers were added", ID, 5, 9, NULL, true, ID, 5, 8, NULL, false,
     ENSEMBLE_OLDER},

    {"accepted, made anew", ID, 5, 9, NULL, false, OTHER_ID, 3, 0, WORD, false, ENSEMBLE_LEARN},
    {"accepted, restored", ID, 5, 9, NULL, false, ID, 5, 8, WORD, false, ENSEMBLE_LEARN},
    {"accepted again", ID, 5, 9, WORD, false, ID, 5, 8, OTHER_WORD, false, ENSEMBLE_LEARN},
    {"accepted elsewhere", ID, 5, 9, NULL, true, OTHER_ID, 3, 0, WORD, false, ENSEMBLE_LEARN, ID},
    {"in another's place", ID, 5, 9, NULL, true, OTHER_ID, 3, 0, WORD, false, ENSEMBLE_ELSEWHERE,
     OTHER_ID},
    {"in nobody's place", ID, 5, 9, NULL, true, OTHER_ID, 3, 0, WORD, false, ENSEMBLE_ELSEWHERE},
    {"in another's place, here", ID, 5, 9, NULL, false, OTHER_ID, 3, 0, WORD, false, ENSEMBLE_OTHER,
     OTHER_ID},
    {"accepted in our place, and known", ID, 5, 9, WORD, true, OTHER_ID, 3, 0, WORD, false,
     ENSEMBLE_ELSEWHERE, ID},
    {"accepted, but restored since", ID, 5, 9, WORD, false, ID, 5, 8, WORD, false, ENSEMBLE_OLDER},
    {"restored to before it was accepted", ID, 5, 9, WORD, false, ID, 5, 8, NULL, false,
     ENSEMBLE_OLDER},
    {"wiped after it was accepted", ID, 5, 9, WORD, false, OTHER_ID, 5, 9, WORD, false,
     ENSEMBLE_OTHER},

    {"another node's doubt", ID, 5, 9, NULL, false, ID, 5, 9, NULL, true, ENSEMBLE_DOUBTED},
    {"a doubt after it was accepted", ID, 5, 9, NULL, false, ID, 5, 9, WORD, true,
     ENSEMBLE_DOUBTED},
    {"a new node and a doubt", NULL, 0, 0, NULL, false, ID, 5, 0, NULL, true, ENSEMBLE_DOUBTED},
    {"made anew, and doubted", ID, 5, 9, NULL, false, OTHER_ID, 3, 0, NULL, true, ENSEMBLE_DOUBTED},
    {"unreadable", ID, 5, 9, NULL, false, "", 5, 9, NULL, false, ENSEMBLE_DAMAGED},
    {"unreadable for a new node", NULL, 0, 0, NULL, false, "", 5, 0, NULL, false, ENSEMBLE_DAMAGED},
};

static json_t *verdict_record(const VerdictCell *cell) {
        const Statement statement = {(char *)"alice", (char *)"", 1};
        json_t *record = cell->seen && *cell->seen ? ensemble_record_new(cell->seen) : NULL;

        if (record && cell->seen_word)
                ensemble_record_accept(record, cell->seen_word, &statement, cell->instead);
        if (record && cell->doubted)
                ensemble_record_doubt(record, &statement, NULL);
        return record;
}

Test(ensemble_verdict, cells) {
        for (size_t i = 0; i < sizeof verdict_cells / sizeof *verdict_cells; i++) {
                const VerdictCell *cell = &verdict_cells[i];
                json_t *record = verdict_record(cell), *words = json_array();
                const EnsembleKnown known = {cell->known, cell->root, cell->newest, words,
                                             cell->elsewhere};
                const EnsembleSeen seen = {record, cell->seen && !*cell->seen, cell->seen_root,
                                           cell->seen_newest};

                if (cell->word)
                        json_array_append_new(words, json_string(cell->word));
                cr_expect_eq(ensemble_judge(&known, &seen), cell->expected, "%s: %d", cell->title,
                             (int)ensemble_judge(&known, &seen));
                json_decref(record);
                json_decref(words);
        }
}

Test(ensemble_verdict, what_follows_from_each) {
        for (EnsembleVerdict verdict = 0; verdict < ENSEMBLE_VERDICT_COUNT; verdict++) {
                bool says_why = *ensemble_verdict_why(verdict);

                cr_expect_eq(ensemble_verdict_trusts(verdict),
                             verdict == ENSEMBLE_OURS || verdict == ENSEMBLE_LEARN);
                /* What another node says has its own words. */
                cr_expect_eq(says_why, verdict > ENSEMBLE_DOUBTED);
                cr_expect_lt(strlen(ensemble_verdict_why(verdict)), 200, "it would be cut");
                cr_expect_eq(ensemble_verdict_is_told(verdict), verdict == ENSEMBLE_GONE ||
                                                                    verdict == ENSEMBLE_OTHER ||
                                                                    verdict == ENSEMBLE_OLDER);
        }
}
