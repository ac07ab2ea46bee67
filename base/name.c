/* See name.h. */
#include "name.h"

#include <glib.h>
#include <string.h>

/* Longer than any name of ours, so that whoever mistyped one sees it whole. */
#define SHOWN_MAX 200

static bool name_char_is_valid(char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

const char *name_fault(const char *name) {
        if (!name || !*name)
                return "is empty";
        if (strnlen(name, NAME_LENGTH_MAX + 1) > NAME_LENGTH_MAX)
                return "is longer than 100 bytes";
        for (const char *c = name; *c; c++)
                if (!name_char_is_valid(*c))
                        return "may only have the characters a-z, 0-9, '.', '_' and '-'";
        if (*name == '.' || *name == '_' || *name == '-')
                return "must begin with a letter or a digit";
        return NULL;
}

bool name_is_valid(const char *name) {
        return !name_fault(name);
}

const char *job_name_node(const char *name) {
        const char *at = name ? strchr(name, '@') : NULL;
        g_autofree char *job = at ? job_name_base(name) : NULL;

        return at && name_is_valid(job) && name_is_valid(at + 1) ? at + 1 : NULL;
}

bool job_name_is_valid(const char *name) {
        return name_is_valid(name) || job_name_node(name);
}

char *job_name_base(const char *name) {
        return g_strndup(name, strcspn(name, "@"));
}

char *job_name_of_instance(const char *job, const char *node) {
        return g_strconcat(job, "@", node, NULL);
}

bool name_is_of_job_lock(const char *name) {
        return name && strncmp(name, NAME_OF_JOB_LOCK_PREFIX, strlen(NAME_OF_JOB_LOCK_PREFIX)) == 0;
}

char *name_shown(const char *text) {
        size_t length = strnlen(text, SHOWN_MAX + 1), shown = MIN(length, SHOWN_MAX);
        g_autofree char *start = NULL;

        while (length > SHOWN_MAX && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
                shown--; /* not through a character */
        start = g_utf8_make_valid(text, (gssize)shown);
        return g_strconcat(start, length > SHOWN_MAX ? "…" : "", NULL);
}
