/* See nearest.h: the smallest number of insertions, deletions, replacements
 * and swaps of neighbours. */
#include "nearest.h"

#include <glib.h>
#include <string.h>

#define WORD_LENGTH_MAX 64

/* Return: the distance of two words no longer than WORD_LENGTH_MAX; where it is no less than
 * `least`, something that is no less either. Only the last three rows of the table are kept, and of
 * these what is no further from the diagonal than that: whatever is, is `least` at least. After two
 * rows without anything less nothing less follows. */
static size_t distance(const char *a, const char *b, size_t least) {
        size_t rows[3][WORD_LENGTH_MAX + 1];
        size_t length_a = strlen(a), length_b = strlen(b), lowest_before = 0;

        for (size_t j = 0; j <= length_b; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= length_a; i++) {
                size_t *now = rows[i % 3], *before = rows[(i + 2) % 3],
                       *two_before = rows[(i + 1) % 3];
                size_t from = i > least ? i - least : 1, to = MIN(length_b, i + least), lowest;

                lowest = now[from - 1] = from == 1 ? i : least;
                if (to < length_b)
                        now[to + 1] = least;
                for (size_t j = from; j <= to; j++) {
                        now[j] = MIN(before[j], now[j - 1]) + 1;
                        now[j] = MIN(now[j], before[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                now[j] = MIN(now[j], two_before[j - 2] + 1);
                        lowest = MIN(lowest, now[j]);
                }
                if (MIN(lowest, lowest_before) >= least)
                        return least;
                lowest_before = lowest;
        }
        return rows[length_a % 3][length_b];
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
