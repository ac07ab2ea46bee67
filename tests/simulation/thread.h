/* What a process leaves of its threads (thread.c) when it ends. */
#pragma once

#include "process.h"

/* Has all of them done, so that what is theirs is freed. On the process's turn. */
void threads_finish(const Process *process);
