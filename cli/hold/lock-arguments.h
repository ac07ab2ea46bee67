/* The arguments of `jobkeeper lock`. Pure. */
#pragma once

#include <stdbool.h>

#include "clock.h"
#include "contender.h"

/* Splits "OPTIONS… RESOURCE -- COMMAND…" at the first "--", before any option parser sees the
 * command's own options. Return: the number of arguments before it, with *ret_command behind it; -1
 * when there is no "--" or no command. */
int lock_arguments_split(int argc, char **argv, char ***ret_command);

/* Reads --timeout. NULL is for ever. Return: 0 or -EINVAL. */
int lock_timeout_read(const char *text, usec_t *ret_timeout);

/* Reads --also RESOURCE[:shared|:exclusive]. The name itself is not judged. Return: NULL with
 * *ret_name (g_free) and *ret_mode; or newly allocated (g_free), what is wrong. */
char *lock_also_read(const char *text, char **ret_name, LockMode *ret_mode);

/* Reads --on-loss stop|continue. NULL is stop. Return: 0 or -EINVAL. */
int lock_on_loss_read(const char *text, bool *ret_go_on);
