/* See clock-probe.h. */
#include "clock-probe.h"

#include <glib.h>

struct ClockProbe {
        char *path;
        ZkCall *call;
        usec_t pause_until; /* CLOCK_BOOTTIME */
        const ClockProbeEvents *events;
        void *userdata;
};

ClockProbe *clock_probe_new(const char *path, const ClockProbeEvents *events, void *userdata) {
        ClockProbe *probe = g_new0(ClockProbe, 1);

        probe->path = g_strdup(path);
        probe->events = events;
        probe->userdata = userdata;
        return probe;
}

ClockProbe *clock_probe_free(ClockProbe *probe) {
        if (!probe)
                return NULL;
        zk_call_free(probe->call);
        g_free(probe->path);
        g_free(probe);
        return NULL;
}

static void clock_probe_on_reply(const ZkReply *reply, void *userdata) {
        ClockProbe *probe = userdata;

        probe->call = NULL;
        if (reply->code == ZK_OK) {
                probe->events->sample(reply->stat.mtime_ms, reply->sent_realtime, probe->userdata);
                return;
        }
        probe->pause_until = usec_add(clock_boottime(), CLOCK_PROBE_PAUSE);
        if (reply->code == ZK_NO_NODE)
                probe->events->missing(probe->userdata);
}

usec_t clock_probe_pause_left(const ClockProbe *probe) {
        return usec_sub(probe->pause_until, clock_boottime());
}

void clock_probe_ask(ClockProbe *probe, Zk *zk) {
        if (zk && !probe->call && clock_probe_pause_left(probe) == 0)
                (void)zk_set(zk, probe->path, "", -1, clock_probe_on_reply, probe, &probe->call);
}

void clock_probe_reset(ClockProbe *probe) {
        probe->call = zk_call_free(probe->call);
        probe->pause_until = 0;
}
