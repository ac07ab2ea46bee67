/* See node.h. */
#include "node.h"

#include <glib.h>
#include <systemd/sd-id128.h>

Node *node_new(sd_event *event, const char *runtime_dir, const char *state_dir) {
        Node *node = g_new0(Node, 1);

        node->event = sd_event_ref(event);
        node->notify = notify_new(event);
        node->launch_fault = launch_fault_new(event, LAUNCH_FAULT_PERIOD);
        node->systemd_fault = systemd_fault_new();
        node->runtime_dir = g_strdup(runtime_dir);
        node->state_dir = g_strdup(state_dir);
        node->started = clock_realtime();
        return node;
}

Node *node_free(Node *node) {
        if (!node)
                return NULL;
        g_free(node->runtime_dir);
        g_free(node->state_dir);
        launch_fault_free(node->launch_fault);
        systemd_fault_free(node->systemd_fault);
        notify_free(node->notify);
        sd_event_unref(node->event);
        g_free(node);
        return NULL;
}

int node_identify(Node *node) {
        sd_id128_t machine, boot;
        int r;

        if ((r = sd_id128_get_machine(&machine)) < 0 || (r = sd_id128_get_boot(&boot)) < 0)
                return r;
        (void)sd_id128_to_string(machine, node->machine_id);
        (void)sd_id128_to_string(boot, node->boot_id);
        return 0;
}

char *node_identity(const Node *node) {
        return g_strdup_printf("%s %s", node->config->node_name, node->config->root);
}

bool node_is_ready(const Node *node) {
        return node->session_phase == SESSION_PHASE_READY;
}

bool node_is_ending(const Node *node) {
        return node->process_phase != PROCESS_PHASE_WORKING;
}

const char *node_unfiled(const Node *node) {
        if (node->session && !session_is_filed(node->session))
                return "the state of the ZooKeeper session cannot be written under /run/jobkeeper "
                       "(is there no space?), without which no run is let start";
        return launch_fault_why(node->launch_fault);
}

Zk *node_zk(const Node *node) {
        return node_is_ready(node) ? session_zk(node->session) : NULL;
}

void node_clock_sample(Node *node, int64_t server_ms, usec_t sent_realtime) {
        node_clock_sample_at(node, (usec_t)server_ms * USEC_PER_MSEC, sent_realtime,
                             clock_realtime());
}

void node_clock_sample_at(Node *node, usec_t server, usec_t sent, usec_t received) {
        bool after;
        usec_t age = usec_sub(clock_realtime(), received);

        clock_skew_sample(&node->skew, server, sent, received, usec_sub(clock_boottime(), age),
                          USEC_PER_SEC);
        after = node_is_skewed(node);
        if (node->told_skewed == after)
                return;
        node->told_skewed = after;
        if (node->skew_func)
                node->skew_func(after, node->skew_userdata);
}

bool node_knows_server_time(const Node *node) {
        return clock_skew_server_time(&node->skew, clock_boottime()) > 0;
}

usec_t node_server_time(const Node *node) {
        usec_t time = clock_skew_server_time(&node->skew, clock_boottime());

        return time ? time : clock_realtime();
}

usec_t node_server_time_or(const Node *node, usec_t otherwise) {
        usec_t time = node_server_time(node);

        return clock_is_plausible(time) ? time : otherwise;
}

void node_on_skew(Node *node, NodeSkewFunc func, void *userdata) {
        node->skew_func = func;
        node->skew_userdata = userdata;
}

bool node_clock_is_impossible(const Node *node) {
        return !clock_is_plausible(clock_realtime());
}

bool node_is_skewed(const Node *node) {
        return clock_skew_exceeds(&node->skew, node->config->max_skew) ||
               node_clock_is_impossible(node);
}
