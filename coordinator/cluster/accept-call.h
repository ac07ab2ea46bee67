/* A person's word that what stands in ZooKeeper counts: the doubt is taken away, and whoever had
 * known something else goes by what is there. What is written is written over what was read (by its
 * version). Where nobody doubts it, nothing is written: nothing is accepted in advance. */
#pragma once

#include <jansson.h>

#include "node.h"
#include "trust.h"

typedef struct AcceptCall AcceptCall;

/* How it went: 0; -EACCES; -ESTALE: the doubt is not the one that the person was shown; -EAGAIN: it
 * is being changed, or made, at this moment; -ENOTCONN: nobody knows whether it was written.
 * `state`: {"changed": true, "doubt": {"by", "why", "since"} | null}, borrowed; NULL where there is
 * none. The call may be freed in it. */
typedef void (*AcceptFunc)(int error, const json_t *state, void *userdata);

/* `shown`: why it is doubted, as the person has read it. Return: 0, -ENOTCONN. */
int accept_call_new(const Node *node, const Trust *trust, const Statement *accepted,
                    const char *shown, AcceptFunc func, void *userdata, AcceptCall **ret_call);
AcceptCall *accept_call_free(AcceptCall *call);
DEFINE_CLEANUP(AcceptCall, accept_call_free);
