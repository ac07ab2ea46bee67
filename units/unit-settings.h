/* Further settings of a unit, as lines of its drop-in (launch-dropin.h): what no property of the
 * start is needed for. A drop-in wins over those, so that what a unit's life rests on is said once
 * more behind them. */
#pragma once

#include <glib.h>

#include "unit-start.h"

/* Appends both sections, and leaves the text in [Service], whether there are settings or not.
 * Return: 0; -EINVAL: one of them is no line of its own. */
int unit_settings_append(GString *text, const UnitSpec *spec);
bool unit_settings_are_none(const UnitSpec *spec);
