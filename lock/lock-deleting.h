/* In which directories contenders of a session are still to be deleted. */
#pragma once

#include "session.h"

/* Something there begins to be deleted, or to be looked for; and has ended. */
void deleting_begins(Session *session, const char *directory);
void deleting_ends(Session *session, const char *directory);
