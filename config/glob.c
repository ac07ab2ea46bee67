/* See glob.h. fnmatch() takes a "[" that is not closed for an ordinary character, and a pattern
 * that ends with a backslash matches nothing: both are slips, and then match no node. */
#include "glob.h"

#include <stddef.h>
#include <string.h>

/* Return: what stands behind the brackets that open at `text`; NULL when they are not closed. */
static const char *skip_brackets(const char *text) {
        text++;
        text += *text == '!' || *text == '^';
        text += *text == ']'; /* which stands for itself there */
        for (; *text && *text != ']'; text++) {
                const char *end = NULL;

                if (*text == '[' && text[1] && strchr(":.=", text[1])) {
                        const char closing[] = {text[1], ']', '\0'};

                        end = strstr(text + 2, closing);
                }
                if (end)
                        text = end + 1;
                else if (*text == '\\' && text[1])
                        text++;
        }
        return *text ? text + 1 : NULL;
}

const char *glob_fault(const char *pattern) {
        while (*pattern) {
                if (*pattern == '[') {
                        pattern = skip_brackets(pattern);
                        if (!pattern)
                                return "has a \"[\" that no \"]\" closes";
                } else if (*pattern == '\\') {
                        if (!pattern[1])
                                return "ends with a backslash";
                        pattern += 2;
                } else {
                        pattern++;
                }
        }
        return NULL;
}
