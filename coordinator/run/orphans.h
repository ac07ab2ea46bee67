/* Orphans: runs that stand open under the name of a node that is gone. The survivors settle them,
 * rank by rank, as unknown, once the dead node's contenders are gone too: then its session is over,
 * and with it, by the deadline, whatever it ran. */
#pragma once

#include "node.h"
#include "settle.h"

typedef struct Orphans Orphans;
typedef struct OrphansEvents {
        /* Return: whether a node of that name is a member. */
        bool (*is_member)(const char *node, void *userdata);
        /* Return: our rank for a key among all members. */
        uint32_t (*rank)(const char *key, void *userdata);
} OrphansEvents;

Orphans *orphans_new(const Node *node, const Settler *settler, const OrphansEvents *events,
                     void *userdata);
Orphans *orphans_free(Orphans *orphans);
DEFINE_CLEANUP(Orphans, orphans_free);

/* We are ready: looks at the open runs of every node that is no member. */
void orphans_start(Orphans *orphans);
/* A member left. */
void orphans_node_left(Orphans *orphans, const char *node);
/* Others came or left: what was left to them may be ours to look at now. */
void orphans_members_changed(Orphans *orphans);
void orphans_reset(Orphans *orphans);
