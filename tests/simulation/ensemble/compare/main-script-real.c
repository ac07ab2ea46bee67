/* The script on real servers. Usage: script-real SEED STEPS SERVERS (1 or 3) */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper-ensemble.h"
#include "helper-proxy.h"
#include "script.h"

#define LIMIT (60 * USEC_PER_SEC)
/* Long, so that a busy machine's servers do not lose each other. */
#define TICK_MS 2000

static struct {
        sd_event *event;
        ZooKeeperServer *server;
        Ensemble *ensemble;
        char *addresses;
        Proxy *proxy;
} stage;

void stage_do(unsigned slot, void (*func)(void *userdata), void *userdata) {
        (void)slot;
        func(userdata);
}

sd_event *stage_event(unsigned slot) {
        (void)slot;
        return stage.event;
}

const char *stage_address(unsigned slot) {
        return slot == 0 ? proxy_address(stage.proxy) : stage.addresses;
}

void stage_await(bool (*condition)(void *userdata), void *userdata) {
        if (!loop_until(stage.event, condition, userdata, LIMIT)) {
                fprintf(stderr, "nothing comes any more\n");
                abort();
        }
}

void stage_cut(void) {
        proxy_admit(stage.proxy, false);
        proxy_cut(stage.proxy);
}

void stage_mend(void) {
        proxy_admit(stage.proxy, true);
}

static void stage_begin(unsigned servers) {
        (void)sd_event_default(&stage.event);
        if (servers == 1) {
                stage.server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
                stage.addresses = g_strdup(zookeeper_server_address(stage.server));
        } else {
                stage.ensemble = ensemble_new(TICK_MS);
                stage.addresses = g_strjoin(",", ensemble_address(stage.ensemble, 0),
                                            ensemble_address(stage.ensemble, 1),
                                            ensemble_address(stage.ensemble, 2), NULL);
        }
        stage.proxy = proxy_new(stage.event, servers == 1 ? stage.addresses
                                                          : ensemble_address(stage.ensemble, 0));
}

static void stage_end(void) {
        stage.proxy = proxy_free(stage.proxy);
        stage.server = zookeeper_server_free(stage.server);
        stage.ensemble = ensemble_free(stage.ensemble);
        stage.event = sd_event_unref(stage.event);
        g_free(stage.addresses);
}

int main(int argc, char **argv) {
        if (argc != 4)
                return EXIT_FAILURE;
        stage_begin((unsigned)strtoul(argv[3], NULL, 10));
        script_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        stage_end();
        return EXIT_SUCCESS;
}
