/* See kept-file.h. */
#include "kept-file.h"

#include <errno.h>
#include <glib.h>

#include "log.h"
#include "message-id.h"

void kept_file_refuse(const char *path, int error, const char *lost) {
        int r = state_file_set_aside(path);

        log_warning(&(LogAbout){.message_id = MESSAGE_STATE_DAMAGED},
                    "%s %s, and is not believed: %s. It %s%s", path, state_file_fault(error), lost,
                    r < 0    ? "cannot be set aside: "
                    : r == 0 ? "is set aside, beside its name"
                             : "is deleted, since several are set aside already",
                    r < 0 ? g_strerror(-r) : "");
}

char *kept_file_read(const char *path, size_t most, const char *lost) {
        char *text = NULL;
        int r = state_file_read(path, most, &text, NULL);

        if (r < 0 && r != -ENOENT)
                kept_file_refuse(path, r, lost);
        return text;
}
