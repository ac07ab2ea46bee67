/* One wish about the drain of a node: begun, taken back, or only looked at, in the control node
 * (control-call.h). Each wish may be repeated: after an answer that was lost the same
 * question says what became of it. How many runs stand open there is read after the control node:
 * once that says that the node is drained, it claims none besides. */
#pragma once

#include <jansson.h>

#include "control.h"
#include "node.h"

typedef struct DrainCall DrainCall;

typedef enum DrainWish {
        DRAIN_LOOK,
        DRAIN_BEGIN,
        DRAIN_END,
} DrainWish;

/* How it went: 0; -EBADMSG: what stands there is not ours; -ENOSPC: too many are drained; -EACCES;
 * -EAGAIN: others change it all the time; -ENOTCONN: nobody knows whether it was written. `state`:
 * {"node": "n3", "drained": {"by", "why", "since"} | null, "changed": true, "runs": 2}, borrowed;
 * NULL where there is none. The call may be freed in it. */
typedef void (*DrainFunc)(int error, const json_t *state, void *userdata);

/* Whoever is drained already stays so by who did it first, unless `drain` says why. Return: 0,
 * -ENOTCONN. */
int drain_call_new(const Node *node, const char *name, DrainWish wish, const ControlDrain *drain,
                   DrainFunc func, void *userdata, DrainCall **ret_call);
DrainCall *drain_call_free(DrainCall *call);
DEFINE_CLEANUP(DrainCall, drain_call_free);
