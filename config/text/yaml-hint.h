/* What people mean when libyaml cannot go on: advice in place of the words of a scanner. Pure. */
#pragma once

#include "mark.h"

/* Explains why the text cannot be read at `mark`, where that is one of the slips that everybody
 * makes once. Return: a newly allocated message (g_free), with *mark moved to the slip; NULL when
 * the place says nothing to us, with *mark as it was. */
char *yaml_hint(const char *text, Mark *mark);
