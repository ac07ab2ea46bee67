/* Which digest of each job this node last had in its own files, kept in the state directory. It
 * answers one question: has our own file changed, or only the ledger? Only a node whose own file
 * changed may change a job's digest in the ledger; any other node that differs is drifted (DESIGN
 * section 7). */
#pragma once

#include "coordinator.h"

/* Reads DIRECTORY/digests.json; a missing or broken file is an empty memory. */
DigestMemory *digest_memory_new(const char *directory);
DigestMemory *digest_memory_free(DigestMemory *memory);
DEFINE_CLEANUP(DigestMemory, digest_memory_free);

/* Return: the remembered digest, or NULL. Borrowed until the next change. */
const char *digest_memory_get(const DigestMemory *memory, const char *job);
/* Remembers (NULL: forgets) and writes the file when that changed anything. Return: 0, or negative
 * errno of the write; the memory of this process is right in any case. */
int digest_memory_set(DigestMemory *memory, const char *job, const char *digest);
/* Return: the remembered jobs' names; g_ptr_array_unref(), names are copies. */
GPtrArray *digest_memory_jobs(const DigestMemory *memory);
