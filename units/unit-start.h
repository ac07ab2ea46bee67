/* The one message that makes a unit: StartTransientUnit. */
#pragma once

#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "unit.h"

/* A copy that owns everything in it. */
UnitSpec *unit_spec_copy(const UnitSpec *spec);
UnitSpec *unit_spec_free(UnitSpec *spec);
DEFINE_CLEANUP(UnitSpec, unit_spec_free);

/* Makes the message. `referenced` asks PID 1 to keep the unit loaded for as long as our connection
 * lives, so that the result of a run that was stopped and exited 0 can still be read. Return: 0;
 * -EINVAL where a string is not UTF-8; or another negative errno. */
int unit_start_message(sd_bus *bus, const UnitSpec *spec, bool referenced,
                       sd_bus_message **ret_message);
