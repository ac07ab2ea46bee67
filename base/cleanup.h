/* Scope-bound cleanup, so that every early return is a clean one.
 *
 * Destructors take NULL and half-built objects and return NULL. Each type's header declares its
 * macro with DEFINE_CLEANUP and variables are then declared `_cleanup_(foo_freep) Foo *foo =
 * NULL;`. GLib's own types use g_autoptr and g_autofree; ownership moves with g_steal_pointer in
 * both worlds.
 */
#pragma once

#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Declares FUNCTIONp(), the form the compiler's cleanup attribute wants, for a destructor `Type
 * *FUNCTION(Type *)`. */
#define DEFINE_CLEANUP(Type, function)                                                             \
        static inline void function##p(Type **object) { /* NOLINT(bugprone-macro-parentheses) */   \
                if (*object)                                                                       \
                        *object = function(*object);                                               \
        }                                                                                          \
        struct cleanup_swallow_semicolon

/* Closes *fd when it is one. Errors are of no use to anybody at the end of a scope. */
static inline void close_fdp(int *fd) {
        if (*fd >= 0)
                (void)close(*fd);
        *fd = -1;
}
#define _cleanup_close_ _cleanup_(close_fdp)
