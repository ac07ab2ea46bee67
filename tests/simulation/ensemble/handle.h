/* What a process leaves of its ZooKeeper sessions when it ends. See handle.c. */
#pragma once

#include "process.h"

/* The process is over, and all its objects were freed: its connections end now. */
void handles_finish(const Process *process);
