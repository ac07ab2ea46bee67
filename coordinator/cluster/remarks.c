/* See remarks.h. */
#include "remarks.h"

#include <glib.h>
#include <stdbool.h>

#include "log.h"
#include "message-id.h"

struct Remarks {
        char *directory;
        GHashTable *said; /* a set: paths, since */
        usec_t since;
        bool more; /* it was said that there are */
};

Remarks *remarks_new(const char *directory) {
        Remarks *remarks = g_new0(Remarks, 1);

        remarks->directory = g_strdup(directory);
        remarks->said = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return remarks;
}

Remarks *remarks_free(Remarks *remarks) {
        if (!remarks)
                return NULL;
        g_hash_table_unref(remarks->said);
        g_free(remarks->directory);
        g_free(remarks);
        return NULL;
}

Remark remarks_judge(Remarks *remarks, const char *path, usec_t now) {
        if (g_hash_table_size(remarks->said) > 0 &&
            now >= usec_add(remarks->since, REMARKS_PAUSE)) {
                g_hash_table_remove_all(remarks->said);
                remarks->more = false;
        }
        if (g_hash_table_contains(remarks->said, path) || remarks->more)
                return REMARK_NONE;
        if (g_hash_table_size(remarks->said) >= REMARKS_MAX) {
                remarks->more = true;
                return REMARK_MORE;
        }
        if (g_hash_table_size(remarks->said) == 0)
                remarks->since = now;
        g_hash_table_add(remarks->said, g_strdup(path));
        return REMARK_PATH;
}

void remarks_foreign(Remarks *remarks, const char *path, const char *what) {
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA};

        switch (remarks_judge(remarks, path, clock_monotonic())) {
        case REMARK_PATH:
                log_warning(&about, "%s: not a %s of jobkeeper, ignored", path, what);
                break;
        case REMARK_MORE:
                log_warning(&about,
                            "%s: there is more that is not a %s of jobkeeper; it is ignored, and "
                            "for up to %u minutes not named",
                            remarks->directory, what, (unsigned)(REMARKS_PAUSE / USEC_PER_MINUTE));
                break;
        case REMARK_NONE:
                break;
        }
}
