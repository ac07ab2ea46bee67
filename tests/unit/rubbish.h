/* What may stand in the place of a file of ours that is none: for tests of what is read from
 * disk. */
#pragma once

typedef enum Rubbish {
        RUBBISH_EMPTY,
        RUBBISH_BINARY,
        RUBBISH_NEWLINES,
        RUBBISH_TYPES,  /* JSON of other types: an object */
        RUBBISH_ARRAY,  /* the same, an array */
        RUBBISH_LENGTH, /* 100 MB */
        RUBBISH_DIRECTORY,
        RUBBISH_FIFO, /* that nobody writes to */
        RUBBISH_SOCKET,
        RUBBISH_LINK, /* to a file that is there */
        RUBBISH_DANGLING,
        RUBBISH_OTHERS, /* another user's; where we are not root, it is ours */
        RUBBISH_KINDS,
} Rubbish;

/* Puts it there, in the place of what was there. Its directory is made. */
void rubbish_put(const char *root, const char *name, Rubbish kind);
const char *rubbish_word(Rubbish kind);
