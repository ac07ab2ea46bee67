/* The launch step of a unit: a drop-in that has PID 1 run a program of ours before the command,
 * when the unit is stopped after a good end, and after the stop.
 *
 * It is a file and no property of the start: "+", which has it run as root and outside of the
 * unit's sandbox, is written by PID 1 of systemd 252 in a way that it does not understand after the
 * next daemon-reload. A drop-in that is there before PID 1 first hears of the unit is read without
 * one.
 *
 * The unit's further settings (unit-settings.h) stand in it, too.
 *
 * The directory is the unit's own, and what the program notes about the unit is kept in it as well:
 * it goes when PID 1 has forgotten the unit, and not before.
 */
#pragma once

#include "unit-start.h"

/* Where PID 1 looks for drop-ins that last until the next boot. */
#define LAUNCH_DROPIN_ROOT "/run/systemd/system"

/* Return: the directory of that unit below root, newly allocated. */
char *launch_dropin_directory(const char *root, const char *unit);

/* Writes it, where the spec has a launch step or further settings. Return: 0; -EINVAL where a word
 * of it cannot stand in a unit's file; or negative errno: then the unit must not be started. */
int launch_dropin_write(const char *root, const UnitSpec *spec);

/* Writes one for no unit, and removes it. Return: as launch_dropin_write(). */
int launch_dropin_try(const char *root);

/* Return: whether that unit has one, and of this nonce. */
bool launch_dropin_is_of(const char *root, const char *unit, const char *nonce);

/* PID 1 has forgotten the unit: removes it, and what was noted with it. What others have put there
 * stays. */
void launch_dropin_remove(const char *root, const char *unit);

/* Return: newly allocated (g_strfreev), NULL-terminated: the units that have one. */
char **launch_dropin_list(const char *root);
