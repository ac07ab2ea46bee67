/* See nearest.h: the smallest number of insertions, deletions, replacements
 * and swaps of neighbours. */
#include "nearest.h"

#include <glib.h>
#include <string.h>

#define WORD_LENGTH_MAX 64

/* The table of two words' distances, of which the last three rows are kept, and of these what is
 * less than `least` away from the diagonal: whatever is not, is `least` at least. */
typedef struct Words {
        const char *a, *b;
        size_t length_b, least;
        size_t rows[3][WORD_LENGTH_MAX + 1];
} Words;

static size_t words_cell(const Words *words, size_t i, size_t j) {
        const size_t *now = words->rows[i % 3], *before = words->rows[(i + 2) % 3];
        const char *a = words->a + i, *b = words->b + j;
        size_t value = MIN(MIN(before[j], now[j - 1]) + 1, before[j - 1] + (a[-1] != b[-1]));

        if (i > 1 && j > 1 && a[-1] == b[-2] && a[-2] == b[-1])
                value = MIN(value, words->rows[(i + 1) % 3][j - 2] + 1);
        return value;
}

/* Return: the least of the row. */
static size_t words_row(Words *words, size_t i) {
        size_t *now = words->rows[i % 3], from = i > words->least ? i - words->least : 1,
               to = MIN(words->length_b, i + words->least), lowest = from == 1 ? i : words->least;

        now[from - 1] = lowest;
        if (to < words->length_b)
                now[to + 1] = words->least;
        for (size_t j = from; j <= to; j++) {
                now[j] = words_cell(words, i, j);
                lowest = MIN(lowest, now[j]);
        }
        return lowest;
}

/* Return: the distance of two words no longer than WORD_LENGTH_MAX; where it is no less than
 * `least`, something that is no less either. After two rows without anything less nothing less
 * follows. */
static size_t distance(const char *a, const char *b, size_t least) {
        Words words = {.a = a, .b = b, .length_b = strlen(b), .least = least};
        size_t length_a = strlen(a), lowest_before = 0;

        for (size_t j = 0; j <= words.length_b; j++)
                words.rows[0][j] = j;
        for (size_t i = 1; i <= length_a; i++) {
                size_t lowest = words_row(&words, i);

                if (MIN(lowest, lowest_before) >= least)
                        return least;
                lowest_before = lowest;
        }
        return words.rows[length_a % 3][words.length_b];
}

const char *nearest_name(const char *word, const char *const *names) {
        const char *nearest = NULL;
        size_t length = strlen(word), least;

        if (length > WORD_LENGTH_MAX)
                return NULL;
        least = (length + 2) / 3 + 1; /* one more than we take for a slip of the finger */
        for (; names && *names; names++) {
                size_t of_name = strlen(*names), d;

                if (of_name > WORD_LENGTH_MAX ||
                    MAX(of_name, length) - MIN(of_name, length) >= least)
                        continue;
                d = distance(word, *names, least);
                if (d < least) {
                        least = d;
                        nearest = *names;
                }
        }
        return nearest;
}
