/* What is known of the settings that the jobs of this machine have: the same ones are not checked
 * twice, be they another job's, or a job's after a reload. For any thread. */
#pragma once

#include "cleanup.h"
#include "unit-check.h"

typedef struct UnitChecks UnitChecks;

UnitChecks *unit_checks_new(void);
/* Return: NULL. */
UnitChecks *unit_checks_free(UnitChecks *checks);
DEFINE_CLEANUP(UnitChecks, unit_checks_free);

/* Return: as unit_check_run(), from memory where it is certain. May block for long. */
char *unit_checks_ask(UnitChecks *checks, const char *text, bool *ret_certain);
