/* Lists of children as a server might send them: one name a line. Whatever they are, parsing ends,
 * the order is total, and a twin stands behind whom it belongs to. */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_queue(const Contender *queue, size_t n) {
        for (size_t i = 1; i < n; i++)
                if (contender_compare(&queue[i - 1], &queue[i]) > 0 ||
                    contender_compare(&queue[i], &queue[i - 1]) < 0)
                        abort();
}

/* A twin is another contender, of the same number and right after. */
static void check_twin(const Contender *contender) {
        g_autofree char *twin = contender_twin(contender->name);
        Contender other;

        if (!twin) {
                if (contender->may_leave_twin)
                        abort();
                return;
        }
        contender_parse(twin, &other);
        if (other.kind != CONTENDER_READER || other.sequence != contender->sequence ||
            contender_compare(contender, &other) >= 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *)data, size);
        g_auto(GStrv) names = g_strsplit(text, "\n", 4096);
        size_t n = g_strv_length(names);
        g_autofree Contender *queue = g_new0(Contender, n + 1);

        for (size_t i = 0; i < n; i++) {
                contender_parse(names[i], &queue[i]);
                if (queue[i].kind == CONTENDER_FOREIGN && (queue[i].uuid[0] || queue[i].sequence))
                        abort();
                check_twin(&queue[i]);
                if (queue[i].sequence < INT32_MIN || queue[i].sequence > INT32_MAX)
                        abort();
        }
        qsort(queue, n, sizeof *queue, contender_compare);
        check_queue(queue, n);
        return 0;
}
