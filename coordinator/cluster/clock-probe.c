/* See clock-probe.h. */
#include "clock-probe.h"

#include <glib.h>

struct ClockProbe {
        char *path;
        ZkCall *call;
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
        if (reply->code == ZK_OK)
                probe->events->sample(reply->stat.mtime_ms, reply->sent_realtime, probe->userdata);
        else if (reply->code == ZK_NO_NODE)
                probe->events->missing(probe->userdata);
}

void clock_probe_ask(ClockProbe *probe, Zk *zk) {
        if (zk && !probe->call)
                (void)zk_set(zk, probe->path, "", -1, clock_probe_on_reply, probe, &probe->call);
}

void clock_probe_reset(ClockProbe *probe) {
        probe->call = zk_call_free(probe->call);
}
