/* The layout under zookeeper.root: made when it is missing, checked when it is there, and the
 * control node watched. Nothing of that before the ensemble is known to be the one that it was
 * (trust.h): what is missing in one that was wiped is not made anew in silence. */
#pragma once

#include "drain-view.h"
#include "trust.h"

#define TREE_LAYOUT_VERSION 1

typedef struct Tree Tree;

typedef struct TreeEvents {
        /* The layout is there. */
        void (*done)(void *userdata);
        /* It is so since, and may be relied on again: it was looked at after a break. */
        void (*looked)(void *userdata);
        /* Since then whether this node is drained has changed. */
        void (*drained)(void *userdata);
        /* Or what is paused. */
        void (*paused)(void *userdata);
        /* It is not what it was: nothing may rest on it, a lock as little as a ledger. */
        void (*doubted)(void *userdata);
} TreeEvents;

Tree *tree_new(const Node *node, const TreeEvents *events, void *userdata);
Tree *tree_free(Tree *tree);
DEFINE_CLEANUP(Tree, tree_free);

/* A new session, or a resumed one whose answers were lost: makes and checks the layout, then
 * `done`. */
void tree_start(Tree *tree);
/* The connection is lost, and is there again: the ensemble may be another by then. */
void tree_suspend(Tree *tree);
void tree_look_again(Tree *tree);
/* The session is gone. */
void tree_reset(Tree *tree);
bool tree_is_done(const Tree *tree);
const Trust *tree_trust(const Tree *tree);
/* Return: why nothing may be claimed for now, a sentence; NULL where it may. */
const char *tree_held_back(const Tree *tree);

/* The version of /control, which every claim checks. */
int32_t tree_control_version(const Tree *tree);
/* What it says of this node; it outlives sessions. */
const DrainView *tree_drain_view(const Tree *tree);
/* The control node is not what we thought: reads it again. */
void tree_refresh_control(Tree *tree);
/* The same, as an answer said: what is being asked already was asked after that. */
void tree_control_is_stale(Tree *tree);
/* Something of the layout is missing that was there: makes it again, soon. */
void tree_repair(Tree *tree);
/* Why the tree cannot be used, a sentence; "" when it can. */
const char *tree_fault(const Tree *tree);
/* Who else can change it, as a warning, where that is anybody; "" where it is not, or not known. */
const char *tree_warning(const Tree *tree);
