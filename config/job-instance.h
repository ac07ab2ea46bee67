/* A job of mode each-node, as it is on one node: a job of its own, "JOB@NODE", that runs there
 * alone, with runs, a ledger and retries of its own. So nothing else needs to know of the mode, and
 * a fleet costs each node one job, however large it is.
 *
 * What keeps the nodes apart is the lock that would be the job's own, "job:JOB": to an instance it
 * is one more resource, and all of them ask for the same. Who waits there waits for its turn, and
 * the last node of a roll waits for all the others: without a limit, unless the job says one. Of
 * the instance itself there is one node, whose ledger says whether a run of it is under way: it has
 * no lock of its own. Pure. */
#pragma once

#include "job.h"

/* Makes a job of mode each-node what it is on that node. */
void job_spec_instantiate(JobSpec *spec, const char *node);

/* `spec` is a job of mode each-node, or an instance of it on any node. Return: newly allocated
 * (job_spec_free()), what decides whether that node may run its instance there: the name and the
 * place, and nothing else. */
JobSpec *job_instance_outline(const JobSpec *spec, const char *node);
