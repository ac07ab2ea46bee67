/* The script on the simulated ensemble. Usage: script-simulated SEED STEPS SERVERS */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "handle.h"
#include "script.h"

#define LIMIT (300 * USEC_PER_SEC)

static struct {
        World *world;
        Network *network;
        Ensemble *ensemble;
        Machine *machines[SCRIPT_SLOTS];
        Process *processes[SCRIPT_SLOTS];
        sd_event *events[SCRIPT_SLOTS];
} stage;

void stage_do(unsigned slot, void (*func)(void *userdata), void *userdata) {
        process_do(stage.processes[slot], func, userdata);
}

sd_event *stage_event(unsigned slot) {
        return stage.events[slot];
}

const char *stage_address(unsigned slot) {
        (void)slot;
        return ensemble_addresses(stage.ensemble);
}

void stage_await(bool (*condition)(void *userdata), void *userdata) {
        usec_t until = world_now(stage.world) + LIMIT;

        while (!condition(userdata))
                if (!world_step(stage.world, until)) {
                        fprintf(stderr, "nothing comes any more\n");
                        abort();
                }
}

static void stage_set_cut(bool cut) {
        Host *client = network_host(stage.network, machine_name(stage.machines[0]));

        for (unsigned i = 0; i < ensemble_size(stage.ensemble); i++) {
                Host *server = ensemble_host(stage.ensemble, i);

                if (cut) {
                        network_cut(client, server);
                        network_cut(server, client);
                } else {
                        network_mend(client, server);
                        network_mend(server, client);
                }
        }
}

void stage_cut(void) {
        stage_set_cut(true);
}

void stage_mend(void) {
        stage_set_cut(false);
}

static void slot_begin(void *userdata) {
        (void)sd_event_new(userdata);
}

static void slot_end(void *userdata) {
        sd_event **event = userdata;

        *event = sd_event_unref(*event);
        handles_finish(process_turn());
}

static bool ensemble_is_up(void *userdata) {
        (void)userdata;
        for (unsigned i = 0; i < ensemble_size(stage.ensemble); i++)
                if (!ensemble_serves(stage.ensemble, i))
                        return false;
        return true;
}

static void stage_begin(uint64_t seed, unsigned servers) {
        EnsembleOptions options = ENSEMBLE_DEFAULTS;

        options.n_servers = servers;
        options.tick = 500 * USEC_PER_MSEC; /* as the real one's */
        options.container_interval = USEC_PER_DAY;
        stage.world = world_new(seed);
        stage.network = network_new(stage.world);
        stage.ensemble = ensemble_new(stage.network, &options);
        stage_await(ensemble_is_up, NULL);
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++) {
                g_autofree char *name = g_strdup_printf("n%u", i),
                                *directory = g_build_filename(g_get_tmp_dir(), name, NULL);

                stage.machines[i] = machine_new(stage.world, name, directory);
                stage.processes[i] = process_new(stage.machines[i]);
                process_do(stage.processes[i], slot_begin, &stage.events[i]);
        }
}

static void stage_end(void) {
        for (unsigned i = 0; i < SCRIPT_SLOTS; i++) {
                process_do(stage.processes[i], slot_end, &stage.events[i]);
                process_end(stage.processes[i]);
                process_free(stage.processes[i]);
                machine_free(stage.machines[i]);
        }
        ensemble_free(stage.ensemble);
        network_free(stage.network);
        fprintf(stderr, "%" G_GUINT64_FORMAT " steps of the world\n", world_steps(stage.world));
        world_free(stage.world);
}

int main(int argc, char **argv) {
        if (argc != 4)
                return EXIT_FAILURE;
        stage_begin(strtoull(argv[1], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
        script_play((uint32_t)strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
        stage_end();
        return EXIT_SUCCESS;
}
