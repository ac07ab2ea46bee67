/* One wish about the pause of a job, or of all: begun, or taken back, in the control node
 * (control-call.h). Each wish may be repeated: after an answer that was lost the same question says
 * what became of it. Once it was answered nothing is claimed any more that the pause forbids: every
 * claim checks the version of the control node. */
#pragma once

#include <jansson.h>

#include "control-pause.h"
#include "node.h"

typedef struct PauseCall PauseCall;

typedef enum PauseWish {
        PAUSE_BEGIN,
        PAUSE_END,
} PauseWish;

/* As ControlFunc; `state`: {"job": "orders" | null, "paused": PAUSE | null, "all": PAUSE | null,
 * "changed": true}, where PAUSE is as of control_pause_to_json(): of the job itself, and of all. */
typedef void (*PauseFunc)(int error, const json_t *state, void *userdata);

/* `job` NULL: all. What is paused already stays so by who did it first, unless `why` says
 * something. A pause begins, and ends, when it is written, by the server's time. Return: 0,
 * -ENOTCONN. */
int pause_call_new(const Node *node, const char *job, PauseWish wish, const char *by,
                   const char *why, PauseFunc func, void *userdata, PauseCall **ret_call);
PauseCall *pause_call_free(PauseCall *call);
DEFINE_CLEANUP(PauseCall, pause_call_free);
