/* That PID 1 of this machine does not answer: what were claimed meanwhile would begin late, or not
 * at all, and other nodes can begin it now. So nothing is claimed until there is an answer
 * (units/silence.h says when that is so), and it is said once, and why. */
#pragma once

#include "unit-manager.h"

typedef struct SystemdFault SystemdFault;

SystemdFault *systemd_fault_new(void);
SystemdFault *systemd_fault_free(SystemdFault *fault);
DEFINE_CLEANUP(SystemdFault, systemd_fault_free);

/* Follows whether PID 1 answers, from now on. `changed` comes from the loop. */
void systemd_fault_follow(SystemdFault *fault, UnitManager *units, void (*changed)(void *userdata),
                          void *userdata);

/* Return: why nothing would be begun at present, a sentence, until this is asked again; NULL: PID 1
 * answers, as far as is known. */
const char *systemd_fault_why(SystemdFault *fault);
