/* See answer-history.h. Of one job: the names of its records, then the newest of these. Of a job of
 * mode each-node the names of the records of all nodes that have some, and then the newest of all
 * of them: also where the name is not known here, and nothing stands under it alone. */
#include "answer-history.h"

#include <string.h>

#include "answer-control.h"
#include "answer-runs.h"
#include "bus-interface.h"
#include "name.h"
#include "paths.h"
#include "status-report.h"

#define HISTORY_LIMIT_MAX 1000
/* Of more nodes nothing is looked for. */
#define HISTORY_NODES_MAX 1000

static int answer_not_connected(const View *view, sd_bus_error *error) {
        g_autofree char *sentence = status_unusable(view);

        return sd_bus_error_set(error, BUS_ERROR_NOT_CONNECTED, sentence);
}

static void answer_unusable(Answer *answer) {
        g_autofree char *sentence = status_unusable(answer_view(answer));

        answer_error(answer, BUS_ERROR_NOT_CONNECTED, "%s", sentence);
}

static bool history_begin_of_all(Answer *answer);

/* The runs of one tick on several nodes have one id: that which was claimed last comes first. */
static gint record_newest_first(gconstpointer a, gconstpointer b) {
        const RunRecord *left = *(const RunRecord *const *)a, *right = *(const RunRecord *const *)b;
        int by_run = run_id_compare(right->run, left->run);

        if (by_run != 0)
                return by_run;
        if (left->claimed != right->claimed)
                return left->claimed < right->claimed ? 1 : -1;
        return strcmp(left->job, right->job);
}

/* Return: whether there is such a job, though nothing of it stands in ZooKeeper yet: this node's,
 * or an instance of a member. */
static bool history_is_of_job(const Answer *answer) {
        const View *view = answer_view(answer);
        const char *node = job_name_node(answer->job);

        return jobset_find(view->jobset, answer->job) ||
               jobset_find_each(view->jobset, answer->job) ||
               (node && strcmp(node, view->node->config->node_name) != 0 &&
                members_contains(view->members, node) &&
                jobset_definition(view->jobset, answer->job));
}

static void history_on_done(Answer *answer) {
        json_t *object, *runs;

        if (answer->missing && !answer->broken && !history_is_of_job(answer)) {
                answer_control_no_job(answer, ", and no history of one");
                return;
        }
        if (answer->broken && *status_fault(answer_view(answer))) {
                answer_unusable(answer);
                return;
        }
        if (answer->broken) {
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "the connection to ZooKeeper was lost while reading the history");
                return;
        }
        if (answer->read > ANSWER_BYTES_MAX) {
                answer_error(answer, SD_BUS_ERROR_LIMITS_EXCEEDED,
                             "the answer would be too long: ask for fewer runs");
                return;
        }
        object = json_object();
        runs = json_array();
        g_ptr_array_sort(answer->records, record_newest_first);
        for (guint i = 0; i < MIN(answer->records->len, answer->limit); i++)
                json_array_append_new(runs, run_record_to_json(answer->records->pdata[i]));
        json_object_set_new(object, "job", json_string(answer->job));
        json_object_set_new(object, "runs", runs);
        json_object_update(object, answer->gathered);
        answer_reply(answer, object);
}

static gint name_newest_first(gconstpointer a, gconstpointer b) {
        return run_id_compare(*(const char *const *)b, *(const char *const *)a);
}

/* What is no job's own name may have been one of mode each-node, whose file is gone. */
static void history_on_listed(Answer *answer, const char *tag, const ZkReply *reply) {
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        (void)tag;
        answer->missing = reply->code == ZK_NO_NODE;
        answer->broken = reply->code != ZK_OK && !answer->missing;
        if (answer->missing && !job_name_node(answer->job) &&
            !jobset_find(answer_view(answer)->jobset, answer->job) && !history_begin_of_all(answer))
                answer->broken = true;
        for (size_t i = 0; reply->code == ZK_OK && i < reply->n_children; i++)
                g_ptr_array_add(names, (char *)reply->children[i]);
        g_ptr_array_sort(names, name_newest_first);
        for (guint i = 0; i < names->len && i < answer->limit; i++) {
                g_autofree char *path =
                    path_run(answer_view(answer)->node->config->root, answer->job, names->pdata[i]);
                if (answer_get(answer, path, names->pdata[i], answer_on_record) < 0)
                        answer->broken = true;
        }
}

/* Under which names there is more of it. */
static void history_on_ledger(Answer *answer, const char *tag, const ZkReply *reply) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        if (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0)
                return;
        if (ledger->was)
                json_object_set_new(answer->gathered, "was", json_string(ledger->was));
        if (ledger->renamed)
                json_object_set_new(answer->gathered, "renamed", json_string(ledger->renamed));
}

/* ---- of all nodes ---- */

/* `tag`: "JOB/RUN". */
static void history_on_record_of_one(Answer *answer, const char *tag, const ZkReply *reply) {
        g_auto(GStrv) parts = g_strsplit(tag, "/", 2);

        answer_take_record(answer, parts[0], parts[1], reply);
}

/* Return: newly allocated, "JOB/RUN" of the answer's records. */
static GPtrArray *history_newest(const Answer *answer) {
        GPtrArray *newest = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < answer->records->len; i++) {
                const RunRecord *record = answer->records->pdata[i];

                g_ptr_array_add(newest, g_strconcat(record->job, "/", record->run, NULL));
        }
        return newest;
}

/* All names are there: what they name is read of the newest. */
static void history_on_names(Answer *answer) {
        g_autoptr(GPtrArray) newest = history_newest(answer);

        g_ptr_array_set_size(answer->records, 0);
        answer->done = history_on_done;
        for (guint i = 0; i < newest->len; i++) {
                g_auto(GStrv) parts = g_strsplit(newest->pdata[i], "/", 2);
                g_autofree char *path =
                    path_run(answer_view(answer)->node->config->root, parts[0], parts[1]);

                answer->broken |=
                    answer_get(answer, path, newest->pdata[i], history_on_record_of_one) < 0;
        }
        if (answer->pending == 0)
                history_on_done(answer);
}

/* Of the names of all nodes as many are kept as may be told: of the last id all, for only what they
 * name says which of them are newer. */
static void history_cut_names(Answer *answer) {
        GPtrArray *names = answer->records;
        guint keep = answer->limit;

        if (names->len <= keep)
                return;
        g_ptr_array_sort(names, record_newest_first);
        while (keep < names->len &&
               run_id_compare(((const RunRecord *)names->pdata[keep])->run,
                              ((const RunRecord *)names->pdata[answer->limit - 1])->run) == 0)
                keep++;
        g_ptr_array_set_size(names, (gint)keep);
}

/* `job`: of one node. */
static void history_on_listed_of_one(Answer *answer, const char *job, const ZkReply *reply) {
        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        for (size_t i = 0; reply->code == ZK_OK && i < reply->n_children; i++)
                if (run_id_is_valid(reply->children[i]))
                        g_ptr_array_add(answer->records, run_record_new(job, reply->children[i]));
        history_cut_names(answer);
}

/* Of all jobs; also of nodes that are gone. */
static void history_on_jobs(Answer *answer, const char *tag, const ZkReply *reply) {
        g_autofree char *prefix = job_name_of_instance(answer->job, "");
        unsigned n = 0;

        (void)tag;
        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        for (size_t i = 0; reply->code == ZK_OK && i < reply->n_children; i++) {
                const char *job = reply->children[i];
                g_autofree char *path = path_runs(answer_view(answer)->node->config->root, job);

                if (!g_str_has_prefix(job, prefix) || !job_name_is_valid(job) ||
                    ++n > HISTORY_NODES_MAX)
                        continue;
                answer->missing = false;
                answer->broken |=
                    answer_get_children(answer, path, job, history_on_listed_of_one) < 0;
        }
}

static bool history_begin_of_all(Answer *answer) {
        g_autofree char *path = path_jobs(answer_view(answer)->node->config->root);

        answer->done = history_on_names;
        return answer_get_children(answer, path, NULL, history_on_jobs) >= 0;
}

static bool history_begin(Answer *answer) {
        const char *root = answer_view(answer)->node->config->root;
        g_autofree char *path = path_runs(root, answer->job), *ledger = path_job(root, answer->job);

        return answer_get(answer, ledger, NULL, history_on_ledger) >= 0 &&
               answer_get_children(answer, path, NULL, history_on_listed) >= 0;
}

/* Also of a job that left all files: its runs are there for as long as its records are. */
int answer_history(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        const char *job = NULL;
        uint32_t limit = 0;
        Answer *answer = NULL;
        int r = sd_bus_message_read(message, "su", &job, &limit);

        if (r < 0)
                return r;
        if (!job_name_is_valid(job))
                return answer_control_no_job_of_anybody(owner, error, job);
        if (session_state(view->node->session) != SESSION_CONNECTED)
                return answer_not_connected(view, error);
        answer = answer_new(owner, message, history_on_done);
        answer->job = g_strdup(job);
        answer->limit = limit ? MIN(limit, HISTORY_LIMIT_MAX) : HISTORY_LIMIT_MAX;
        answer->gathered = json_object();
        if (!(jobset_find_each(view->jobset, job) ? history_begin_of_all(answer)
                                                  : history_begin(answer)))
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        return 1;
}
