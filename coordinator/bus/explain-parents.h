/* What a tick came to with the jobs that another one runs after: why that one was run for it, or
 * was not. Their newest records of the tick are read, and the last stretch of skipped ticks that it
 * may be in; of a job that is itself run after others, the runs that have the tick from them. */
#pragma once

#include "answer.h"
#include "jobset.h"

/* Of one job's records so many tell of a tick: of its last attempts, or of the runs that it was
 * followed by. */
#define EXPLAIN_PARENT_RUNS_MAX 3

/* Begins the reading, into answer->gathered as "follows" of Explain (bus-interface.h). Does nothing
 * where the job runs after no other. */
void explain_parents_read(Answer *answer, const JobSpec *spec);
