/* `unit:` of a job: systemd's settings of the units of its runs, as lines for a file. A function
 * for Key.take, with a JobSpec as the target. Which settings there are is judged here, and that
 * each stays a line of its own; what their values mean is systemd's to know, on the machine of the
 * run.
 */
#pragma once

#include "key.h"

void job_take_unit(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics);
