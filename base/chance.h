/* The one place where random bytes come from. They are the kernel's (getrandom(2)), fit for what
 * nobody may guess: nonces, names of contenders, the bus's ids. What is made of them is in draw.h.
 * A test that needs the same chance again gives its program another chance_fill(). */
#pragma once

#include <stddef.h>

/* Never fails: it waits where the kernel has no entropy yet, which is over before services start.
 */
void chance_fill(void *buffer, size_t size);
