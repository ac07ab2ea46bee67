/* The node: what every part of the daemon needs to know of the machine it is on, and no more. Who
 * we are, how we are configured, where the session is, whether it may be used yet, and how far our
 * clock is from the servers'.
 *
 * A part that has a Node can be tested with a Node: it knows nothing of the daemon around it, and
 * what it finds out it says through callbacks that its owner gave it. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "clock-skew.h"
#include "daemon-config.h"
#include "daemon-phase.h"
#include "launch-fault.h"
#include "notify.h"
#include "session.h"
#include "systemd-fault.h"

typedef struct EnsembleMemory EnsembleMemory;
typedef struct FenceLink FenceLink;
typedef struct Node Node;
typedef void (*NodeSkewFunc)(bool skewed, void *userdata);

struct Node {
        sd_event *event;
        Notify *notify;
        const DaemonConfig *config; /* borrowed */
        Session *session;           /* borrowed; NULL until it is opened */
        FenceLink *fence;           /* borrowed */
        EnsembleMemory *ensemble;   /* borrowed; NULL: nothing is remembered of it */
        LaunchFault *launch_fault;
        SystemdFault *systemd_fault;
        char machine_id[33], boot_id[33];
        char *runtime_dir, *state_dir;
        usec_t started; /* CLOCK_REALTIME */
        SessionPhase session_phase;
        bool attached; /* the session is the one of the process before us */
        ProcessPhase process_phase;
        bool waits_for_clock; /* to be synchronised: nothing is claimed until it is */
        ClockSkew skew;
        bool told_skewed;       /* by skew_func */
        NodeSkewFunc skew_func; /* or NULL */
        void *skew_userdata;
};

Node *node_new(sd_event *event, const char *runtime_dir, const char *state_dir);
Node *node_free(Node *node);
DEFINE_CLEANUP(Node, node_free);

/* Reads the ids of the machine and of this boot. Return: 0, or a negative errno where it has none
 * that can be used. */
int node_identify(Node *node);
/* Return: newly allocated, whose session it is: of this node's name, in this tree. */
char *node_identity(const Node *node);
/* Return: whether ticks may be claimed as far as the session is concerned: we are registered, and
 * our own runs are found again. */
bool node_is_ready(const Node *node);
/* Return: whether the process is about to end, in whatever way. */
bool node_is_ending(const Node *node);
/* Return: why no run would be let start, a sentence: its launch step looks for the session's state,
 * which cannot be written, or there can be no such step; NULL where there can. */
const char *node_unfiled(const Node *node);
/* Return: the ready session's port, or NULL. */
Zk *node_zk(const Node *node);

/* Takes a sample of the server's clock from a reply that came just now and carries a stamp of a
 * write of ours
 * (`server_ms`). */
void node_clock_sample(Node *node, int64_t server_ms, usec_t sent_realtime);
/* The same for a reply that came a moment ago; all on CLOCK_REALTIME, the server's or ours. */
void node_clock_sample_at(Node *node, usec_t server, usec_t sent, usec_t received);
/* Return: the server's time, or `otherwise` where it cannot be right. */
usec_t node_server_time_or(const Node *node, usec_t otherwise);
/* Return: whether the server's time is known, be it that our clock was set since. */
bool node_knows_server_time(const Node *node);
/* Return: the server's time; before it is known, what our own clock shows. */
usec_t node_server_time(const Node *node);
/* Has `func` hear when a sample tells that our clock and the servers' came apart, or together
 * again; NULL: nobody. */
void node_on_skew(Node *node, NodeSkewFunc func, void *userdata);
/* Return: whether the clocks are known to be further apart than max-skew, or ours cannot be right,
 * whatever the servers' show (clock_is_plausible()). */
bool node_is_skewed(const Node *node);
/* Return: whether it is the latter. */
bool node_clock_is_impossible(const Node *node);
