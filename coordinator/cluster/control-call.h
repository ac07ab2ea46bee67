/* One change of the control node, or a look at it.
 *
 * What is written is written over what was read (by its version), so that whatever somebody else
 * wrote meanwhile is kept; and it is read once more after that, for the answer to say what stands
 * there then. */
#pragma once

#include <jansson.h>

#include "node.h"

typedef struct ControlCall ControlCall;

/* Makes the change. It may be asked for it again, of a control node that somebody else has changed.
 * Return: 0; -EALREADY where nothing is to be changed; or why it cannot be. */
typedef int (*ControlChangeFunc)(json_t *control, void *userdata);

typedef struct ControlState {
        const json_t *control;
        unsigned children; /* of the path that was given */
        bool changed;      /* by us */
} ControlState;

/* How it went: 0; -EBADMSG: what stands there is not ours; -ENOSPC: there is no room; -EACCES;
 * -EAGAIN: others change it all the time; -ENOTCONN: nobody knows whether it was written. `state`
 * is borrowed; NULL where there is none. The call may be freed in it. */
typedef void (*ControlFunc)(int error, const ControlState *state, void *userdata);

typedef struct ControlCallSpec {
        const char *children_path; /* its children are counted after the control node was read;
                                      NULL: nobody asks */
        ControlChangeFunc change;
        ControlFunc func;
        void *userdata;
} ControlCallSpec;

/* The specification is copied. Return: 0, -ENOTCONN. */
int control_call_new(const Node *node, const ControlCallSpec *spec, ControlCall **ret_call);
ControlCall *control_call_free(ControlCall *call);
DEFINE_CLEANUP(ControlCall, control_call_free);
