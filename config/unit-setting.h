/* Which of systemd's settings the unit of a run may be given by its job, and in which section they
 * stand. Pure.
 *
 * A drop-in wins over what jobkeeper asks PID 1 for, so that a setting which is not listed is
 * refused, and what is listed can neither start, stop, kill nor move a run, nor hide from the steps
 * of jobkeeper in the unit (jobkeeper-launch(8)) what they read and write under /run. Those run
 * outside of the sandbox, but not of every mount: what is mounted over a path, or is another root,
 * they have, too.
 */
#pragma once

typedef enum UnitSection {
        UNIT_SECTION_NONE, /* no such setting, or a refused one */
        UNIT_SECTION_UNIT,
        UNIT_SECTION_SERVICE,
} UnitSection;

/* Return: where the setting stands. */
UnitSection unit_setting_section(const char *name);

/* Return: all of them, newly allocated (g_strfreev). */
char **unit_setting_names(void);

/* Return: why a setting that systemd knows is refused, as a sentence, newly allocated (g_free);
 * NULL: it is none of those. */
char *unit_setting_refusal(const char *name);

/* Return: the setting that was probably meant, NULL when none is near. */
const char *unit_setting_nearest(const char *name);
