/* How a unit ended, from what PID 1 shows of it, how its start job ended, and what its owner wanted
 * of it. Pure. */
#pragma once

#include "start-job.h"
#include "unit-properties.h"
#include "unit-result.h"

/* The main process has ended: fills the result. `killed`: the owner wanted SIGKILL. `asked`: when
 * PID 1 was first asked to end the unit, CLOCK_MONOTONIC; USEC_INFINITY: the owner never did. */
void unit_verdict(UnitResult *result, const UnitProperties *properties, const StartJob *start_job,
                  bool killed, usec_t asked);
/* Return: whether its main process, which had started, ended while PID 1 was ending the unit: that
 * was asked to, or the unit said itself that it is about to end. */
bool unit_verdict_was_leaving(const UnitProperties *properties);
/* Fills result->detail, cut to fit. */
void unit_verdict_detail(UnitResult *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
