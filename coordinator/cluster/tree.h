/* The layout under zookeeper.root: made when it is missing, checked when it is there, and the
 * control node watched. */
#pragma once

#include "drain-view.h"

#define TREE_LAYOUT_VERSION 1

typedef struct Tree Tree;
/* The layout is there; or, since then, whether this node is drained has changed. */
typedef void (*TreeFunc)(void *userdata);

Tree *tree_new(const Node *node, TreeFunc done, TreeFunc drained, void *userdata);
Tree *tree_free(Tree *tree);
DEFINE_CLEANUP(Tree, tree_free);

/* A new session, or a resumed one whose answers were lost: makes and checks the layout, then
 * `done`. */
void tree_start(Tree *tree);
/* The session is gone. */
void tree_reset(Tree *tree);
bool tree_is_done(const Tree *tree);

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
