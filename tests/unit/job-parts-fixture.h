/* The parts of a job's ledger, of a whole daemon (daemon-fixture.h) whose own job runs elsewhere:
 * what is asked of the server by the test's own ledgers is theirs alone. */
#pragma once

#include "daemon-fixture.h"
#include "job-parts.h"

/* For await(): the daemon is a member, its own job was read, and the clocks were compared. */
bool job_parts_are_ready(void);
/* Starts the daemon and waits until it asks for nothing more. Return: its parts, borrowed from it,
 * without what tells who follows whom. */
JobParts job_parts_begin(void);
