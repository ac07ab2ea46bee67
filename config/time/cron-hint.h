/* What whoever writes cron's times, or nearly cron's, is told: how they are written here. */
#pragma once

#include <stdbool.h>

/* Whoever comes from cron takes it for granted that times are local. */
#define CRON_ZONE_HINT "Its times are UTC where no \"timezone\" is set; cron's are local"

/* Return: whether `text` is cron's times, or looks like them, with a newly allocated sentence
 * fragment that says how they are written here, or what cron would not take either (g_free). For
 * texts that are no calendar expressions. */
bool cron_explain(const char *text, char **ret_message);
