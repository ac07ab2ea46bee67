/* See exit-set.h. */
#include "exit-set.h"

#include <glib.h>
#include <string.h>

/* The largest that a process can have; 0 is no failure. */
#define STATUS_MAX 255

static bool status_parse(const char *text, unsigned *ret_status) {
        guint64 number = 0;

        if (*text == '0' || !g_ascii_string_to_unsigned(text, 10, 1, STATUS_MAX, &number, NULL))
                return false;
        *ret_status = (unsigned)number;
        return true;
}

static bool exit_range_parse(const char *item, unsigned *ret_first, unsigned *ret_last) {
        g_auto(GStrv) ends = g_strsplit(item, "..", 2);
        unsigned first = 0, last = 0;

        if (!ends[0] || !status_parse(ends[0], &first))
                return false;
        last = first;
        if (ends[1] && !status_parse(ends[1], &last))
                return false;
        *ret_first = first;
        *ret_last = last;
        return true;
}

const char *exit_range_fault(const char *item) {
        unsigned first = 0, last = 0;

        if (!exit_range_parse(item, &first, &last))
                return "is no exit status from 1 to 255, and no range of them such as 64..78";
        return first > last ? "is a range that ends before it begins" : NULL;
}

static void exit_set_append(GString *text, unsigned first, unsigned last) {
        g_string_append_printf(text, text->len > 0 ? ",%u" : "%u", first);
        if (last > first)
                g_string_append_printf(text, "..%u", last);
}

char *exit_set_of(const char *const *items) {
        bool in[STATUS_MAX + 2] = {false}; /* the one after the last is never in */
        g_autoptr(GString) text = g_string_new(NULL);
        unsigned first = 0, last = 0;

        for (; items && *items; items++)
                if (exit_range_parse(*items, &first, &last))
                        for (unsigned status = first; status <= last; status++)
                                in[status] = true;
        for (unsigned status = 1; status <= STATUS_MAX; status++) {
                if (in[status] && !in[status - 1])
                        first = status;
                if (in[status] && !in[status + 1])
                        exit_set_append(text, first, status);
        }
        return text->len > 0 ? g_strdup(text->str) : NULL;
}

bool exit_set_has(const char *set, int status) {
        g_auto(GStrv) items = set ? g_strsplit(set, ",", -1) : NULL;
        unsigned first = 0, last = 0;

        for (char **item = items; item && *item; item++)
                if (exit_range_parse(*item, &first, &last) && status >= (int)first &&
                    status <= (int)last)
                        return true;
        return false;
}
