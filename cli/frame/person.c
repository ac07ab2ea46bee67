/* See person.h. */
#include "person.h"

#include <glib.h>

const char *person_typing(void) {
        const char *sudo = g_getenv("SUDO_USER");

        return sudo && *sudo ? sudo : g_get_user_name();
}
