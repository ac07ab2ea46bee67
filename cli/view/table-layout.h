/* How a table is made to fit a terminal: how wide its columns may be, and where a long text is
 * broken. Pure. */
#pragma once

#include <glib.h>

/* Return: how many places the text takes on a terminal. */
guint text_width(const char *text);

/* Return: newly allocated (g_free), the text with line breaks so that no line is wider than `width`
 * (0: it stays one line): between words; inside of a word that is too long by itself behind one of
 * "-./_:,", and where it has none, anywhere. */
char *text_wrap(const char *text, guint width);

/* Return: newly allocated (g_free), lines of text, each wrapped to that width (0: left as it is),
 * with what does not fit on a first line `indent` places from the left. */
char *text_wrap_hanging(const char *text, guint width, guint indent);

/* Return: newly allocated (g_free), what a cell such as "07:42:00 (in 3h 2min)" says in brief: what
 * stands in its parentheses; the whole text where it has none. */
char *text_in_brief(const char *text);

/* Lowers the widest of `widths` to a common level until their sum is no more than `room`. Return:
 * that level, G_MAXUINT when nothing had to be lowered. */
guint layout_level(guint *widths, guint count, guint room);
