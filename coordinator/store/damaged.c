/* See damaged.h. */
#include "damaged.h"

#include <glib.h>

#include "log.h"
#include "message-id.h"
#include "paths.h"

/* No record is nearly as long. */
#define KEPT_MAX ((size_t)64 * 1024)

void damaged_keep(Zk *zk, const char *root, const char *job, const char *run, const char *data,
                  size_t size) {
        const LogAbout about = {.message_id = MESSAGE_RECORD_DAMAGED, .job = job, .run = run};
        g_autofree char *path = path_damaged(root, job, run),
                        *text = g_strndup(data ? data : "", MIN(size, KEPT_MAX));

        log_error(&about, "run %s: " DAMAGED_WHY "; what stood there is kept at %s", run, path);
        (void)zk_create(zk, path, text, 0, NULL, NULL, NULL);
}
