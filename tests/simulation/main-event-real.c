/* The script on libsystemd's loop. Usage: event-real SEED */
#include <stdio.h>
#include <stdlib.h>

#include "event-script.h"

int main(int argc, char **argv) {
        sd_event *event = NULL;

        if (argc != 2 || sd_event_new(&event) < 0)
                return EXIT_FAILURE;
        event_script_begin(event, strtoull(argv[1], NULL, 10));
        printf("over: %d\n", sd_event_loop(event));
        event_script_end();
        sd_event_unref(event);
        return EXIT_SUCCESS;
}
