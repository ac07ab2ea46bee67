/* `mode: service`: a job without ticks that is to run always, on one node. What its keys say of
 * ticks, of runs side by side and of an end that is final does not concern it: a job that has such
 * a key itself is told so, and what `defaults:` says for the others is not for it. */
#pragma once

#include "diagnostics.h"
#include "job.h"
#include "yaml.h"

/* Judges and completes a service whose keys were read: its own (`job`) and those of `defaults`.
 * Faults go to `diagnostics`. */
void job_service_read(JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics);
/* Judges the keys of a job that is no service, and takes from it what is not for it. */
void job_service_refuse_keys(JobSpec *spec, const YamlNode *job, Diagnostics *diagnostics);
