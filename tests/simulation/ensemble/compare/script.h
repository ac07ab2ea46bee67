/* The same random requests for a real ensemble and for the simulated one. See script.c.
 *
 * A stage is where a script is played: it gives sessions their loop and their addresses, and time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* Sessions at a time; the first can be cut off. */
#define SCRIPT_SLOTS 3

/* How a program ends that is of no use for a comparison: the machine was too slow for its servers.
 */
#define SCRIPT_DISTURBED 77

/* Calls it where the session of that slot lives. */
void stage_do(unsigned slot, void (*func)(void *userdata), void *userdata);
sd_event *stage_event(unsigned slot);
const char *stage_address(unsigned slot);
/* Lets time pass until it is so; does not return otherwise. */
void stage_await(bool (*condition)(void *userdata), void *userdata);
/* The first slot's connection ends, and it finds no server; then it finds one again. */
void stage_cut(void);
void stage_mend(void);

/* Prints what came of it, one line an answer or an event, and nothing that depends on time. */
void script_play(uint32_t seed, unsigned steps);
