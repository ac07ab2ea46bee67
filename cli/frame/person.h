/* Who types. */
#pragma once

/* Return: the person's name, as far as the system says it; sudo says whose hands these are.
 * Borrowed. */
const char *person_typing(void);
