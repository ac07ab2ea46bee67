/* See nearest.h: the smallest number of insertions, deletions, replacements
 * and swaps of neighbours. */
#include "nearest.h"

#include <glib.h>
#include <string.h>

#define WORD_LENGTH_MAX 64

/* Return: the distance of two words no longer than WORD_LENGTH_MAX. Only the last three rows of the
 * table are kept. */
static size_t distance(const char *a, const char *b) {
        size_t rows[3][WORD_LENGTH_MAX + 1];
        size_t length_a = strlen(a), length_b = strlen(b);

        for (size_t j = 0; j <= length_b; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= length_a; i++) {
                size_t *now = rows[i % 3], *before = rows[(i + 2) % 3],
                       *two_before = rows[(i + 1) % 3];

                now[0] = i;
                for (size_t j = 1; j <= length_b; j++) {
                        now[j] = MIN(before[j], now[j - 1]) + 1;
                        now[j] = MIN(now[j], before[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                now[j] = MIN(now[j], two_before[j - 2] + 1);
                }
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
                size_t d;

                if (strlen(*names) > WORD_LENGTH_MAX)
                        continue;
                d = distance(word, *names);
                if (d < least) {
                        least = d;
                        nearest = *names;
                }
        }
        return nearest;
}
