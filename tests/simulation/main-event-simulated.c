/* The script on the simulation's loop. Usage: event-simulated SEED DIRECTORY */
#include <stdio.h>
#include <stdlib.h>

#include "event-script.h"
#include "event.h"
#include "process.h"

static sd_event *event;
static uint64_t seed;

static void script_on_exit(int code, void *userdata) {
        (void)userdata;
        printf("over: %d\n", code);
        event_script_end();
        event = sd_event_unref(event);
}

static void script_start(void *userdata) {
        (void)userdata;
        (void)sd_event_new(&event);
        event_on_exit(event, script_on_exit, NULL);
        event_script_begin(event, seed);
}

int main(int argc, char **argv) {
        Process *process;
        Machine *machine;
        World *world;

        if (argc != 3)
                return EXIT_FAILURE;
        seed = strtoull(argv[1], NULL, 10);
        world = world_new(seed);
        machine = machine_new(world, "n1", argv[2]);
        process = process_new(machine);
        process_do(process, script_start, NULL);
        while (event && world_step(world, USEC_PER_DAY))
                ;
        process_end(process);
        process_free(process);
        machine_free(machine);
        world_free(world);
        return EXIT_SUCCESS;
}
