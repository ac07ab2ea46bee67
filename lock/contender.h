/* Contenders: the names by which one stands in a lock's queue, and their order. Pure.
 *
 * A contender is an ephemeral sequential znode. Its name is a head with a unique identity, a marker
 * that tells its kind, and the number that the server gives. Which head and which markers is the
 * naming:
 *
 *   curator-rw      _c_<uuid>-__WRIT__0000000017      an exclusive one
 *                   _c_<uuid>-__READ__0000000018      a shared one
 *                   _c_<uuid>-__SLOT__0000000018      one of several (a semaphore); our own kind
 *   curator-mutex   _c_<uuid>-lock-0000000017         an exclusive one
 *   kazoo           <32 hex>__lock__0000000017        an exclusive one
 *                   <32 hex>__rlock__0000000018       a shared one
 *
 * The first is Curator's InterProcessReadWriteLock, the second its InterProcessMutex, the third
 * kazoo's Lock, ReadLock and WriteLock. The order is the sequence number's alone. The identity
 * finds a node again whose creation's answer was lost. All namings are recognised everywhere, so
 * that a queue that mixes kinds which cannot see each other is refused instead of trusted.
 *
 * TWINS. Since Curator 5.5 a holder of the exclusive lock may step down to the shared one by making
 * a
 * `__READ__` contender with the *same* number before it deletes its `__WRIT__`. That one comes
 * before all that wait, and they have never seen it. So an exclusive waiter cannot take the
 * deletion of such a `__WRIT__` for its turn; it has to look again. Contenders of ours say in their
 * name that they will leave no twin: the version of their uuid is 8 (RFC 9562, free for such use),
 * where everybody else's random ones have 4.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What one asks for. */
typedef enum LockMode { LOCK_EXCLUSIVE, LOCK_SHARED } LockMode;

/* How those who share a resource recognise each other. */
typedef enum LockNaming {
        LOCK_NAMING_CURATOR_RW, /* the default */
        LOCK_NAMING_CURATOR_MUTEX,
        LOCK_NAMING_KAZOO,
        LOCK_NAMING_SINGLE_NODE, /* one child of a fixed name and no queue: lock-single.c */
        LOCK_NAMING_N,
} LockNaming;

typedef enum ContenderKind {
        CONTENDER_WRITER,  /* exclusive */
        CONTENDER_READER,  /* shared */
        CONTENDER_SLOT,    /* one of several */
        CONTENDER_FOREIGN, /* no contender at all, or of a scheme we do not know */
} ContenderKind;

#define CONTENDER_UUID_LENGTH 36
/* Sequence numbers are the parent's child version, a signed 32-bit counter that wraps: refuse well
 * before that. */
#define CONTENDER_SEQUENCE_MAX (INT32_MAX - (1 << 20))

typedef struct Contender {
        const char *name; /* borrowed */
        char uuid[CONTENDER_UUID_LENGTH +
                  1];      /* as it stands in the name: with kazoo without dashes */
        LockNaming naming; /* never SINGLE_NODE; of no meaning when foreign */
        ContenderKind kind;
        bool may_leave_twin; /* see above */
        int64_t sequence;    /* may be negative after an overflow */
} Contender;

/* Takes a child name apart. Always fills *ret; what is not a contender gets CONTENDER_FOREIGN. */
void contender_parse(const char *name, Contender *ret);

/* Orders by sequence number, then a writer before its twin, then by name. For qsort and
 * g_array_sort. */
int contender_compare(const void *a, const void *b);

/* Return: newly allocated (g_free), a new identity in the form of that naming. */
char *contender_uuid_new(LockNaming naming, bool may_leave_twin);

/* Return: newly allocated (g_free), what the name of such a contender starts with, up to its
 * number: "_c_<uuid>-__WRIT__"; NULL where the naming has no such kind. */
char *contender_prefix(LockNaming naming, ContenderKind kind, const char *uuid);

/* Return: newly allocated (g_free), the name of the reader that a writer of that name becomes when
 * it steps down: same identity, same number. NULL when it is no writer of the naming curator-rw. */
char *contender_twin(const char *name);

/* Return: whether `other`, which comes before, keeps one of that kind waiting. (Slots count all
 * that do.) */
bool contender_is_in_the_way(ContenderKind kind, const Contender *other);

/* "curator-rw", "curator-mutex", "kazoo", "single-node"; and back: -EINVAL for other words. */
const char *lock_naming_to_string(LockNaming naming);
int lock_naming_from_string(const char *word, LockNaming *ret_naming);
