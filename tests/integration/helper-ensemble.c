/* See helper-ensemble.h. */
#include "helper-ensemble.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#define LEADER_LIMIT (30 * USEC_PER_SEC)
/* For clients, for those who follow, for elections. */
#define PORTS 3

struct Ensemble {
        ZooKeeperServer *servers[ENSEMBLE_SIZE];
};

static char *quorum_of(unsigned first_port) {
        g_autoptr(GString) lines = g_string_new(NULL);

        for (unsigned i = 0; i < ENSEMBLE_SIZE; i++)
                g_string_append_printf(lines, "server.%u=127.0.0.1:%u:%u\n", i + 1,
                                       first_port + PORTS * i + 1, first_port + PORTS * i + 2);
        return g_strdup(lines->str);
}

Ensemble *ensemble_new(unsigned tick_ms) {
        Ensemble *ensemble = g_new0(Ensemble, 1);
        unsigned port = zookeeper_free_ports(PORTS * ENSEMBLE_SIZE);
        g_autofree char *quorum = quorum_of(port);

        for (unsigned i = 0; i < ENSEMBLE_SIZE; i++) {
                ensemble->servers[i] =
                    zookeeper_member_new(tick_ms, port + PORTS * i, i + 1, quorum);
                zookeeper_server_launch(ensemble->servers[i]);
        }
        for (size_t i = 0; i < ENSEMBLE_SIZE; i++)
                zookeeper_server_await(ensemble->servers[i]);
        return ensemble;
}

Ensemble *ensemble_free(Ensemble *ensemble) {
        if (!ensemble)
                return NULL;
        for (size_t i = 0; i < ENSEMBLE_SIZE; i++)
                zookeeper_server_free(ensemble->servers[i]);
        g_free(ensemble);
        return NULL;
}

ZooKeeperServer *ensemble_server(Ensemble *ensemble, size_t index) {
        return ensemble->servers[index];
}

const char *ensemble_address(Ensemble *ensemble, size_t index) {
        return zookeeper_server_address(ensemble->servers[index]);
}

size_t ensemble_find(Ensemble *ensemble, const char *address) {
        for (size_t i = 0; i < ENSEMBLE_SIZE; i++)
                if (strcmp(ensemble_address(ensemble, i), address) == 0)
                        return i;
        cr_assert_fail("nobody is \"%s\"", address);
        return 0;
}

size_t ensemble_leader(Ensemble *ensemble) {
        usec_t until = clock_monotonic() + LEADER_LIMIT;

        for (size_t i = 0; clock_monotonic() < until; i = (i + 1) % ENSEMBLE_SIZE) {
                g_autofree char *answer = zookeeper_ask(ensemble_address(ensemble, i), "srvr");

                if (answer && strstr(answer, "Mode: leader"))
                        return i;
        }
        cr_assert_fail("nobody leads");
        return 0;
}
