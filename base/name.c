/* See name.h. */
#include "name.h"

#include <string.h>

static bool name_char_is_valid(char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

const char *name_fault(const char *name) {
        if (!name || !*name)
                return "is empty";
        if (strlen(name) > NAME_LENGTH_MAX)
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

bool name_is_of_job_lock(const char *name) {
        return name && strncmp(name, NAME_OF_JOB_LOCK_PREFIX, strlen(NAME_OF_JOB_LOCK_PREFIX)) == 0;
}
