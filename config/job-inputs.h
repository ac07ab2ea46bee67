/* What a job's command is given in files of its machine: credentials, and variables of its
 * environment. Functions for Key.take, with a JobSpec as the target. Only the paths are judged
 * here; what is in the files is read by the service manager as a run starts. */
#pragma once

#include "key.h"

void job_take_credentials(const Key *key, const YamlNode *node, void *target,
                          Diagnostics *diagnostics);
void job_take_environment_files(const Key *key, const YamlNode *node, void *target,
                                Diagnostics *diagnostics);
