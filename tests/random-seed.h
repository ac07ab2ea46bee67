/* The seed of tests that throw dice: printed, and taken from the environment where a run is to be
 * repeated. Of a test with real servers only the dice come back, not what the servers made of them.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

#define SEED_VARIABLE "JOBKEEPER_TEST_SEED"

static inline guint32 random_seed(void) {
        const char *given = g_getenv(SEED_VARIABLE);
        guint32 seed = given ? (guint32)g_ascii_strtoull(given, NULL, 10) : g_random_int();

        fprintf(stderr, SEED_VARIABLE "=%u throws the same dice\n", seed);
        g_random_set_seed(seed); /* of what the code under test draws: uuids, pauses */
        return seed;
}
