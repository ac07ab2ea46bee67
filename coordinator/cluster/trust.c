/* See trust.h. */
#include "trust.h"

#include <string.h>

#include "draw.h"
#include "ensemble-record.h"
#include "flight.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "timer.h"

/* What could not be read or written is tried again so much later. */
#define RETRY_DELAY (5 * USEC_PER_SEC)
/* Whoever writes there again and again has us look no more often than that. */
#define LOOK_PERIOD (1 * USEC_PER_SEC)

struct Trust {
        const Node *node; /* weak */
        const TrustEvents *events;
        void *userdata;
        char *path;
        Flight *reads;
        ZkWatch *watch;
        EnsembleSeen seen; /* its record is ours */
        int32_t version;
        json_t *record; /* the last that could be read */
        ZkCall *write;
        sd_event_source *retry;
        EnsembleVerdict verdict;
        bool has_root, trusted, doubted;
        usec_t looked; /* CLOCK_MONOTONIC */
        Statement doubt;
        char *fault;
};

Trust *trust_new(const Node *node, const TrustEvents *events, void *userdata) {
        Trust *trust = g_new0(Trust, 1);

        trust->node = node;
        trust->events = events;
        trust->userdata = userdata;
        trust->path = path_ensemble(node->config->root);
        return trust;
}

static void trust_cancel(Trust *trust) {
        trust->reads = flight_free(trust->reads);
        trust->watch = zk_watch_free(trust->watch);
        trust->write = zk_call_free(trust->write);
        trust->retry = sd_event_source_disable_unref(trust->retry);
        trust->trusted = false;
}

Trust *trust_free(Trust *trust) {
        if (!trust)
                return NULL;
        trust_cancel(trust);
        json_decref(trust->record);
        statement_clear(&trust->doubt);
        g_free(trust->fault);
        g_free(trust->path);
        g_free(trust);
        return NULL;
}

void trust_reset(Trust *trust) {
        trust_cancel(trust);
}

void trust_suspend(Trust *trust) {
        trust->trusted = false;
}

bool trust_is_given(const Trust *trust) {
        return trust->trusted;
}

bool trust_is_doubted(const Trust *trust) {
        return trust->doubted;
}

const Statement *trust_doubt(const Trust *trust) {
        return &trust->doubt;
}

const char *trust_fault(const Trust *trust) {
        return trust->fault ? trust->fault : "";
}

const json_t *trust_record(const Trust *trust) {
        return trust->record;
}

static void trust_on_retry(void *userdata) {
        Trust *trust = userdata;

        if (session_zk(trust->node->session))
                trust_look(trust);
}

static void trust_retry_later(Trust *trust) {
        (void)timer_in(trust->node->event, &trust->retry, RETRY_DELAY, trust_on_retry, trust);
}

const char *trust_known_id(const Trust *trust) {
        return ensemble_memory_known(trust->node->ensemble).id;
}

/* ---- what is written ---- */

/* Our own watch tells of what we have set; of a node that was made nothing does. */
static void trust_on_written(const ZkReply *reply, void *userdata) {
        Trust *trust = userdata;

        trust->write = NULL;
        if (reply->code == ZK_NO_AUTH && !trust->doubted)
                trust->events->refused(trust->userdata);
        if (reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS || reply->code == ZK_BAD_VERSION)
                trust_look(trust);
        else
                trust_retry_later(trust);
}

static void trust_make_parents(Trust *trust, Zk *zk) {
        const char *root = trust->node->config->root;

        for (const char *slash = strchr(root + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                g_autofree char *parent = g_strndup(root, (gsize)(slash - root));

                (void)zk_create(zk, parent, "", 0, NULL, NULL, NULL);
        }
        (void)zk_create(zk, root, "", 0, NULL, NULL, NULL);
}

/* Makes it with an id of its own; with our doubt, where there is one. */
static void trust_make(Trust *trust) {
        Zk *zk = session_zk(trust->node->session);
        g_autofree char *text = NULL;
        char id[DRAW_ID_MAX];
        json_t *record;

        draw_id(id);
        record = ensemble_record_new(id);
        if (trust->doubted)
                ensemble_record_doubt(record, &trust->doubt, trust_known_id(trust));
        text = ensemble_record_encode(record);
        json_decref(record);
        trust_make_parents(trust, zk);
        if (zk_create(zk, trust->path, text, 0, trust_on_written, trust, &trust->write) < 0)
                trust_retry_later(trust);
}

static void trust_tell_doubt(Trust *trust) {
        g_autofree char *text = NULL;
        json_t *record = json_deep_copy(trust->record);

        ensemble_record_doubt(record, &trust->doubt, trust_known_id(trust));
        text = ensemble_record_encode(record);
        json_decref(record);
        if (zk_set(session_zk(trust->node->session), trust->path, text, trust->version,
                   trust_on_written, trust, &trust->write) < 0)
                trust_retry_later(trust);
}

/* ---- the verdict ---- */

static void trust_give(Trust *trust) {
        Statement accepted = {0};

        ensemble_memory_learn(trust->node->ensemble, &trust->seen);
        if (trust->doubted && ensemble_record_accepted(trust->record, &accepted)) {
                g_autofree char *text = statement_to_text(&accepted);

                log_notice(&(LogAbout){.message_id = MESSAGE_ENSEMBLE_ACCEPTED},
                           "what stands in ZooKeeper is accepted%s; this node takes part again",
                           text);
        }
        statement_clear(&accepted);
        statement_clear(&trust->doubt);
        trust->doubted = false;
        g_clear_pointer(&trust->fault, g_free);
        trust->trusted = true;
        trust->events->trusted(trust->userdata);
}

/* Takes over what is said there, or says it. */
static void trust_take_doubt(Trust *trust) {
        const char *why = ensemble_verdict_why(trust->verdict);

        if (trust->verdict == ENSEMBLE_DOUBTED) {
                statement_clear(&trust->doubt);
                (void)ensemble_record_is_doubted(trust->record, &trust->doubt);
        } else if (g_strcmp0(trust->doubt.why, why) != 0) {
                statement_clear(&trust->doubt);
                trust->doubt = (Statement){g_strdup(trust->node->config->node_name), g_strdup(why),
                                           clock_realtime()};
        }
}

static void trust_say_doubt(Trust *trust) {
        g_autofree char *doubt = statement_to_text(&trust->doubt);
        char *fault = g_strdup_printf("what stands in ZooKeeper is not trusted%s; nothing is run "
                                      "or locked until \"jobkeeper admin accept-ensemble\"",
                                      doubt);

        if (g_strcmp0(fault, trust->fault) != 0)
                log_error(&(LogAbout){.message_id = MESSAGE_ENSEMBLE_DOUBTED}, "%s", fault);
        g_free(trust->fault);
        trust->fault = fault;
}

static void trust_refuse(Trust *trust) {
        trust_take_doubt(trust);
        trust_say_doubt(trust);
        trust->doubted = true;
        if (trust->verdict == ENSEMBLE_GONE)
                trust_make(trust);
        else if (ensemble_verdict_is_told(trust->verdict))
                trust_tell_doubt(trust);
        trust->events->doubted(trust->userdata);
}

static void trust_decide(Trust *trust) {
        const EnsembleKnown known = ensemble_memory_known(trust->node->ensemble);

        trust->verdict = ensemble_judge(&known, &trust->seen);
        if (ensemble_verdict_trusts(trust->verdict))
                trust_give(trust);
        else if (trust->verdict == ENSEMBLE_NEW)
                trust_make(trust);
        else
                trust_refuse(trust);
}

/* ---- what is read ---- */

static void trust_on_root(const ZkReply *reply, void *userdata) {
        Trust *trust = userdata;

        trust->has_root = reply->code == ZK_OK;
        trust->seen.root = trust->has_root ? reply->stat.czxid : 0;
}

static void trust_on_open(const ZkReply *reply, void *userdata) {
        ((Trust *)userdata)->seen.newest = reply->code == ZK_OK ? reply->stat.pzxid : 0;
}

/* Where our own directory there is missing, others have deleted it, empty, once we had left, and
 * this is newer than whatever we did in it. In a tree from before that it is not. */
static void trust_on_open_of_all(const ZkReply *reply, void *userdata) {
        EnsembleSeen *seen = &((Trust *)userdata)->seen;

        if (reply->code == ZK_OK && seen->newest == 0)
                seen->newest = reply->stat.pzxid;
}

static void trust_on_record(const ZkReply *reply, void *userdata) {
        Trust *trust = userdata;
        json_t *record =
            reply->code == ZK_OK ? ensemble_record_parse(reply->data, reply->data_size) : NULL;

        trust->seen.damaged = reply->code == ZK_OK && !record;
        trust->seen.record = record;
        trust->version = reply->stat.version;
        if (!record)
                return;
        json_decref(trust->record);
        trust->record = record;
}

static void trust_on_read(ZkCode code, void *userdata) {
        Trust *trust = userdata;

        trust->reads = flight_free(trust->reads);
        /* Without a root it is being deleted. */
        if (code == ZK_OK && (!trust->seen.record || trust->has_root)) {
                trust_decide(trust);
                return;
        }
        if (code == ZK_NO_AUTH)
                trust->events->refused(trust->userdata);
        trust_retry_later(trust);
}

static void trust_on_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Trust *trust = userdata;
        usec_t since = clock_monotonic() - trust->looked;

        if (since >= LOOK_PERIOD) {
                trust_look(trust);
                return;
        }
        trust->trusted = false;
        (void)timer_in(trust->node->event, &trust->retry, LOOK_PERIOD - since, trust_on_retry,
                       trust);
}

/* Others may make the tree, or delete in it, between one of these and the next. So what stands in
 * something is read before that is. */
void trust_look(Trust *trust) {
        const DaemonConfig *config = trust->node->config;
        g_autofree char *open = path_open_node(config->root, config->node_name),
                        *open_of_all = path_open(config->root);

        trust_cancel(trust);
        trust->looked = clock_monotonic();
        trust->seen = (EnsembleSeen){0};
        trust->reads = flight_new(session_zk(trust->node->session), trust_on_read, trust);
        flight_write_nothing(trust->reads, config->root);
        flight_watch(trust->reads, trust->path, trust_on_record, trust, trust_on_changed,
                     &trust->watch);
        flight_exists(trust->reads, config->root, trust_on_root, trust);
        flight_exists(trust->reads, open, trust_on_open, trust);
        flight_exists(trust->reads, open_of_all, trust_on_open_of_all, trust);
        if (flight_depart(trust->reads) < 0) {
                trust->reads = flight_free(trust->reads);
                trust_retry_later(trust);
        }
}
