/* A run of a service, which ends by itself some day or never: whether it is to go on here. Anything
 * else that runs is left to end when its definition goes or its node is drained; a service would be
 * there for ever, or keep others from having it. What is ended so is recorded as interrupted, and
 * whoever else may have the service has the next run of it at once. */
#pragma once

#include "jobset.h"
#include "run.h"

/* Ends the run where the job files of this node have its job no more, or have it as something else
 * than a service, or not for this node. What a broken file does not say is not gone. Anything but a
 * run of a service is left alone. */
void service_run_judge(Run *run, const JobSet *jobset);
/* Ends the run, if it is one of a service. `why` is a part of a sentence. */
void service_run_end(Run *run, const char *why);
