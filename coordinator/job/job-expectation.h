/* What is expected of a job (`expect-within`): looks at its ledger when that says that no run has
 * succeeded for too long, and has that told once in the cluster (expectation.h).
 *
 * What is known of the ledger is enough to know that it is not so. Else it is read, and before
 * anything is told the ledger is written to say so, by the version that was read: of several nodes
 * that come to it at once one tells. While it stands there that it was told it is read now and
 * then, since a success that ends that comes to the ledger alone. A job of which nothing is
 * expected has no timer here. */
#pragma once

#include "job-ledger.h"

typedef struct JobExpectation JobExpectation;

/* Both are borrowed, and live longer. */
JobExpectation *job_expectation_new(const JobParts *parts, const JobLedger *ledger);
JobExpectation *job_expectation_free(JobExpectation *expectation);
DEFINE_CLEANUP(JobExpectation, job_expectation_free);

/* There is a ready session, our rank or the definition is another: looks when there is something to
 * see. */
void job_expectation_begin(JobExpectation *expectation);
/* The session is gone: nothing is looked at any more. */
void job_expectation_reset(JobExpectation *expectation);
