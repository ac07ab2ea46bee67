/* A file of the state directory that is written by a thread of its own, since a disk may take its
 * time: as a whole, replaced by rename, one write after the other, with all that changed meanwhile.
 */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

typedef struct StateWriter StateWriter;
/* Return: what is to stand in the file, newly allocated. */
typedef char *(*StateTextFunc)(const void *userdata);

StateWriter *state_writer_new(sd_event *event, const char *path, StateTextFunc text,
                              const void *userdata);
/* Writes what is not in the file yet: the loop is over, so it may take its time. */
StateWriter *state_writer_free(StateWriter *writer);
DEFINE_CLEANUP(StateWriter, state_writer_free);

/* Something changed, and is to stand there after `delay`, or sooner where that was asked before. */
void state_writer_changed(StateWriter *writer, usec_t delay);
/* Return: why the last write failed; "" where it did not. Borrowed until the next. */
const char *state_writer_fault(const StateWriter *writer);
