/* A mark: the place in a file that a value or an error came from. Lines and columns count from 1; 0
 * means "the whole file". The file name is borrowed: it lives as long as the loaded file does
 * (interned with g_intern_string). */
#pragma once

typedef struct Mark {
        const char *file;
        unsigned line;
        unsigned column;
} Mark;
