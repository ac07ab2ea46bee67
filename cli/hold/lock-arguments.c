/* See lock-arguments.h. */
#include "lock-arguments.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "duration.h"
#include "name.h"
#include "resource.h"

int lock_arguments_split(int argc, char **argv, char ***ret_command) {
        for (int i = 1; i < argc; i++) {
                if (!g_str_equal(argv[i], "--"))
                        continue;
                if (i + 1 == argc)
                        return -1;
                *ret_command = argv + i + 1;
                return i;
        }
        return -1;
}

int lock_timeout_read(const char *text, usec_t *ret_timeout) {
        if (!text) {
                *ret_timeout = USEC_INFINITY;
                return 0;
        }
        return duration_parse(text, ret_timeout) < 0 ? -EINVAL : 0;
}

char *lock_also_read(const char *text, char **ret_name, LockMode *ret_mode) {
        const char *colon = strrchr(text, ':');
        const char *word = colon ? colon + 1 : "exclusive";

        /* A job's own lock is refused as one, not for what follows its colon. */
        if (name_is_of_job_lock(text))
                return resource_refusal(text);
        if (!g_str_equal(word, "shared") && !g_str_equal(word, "exclusive"))
                return g_strdup_printf("--also \"%s\": what follows the colon must be shared or "
                                       "exclusive, not \"%s\"",
                                       text, word);
        *ret_name = colon ? g_strndup(text, (gsize)(colon - text)) : g_strdup(text);
        *ret_mode = g_str_equal(word, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE;
        return NULL;
}

int lock_on_loss_read(const char *text, bool *ret_go_on) {
        if (text && !g_str_equal(text, "stop") && !g_str_equal(text, "continue"))
                return -EINVAL;
        *ret_go_on = text && g_str_equal(text, "continue");
        return 0;
}
