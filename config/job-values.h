/* The values of a job's keys that no field can hold as they are: lists of several shapes, names,
 * words that exclude each other. Functions for Key.take, with a JobSpec as the target. */
#pragma once

#include "key.h"

void job_take_after(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
void job_take_environment(const Key *key, const YamlNode *node, void *target,
                          Diagnostics *diagnostics);
void job_take_exec(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
void job_take_every(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
void job_take_lock_wait(const Key *key, const YamlNode *node, void *target,
                        Diagnostics *diagnostics);
void job_take_locks(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
void job_take_no_retry(const Key *key, const YamlNode *node, void *target,
                       Diagnostics *diagnostics);
void job_take_nodes(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
