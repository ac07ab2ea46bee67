/* Which digest of each job this node last had in its own files, kept in the state directory. It
 * answers one question: has our own file changed, or only the ledger? Only a node whose own file
 * changed may change a job's digest in the ledger; any other node that differs is drifted: it
 * claims and skips nothing of the job.
 *
 * A reload after a mass edit changes thousands of digests, so the file is not written with each: it
 * follows DIGEST_MEMORY_DELAY after the first change that is not in it yet, with all that came
 * meanwhile, and when the memory is freed.
 *
 * One thing has to be in the file before anything else happens: which digest is about to be sent to
 * the ledger, and on which version of it. Otherwise a process that dies before it hears that it was
 * written leaves nobody who knows whose it was; where the file was changed back by then, our own
 * file would be what it was when we last agreed, and every node drifted from what none of them has.
 * Whoever sends waits for that, DIGEST_MEMORY_AWAITED_DELAY and the disk's time; where the file
 * cannot be written, nobody waits.
 *
 * For the rest a crash only ever leaves a memory that is behind the ledger:
 *
 *   - An older digest is remembered. Where the ledger still has ours we agree with it, and the
 *     memory is put right. Where another node changed the ledger in that moment, we take our file
 *     for the newer one and change it back, as if our edit had come second; that node is then the
 *     drifted one, and says so.
 *   - Nothing is remembered of a new job. That is a node without a memory, which is drifted where
 *     it differs, unless it is alone or all are for long.
 *   - A withdrawn job is still remembered. It is withdrawn again, which changes nothing, or is
 *     answered by the nodes that have it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

typedef struct DigestMemory DigestMemory;
typedef struct DigestWait DigestWait;

#define DIGEST_MEMORY_DELAY (500 * USEC_PER_MSEC)
/* Where somebody waits for it: the second for each job in it, so that a mass edit is not all
 * writing. */
#define DIGEST_MEMORY_AWAITED_DELAY (20 * USEC_PER_MSEC)
#define DIGEST_MEMORY_JOB_DELAY 20
/* When the file could not be written. */
#define DIGEST_MEMORY_RETRY_DELAY (30 * USEC_PER_SEC)

/* Reads DIRECTORY/digests.json; a missing or broken file is an empty memory. */
DigestMemory *digest_memory_new(sd_event *event, const char *directory);
DigestMemory *digest_memory_free(DigestMemory *memory);
DEFINE_CLEANUP(DigestMemory, digest_memory_free);

/* Return: the remembered digest, or NULL. Borrowed until the next change. */
const char *digest_memory_get(const DigestMemory *memory, const char *job);
/* Return: whether that is the digest that is remembered, whatever stands behind it. */
bool digest_memory_has(const DigestMemory *memory, const char *job, const char *digest);
/* Remembers (NULL: forgets), at once in this process and soon in the file. What was sent before is
 * settled by that, and forgotten. */
void digest_memory_set(DigestMemory *memory, const char *job, const char *digest);

/* What is sent to the ledger of a job, and not known to be written. */
typedef struct DigestSent {
        const char *digest;
        int32_t version; /* of the ledger that it was decided on; -1: there was none */
} DigestSent;

/* Return: whether there is such a digest. It is borrowed until the next change. */
bool digest_memory_get_sent(const DigestMemory *memory, const char *job, DigestSent *ret_sent);
/* It is about to be sent. Return: whether it may be now: that stands in the file, or cannot. */
bool digest_memory_set_sent(DigestMemory *memory, const char *job, const char *digest,
                            int32_t version);
/* It is known not to have been written. */
void digest_memory_forget_sent(DigestMemory *memory, const char *job);

/* From the loop, and only of some in one turn. */
typedef void (*DigestWaitFunc)(void *userdata);

/* Calls it once all that is remembered now stands in the file, or cannot. */
DigestWait *digest_memory_wait(DigestMemory *memory, DigestWaitFunc func, void *userdata);
/* Nobody waits any more. The memory may be freed only after it. */
DigestWait *digest_wait_free(DigestWait *wait);
/* Return: what cannot be written and what follows from that, a sentence; "" when the last write did
 * not fail. Borrowed until the next write. */
const char *digest_memory_fault(const DigestMemory *memory);

/* Return: how many wait. */
unsigned digest_memory_waits(const DigestMemory *memory);

/* Return: the jobs' names of which anything is remembered; g_ptr_array_unref(), names are copies.
 */
GPtrArray *digest_memory_jobs(const DigestMemory *memory);
