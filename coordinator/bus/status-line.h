/* The line that `systemctl status` shows: what the daemon is about, and what keeps it from that, as
 * `jobkeeper status` has it. Told to the service manager whenever it is another. */
#pragma once

#include "view.h"

typedef struct StatusLine StatusLine;

/* The view is borrowed. Return: 0 or negative errno. */
int status_line_new(const View *view, StatusLine **ret_line);
StatusLine *status_line_free(StatusLine *line);
DEFINE_CLEANUP(StatusLine, status_line_free);
