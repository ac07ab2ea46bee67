/* Orphans: runs that stand open under the name of a node that is gone. The survivors settle them,
 * rank by rank, as unknown, once the dead node's contenders are gone too: then its session is over,
 * and with it, by the deadline, whatever it ran; but for what continues without its locks, or what
 * a reboot may have ended (`reboot`), which is waited for. What a person wanted to end when its
 * node was gone already is not attempted again. */
#pragma once

#include "members.h"
#include "node.h"
#include "settle.h"

typedef struct Orphans Orphans;

/* Return: who wants that run to end, borrowed; NULL: nobody. */
typedef const char *(*OrphansUnwantedFunc)(const char *job, const char *run, void *userdata);

Orphans *orphans_new(const Node *node, Members *members, const Settler *settler,
                     OrphansUnwantedFunc unwanted, void *userdata);
Orphans *orphans_free(Orphans *orphans);
DEFINE_CLEANUP(Orphans, orphans_free);

/* We are ready: looks at the open runs of every node that is no member. */
void orphans_start(Orphans *orphans);
/* A member left. */
void orphans_node_left(Orphans *orphans, const char *node);
/* Others came or left: what was left to them may be ours to look at now. */
void orphans_members_changed(Orphans *orphans);
void orphans_reset(Orphans *orphans);
