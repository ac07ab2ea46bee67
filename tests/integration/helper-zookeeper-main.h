/* main() for Criterion programs whose tests share one server: the runner starts it, and its
 * children find the address in zookeeper_shared().
 *
 * A macro, and not a function that a one-line main() calls, because Criterion's children begin by
 * overwriting the first bytes of main() with a jump: a main() that is shorter than that jump takes
 * its neighbour with it.
 */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>

#include "helper-zookeeper.h"

#define ZOOKEEPER_MAIN                                                                             \
        int main(int argc, char **argv) {                                                          \
                struct criterion_test_set *tests = criterion_initialize();                         \
                ZooKeeperServer *server = NULL;                                                    \
                int status = 0;                                                                    \
                                                                                                   \
                if (criterion_handle_args(argc, argv, true)) {                                     \
                        server = zookeeper_server_new(ZOOKEEPER_TICK_MS);                          \
                        setenv(ZOOKEEPER_SHARED_VARIABLE, zookeeper_server_address(server), 1);    \
                        status = !criterion_run_all_tests(tests);                                  \
                        server = zookeeper_server_free(server);                                    \
                }                                                                                  \
                criterion_finalize(tests);                                                         \
                return status;                                                                     \
        }                                                                                          \
        struct cleanup_swallow_semicolon
