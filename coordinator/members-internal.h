/* What members.c (who is there) and registration.c (our own node) share. */
#pragma once

#include "members.h"
#include "ranking.h"

struct Members {
        Coordinator *coordinator; /* weak: owns us */
        Member *self;
        char *self_path, *path;
        char *written;     /* what stands in our node, as far as we know */
        GHashTable *peers; /* node → Peer, ourselves included */
        Ranking *ranking;  /* of `sorted` */
        GPtrArray *sorted; /* Member, borrowed from the peers; NULL: to be made anew */
        sd_event_source *changed_timer;
        bool everything_changed;        /* to be told with the timer, */
        GHashTable *changed_jobs;       /* or these jobs */
        usec_t listed_at, published_at; /* CLOCK_MONOTONIC: asked for, written the last time */
        sd_event_source *list_timer, *publish_timer;
        unsigned encoded; /* how often */
        ZkCall *register_call, *list_call, *publish_call;
        ZkWatch *list_watch;
        bool registered, listed, announced;
        bool unpublished; /* what we say of ourselves may have changed since it was written */
        sd_event_source *retry;
        char *fault;
        int64_t former;            /* the session whose node is ours to replace; 0: none */
        int64_t in_our_place;      /* another session that has our name */
        usec_t in_our_place_since; /* CLOCK_BOOTTIME: for so long */
};

/* members.c */
Zk *members_port(const Members *members);
/* We are registered, or all that are listed are known: tells the coordinator once both are. */
void members_known(Members *members);
void members_retry_later(Members *members);

/* registration.c */
/* Return: the session that the process before us left, 0 when there is none. */
int64_t members_session_left(const Coordinator *coordinator);
void members_register(Members *members);
