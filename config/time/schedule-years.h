/* The years in which schedules and calendar expressions have ticks. */
#pragma once

#include <stdint.h>

#define SCHEDULE_YEAR_MIN 1970
#define SCHEDULE_YEAR_MAX 2199
/* The last tick that a schedule can have: 2199-12-31 23:59:59 UTC. */
#define SCHEDULE_TICK_MAX INT64_C(7258118399)
