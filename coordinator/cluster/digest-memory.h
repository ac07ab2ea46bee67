/* Which digest of each job this node last had in its own files, kept in the state directory. It
 * answers one question: has our own file changed, or only the ledger? Only a node whose own file
 * changed may change a job's digest in the ledger; any other node that differs is drifted: it
 * claims and skips nothing of the job.
 *
 * A reload after a mass edit changes thousands of digests, so the file is not written with each: it
 * follows DIGEST_MEMORY_DELAY after the first change that is not in it yet, with all that came
 * meanwhile, and when the memory is freed. Nothing has to be in the file before anything else
 * happens, because a crash only ever leaves a memory that is behind the ledger:
 *
 *   - An older digest is remembered. Where the ledger still has ours we agree with it, and the
 *     memory is put right. Where another node changed the ledger in that moment, we take our file
 *     for the newer one and change it back, as if our edit had come second; that node is then the
 *     drifted one, and says so.
 *   - Nothing is remembered of a new job. That is a node without a memory, which is drifted where
 *     it differs, unless it is alone or all are.
 *   - A withdrawn job is still remembered. It is withdrawn again, which changes nothing, or is
 *     answered by the nodes that have it.
 */
#pragma once

#include <glib.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

typedef struct DigestMemory DigestMemory;

#define DIGEST_MEMORY_DELAY (500 * USEC_PER_MSEC)
/* When the file could not be written. */
#define DIGEST_MEMORY_RETRY_DELAY (30 * USEC_PER_SEC)

/* Reads DIRECTORY/digests.json; a missing or broken file is an empty memory. */
DigestMemory *digest_memory_new(sd_event *event, const char *directory);
DigestMemory *digest_memory_free(DigestMemory *memory);
DEFINE_CLEANUP(DigestMemory, digest_memory_free);

/* Return: the remembered digest, or NULL. Borrowed until the next change. */
const char *digest_memory_get(const DigestMemory *memory, const char *job);
/* Remembers (NULL: forgets), at once in this process and soon in the file. */
void digest_memory_set(DigestMemory *memory, const char *job, const char *digest);
/* Return: the remembered jobs' names; g_ptr_array_unref(), names are copies. */
GPtrArray *digest_memory_jobs(const DigestMemory *memory);
