/* The life of the daemon: what follows from what happened to the session, to what is under way, and
 * to the nodes beside us. The parts say what happened through the tables and functions here; which
 * phase of a session follows which is in daemon-phase.h.
 *
 * CONNECTED or ATTACHED → units that must not run any more are gone → the tree is checked → the
 * node is registered → runs that a process before us left are found again → `ready`. At
 * SESSION_EVENT_STOP every run is stopped, those included that are not found yet; at
 * SESSION_EVENT_LOST they are killed, and everything learnt from ZooKeeper is forgotten.
 *
 * `userdata` is the coordinator everywhere.
 */
#pragma once

#include "members.h"
#include "parts.h"
#include "recovery.h"
#include "tree.h"

void life_on_session(Session *session, SessionEvent event, void *userdata);
/* The tree is checked; what the control node says of this node, or of what is paused, is something
 * else now; it is not the tree that it was, and no lock in it counts. */
extern const TreeEvents life_tree_events;
/* Our member node stands there. */
void life_on_self_registered(void *userdata);
extern const MembersEvents life_members_events;
extern const RecoveryEvents life_recovery_events;
/* What has to be ended is gone, or not soon. */
void life_on_leftovers_changed(void *userdata);
void life_on_leftover_spared(const char *unit, void *userdata);
void life_on_queues_looked(void *userdata);
/* What begins is guarded again. */
void life_on_fence_open(void *userdata);
/* PID 1 does not answer any more, or does again. */
void life_on_systemd(void *userdata);
/* What the fence before this one guarded went with it; what was asked for then may begin yet. */
void life_on_fence_replaced(void *userdata);
/* The window of this node opened or closed: the others rank by that. */
void life_on_window(void *userdata);
/* The other nodes rank without us while our clock is skewed. */
void life_on_skew(bool skewed, void *userdata);
/* A run is over. */
void life_on_settled(const char *job, void *userdata);
