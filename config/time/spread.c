/* See spread.h. Nobody keeps what was drawn: it is the hash of what everybody knows. A change of
 * it would have nodes of two versions begin a tick at two moments. */
#include "spread.h"

#include <glib.h>
#include <inttypes.h>

/* The remainder prefers none by more than 2^-32, as long as `most` is less than a century. */
int64_t spread_of(const char *job, int64_t tick, int64_t most) {
        g_autofree char *text = g_strdup_printf("%s %" PRId64, job, tick);
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
        uint8_t digest[32];
        gsize size = sizeof(digest);
        uint64_t hash = 0;

        g_checksum_update(sum, (const guchar *)text, -1);
        g_checksum_get_digest(sum, digest, &size);
        for (size_t i = 0; i < sizeof(hash); i++)
                hash = hash << 8 | digest[i];
        return most > 0 ? (int64_t)(hash % ((uint64_t)most + 1)) : 0;
}
