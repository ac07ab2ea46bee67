/* For tests of what is reported to people: the lines must be exactly these. */
#pragma once

#include <criterion/criterion.h>
#include <glib.h>

#include "diagnostics.h"

static inline void expect_errors(const Diagnostics *diagnostics, const char *expected) {
        g_auto(GStrv) lines = diagnostics_to_strv(diagnostics);
        g_autofree char *text = g_strjoinv("\n", lines);

        cr_expect_str_eq(text, expected, "\n   got: %s\nwanted: %s\n", text, expected);
}
