/* Files of the kernel's as nobody expects them: reading stays within them. That nothing lives, or
 * that it is jobkeeperd who connects, is believed only where the very line stands there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fence-peer.h"
#include "fence-slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool contains(const char *text, size_t size, const char *words) {
        return memmem(text, size, words, strlen(words)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *)data;

        if (!fence_events_populated(text, size) && !contains(text, size, "populated 0\n"))
                abort();
        if (fence_cgroup_is(text, size, FENCE_CLIENT_CGROUP) &&
            !contains(text, size, "0::" FENCE_CLIENT_CGROUP "\n"))
                abort();
        return 0;
}
