/* See clock-watch.h. */
#include "clock-watch.h"

#include <glib.h>

#include "clock-probe.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "timer.h"

#define LOOK_DELAY (100 * USEC_PER_MSEC)
/* While our clock is skewed, nothing else measures it. */
#define SKEW_MEASURE_PERIOD (10 * USEC_PER_SEC)

struct ClockWatch {
        Node *node; /* weak */
        Tree *tree; /* weak */
        ClockProbe *probe;
        sd_event_source *timer;
        ClockWatchFunc changed_func;
        void *userdata;
};

/* Return: newly allocated. */
static char *clock_in_words(usec_t realtime) {
        g_autoptr(GDateTime) time =
            g_date_time_new_from_unix_utc((int64_t)(realtime / USEC_PER_SEC));

        return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ")
                    : g_strdup("a time after the year 9999");
}

static void clock_watch_on_sample(int64_t server_ms, usec_t sent_realtime, void *userdata) {
        node_clock_sample(((ClockWatch *)userdata)->node, server_ms, sent_realtime);
}

static void clock_watch_on_missing(void *userdata) {
        tree_repair(((ClockWatch *)userdata)->tree);
}

static void clock_watch_on_timer(void *userdata);

static void clock_watch_measure_later(ClockWatch *watch) {
        (void)timer_in(watch->node->event, &watch->timer, SKEW_MEASURE_PERIOD, clock_watch_on_timer,
                       watch);
}

static void clock_watch_on_timer(void *userdata) {
        ClockWatch *watch = userdata;

        (void)clock_watch_measure(watch);
        clock_watch_measure_later(watch);
}

static void clock_watch_warn(const Node *node) {
        const LogAbout about = {.message_id = MESSAGE_CLOCK_SKEWED};
        g_autofree char *shows = NULL;

        if (node_clock_is_impossible(node)) {
                shows = clock_in_words(clock_realtime());
                log_warning(&about,
                            "this node's clock shows %s, which cannot be right: no job is claimed "
                            "until it shows a time from 2000 to 2099",
                            shows);
                return;
        }
        log_warning(&about,
                    "this node's clock differs from the ZooKeeper server's by %.3f s: no job is "
                    "claimed until it is within max-skew",
                    (double)node->skew.skew / (double)USEC_PER_SEC);
}

static void clock_watch_on_skew(bool skewed, void *userdata) {
        ClockWatch *watch = userdata;
        const LogAbout about = {.message_id = MESSAGE_CLOCK_SKEWED};

        watch->timer = sd_event_source_disable_unref(watch->timer);
        if (skewed) {
                clock_watch_warn(watch->node);
                clock_watch_measure_later(watch);
        } else {
                log_notice(&about, "this node's clock agrees with the ZooKeeper server's again");
        }
        watch->changed_func(skewed, watch->userdata);
}

/* Our own directory of open runs is there as long as the tree is, and its data is nobody's. */
ClockWatch *clock_watch_new(Node *node, Tree *tree, ClockWatchFunc changed, void *userdata) {
        static const ClockProbeEvents events = {clock_watch_on_sample, clock_watch_on_missing};
        g_autofree char *path = path_open_node(node->config->root, node->config->node_name);
        ClockWatch *watch = g_new0(ClockWatch, 1);

        watch->node = node;
        watch->tree = tree;
        watch->changed_func = changed;
        watch->userdata = userdata;
        watch->probe = clock_probe_new(path, &events, watch);
        node_on_skew(node, clock_watch_on_skew, watch);
        return watch;
}

ClockWatch *clock_watch_free(ClockWatch *watch) {
        if (!watch)
                return NULL;
        node_on_skew(watch->node, NULL, NULL);
        clock_probe_free(watch->probe);
        sd_event_source_disable_unref(watch->timer);
        g_free(watch);
        return NULL;
}

usec_t clock_watch_measure(ClockWatch *watch) {
        if (tree_is_done(watch->tree))
                clock_probe_ask(watch->probe, session_zk(watch->node->session));
        return MAX(LOOK_DELAY, clock_probe_pause_left(watch->probe));
}

bool clock_watch_is_known(const ClockWatch *watch) {
        return clock_skew_is_known(&watch->node->skew, clock_realtime(), clock_boottime());
}

bool clock_watch_is_good(const ClockWatch *watch) {
        return clock_watch_is_known(watch) && !node_is_skewed(watch->node);
}

void clock_watch_reset(ClockWatch *watch) {
        clock_skew_forget(&watch->node->skew);
        watch->node->told_skewed = false;
        watch->timer = sd_event_source_disable_unref(watch->timer);
        clock_probe_reset(watch->probe);
}
