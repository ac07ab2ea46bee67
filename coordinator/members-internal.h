/* What members.c (who is there) and registration.c (our own node) share. */
#pragma once

#include "members.h"

struct Members {
        Coordinator *coordinator; /* weak: owns us */
        Member *self;
        char *self_path, *path;
        char *written;     /* what stands in our node, as far as we know */
        GHashTable *peers; /* node → Peer, ourselves included */
        ZkCall *register_call, *list_call, *publish_call;
        ZkWatch *list_watch;
        bool registered, listed, announced;
        sd_event_source *retry;
        char *fault;
        int64_t former;            /* the session whose node is ours to replace; 0: none */
        int64_t in_our_place;      /* another session that has our name */
        usec_t in_our_place_since; /* CLOCK_BOOTTIME: for so long */
};

/* members.c */
Zk *members_port(const Members *members);
/* We are registered, or more is known of the others: tells the coordinator once both are. */
void members_known(Members *members);
void members_retry_later(Members *members);

/* registration.c */
/* Return: the session that the process before us left, 0 when there is none. */
int64_t members_session_left(const Coordinator *coordinator);
void members_register(Members *members);
