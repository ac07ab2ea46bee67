/* Pauses between tries. */
#pragma once

#include "clock.h"

/* Return: how long to wait after that many failures: exponential, with jitter. */
usec_t lock_backoff(unsigned failures);
