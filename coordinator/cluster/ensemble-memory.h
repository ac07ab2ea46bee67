/* What this node knows of the ensemble, kept in the state directory over restarts and reboots, so
 * that one that was wiped or restored is recognised (ensemble-verdict.h).
 *
 * Nothing waits for the file. What is in it is never newer than what ZooKeeper has confirmed, and a
 * node that was crashed before it was written, or whose disk was set back, only notices less. */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "daemon-config.h"
#include "ensemble-verdict.h"

/* So long a change may take to stand in the file. */
#define ENSEMBLE_MEMORY_DELAY (1 * USEC_PER_SEC)
/* So many words of acceptances are remembered. */
#define ENSEMBLE_MEMORY_WORDS_MAX 64

typedef struct EnsembleMemory EnsembleMemory;

/* Reads DIRECTORY/ensemble.json. One that is damaged is set aside and told of: nothing is known. */
EnsembleMemory *ensemble_memory_new(sd_event *event, const char *directory,
                                    const DaemonConfig *config);
EnsembleMemory *ensemble_memory_free(EnsembleMemory *memory);
DEFINE_CLEANUP(EnsembleMemory, ensemble_memory_free);

/* Return: borrowed until the next change. */
EnsembleKnown ensemble_memory_known(const EnsembleMemory *memory);
/* It is to be trusted, and is what counts from now on. */
void ensemble_memory_learn(EnsembleMemory *memory, const EnsembleSeen *seen);
/* A transaction that changed the open runs of this node was confirmed. `memory` may be NULL. */
void ensemble_memory_wrote(EnsembleMemory *memory, int64_t zxid);
/* Return: what cannot be written, a sentence; "" where the last write did not fail, or for no
 * memory. Newly allocated. */
char *ensemble_memory_fault(const EnsembleMemory *memory);
