/* The question for the servers' tick. See session-probe.c. */
#pragma once

#include "zk.h"

/* `least_timeout`: the least session timeout that the server grants; 0 when it did not say. */
typedef void (*SessionProbeFunc)(usec_t least_timeout, void *userdata);

typedef struct SessionProbe {
        sd_event *event; /* weak */
        SessionProbeFunc func;
        void *userdata;
        Zk *zk; /* asks; NULL while nothing is asked */
        sd_event_source *limit;
} SessionProbe;

void session_probe_init(SessionProbe *probe, sd_event *event, SessionProbeFunc func,
                        void *userdata);
/* Asks that server. `left`: how long locks that may be ours already are certain; 0: there are none.
 * Return: 0, and `func` is called once; negative errno. */
int session_probe_begin(SessionProbe *probe, const char *server, const char *auth, usec_t tick_time,
                        usec_t left);
/* Return: whether the answer is still awaited. */
bool session_probe_waits(const SessionProbe *probe);
/* Nobody waits for it any more. */
void session_probe_end(SessionProbe *probe);
