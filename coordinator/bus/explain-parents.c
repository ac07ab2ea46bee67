/* See explain-parents.h. */
#include "explain-parents.h"

#include "link-report.h"
#include "paths.h"
#include "tick-records.h"

/* Return: what is told of that job, borrowed. */
static json_t *parent_told(const Answer *answer, const char *job) {
        json_t *follows = json_object_get(answer->gathered, "follows"), *parent = NULL;
        size_t index = 0;

        json_array_foreach(follows, index, parent) {
                const char *name = json_string_value(json_object_get(parent, "job"));

                if (g_strcmp0(name, job) == 0)
                        return parent;
        }
        return NULL;
}

/* `tag`: the job. One that is damaged is left out: it is told of where that job is explained. */
static void parent_on_record(Answer *answer, const char *tag, const ZkReply *reply) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        json_t *runs = json_object_get(parent_told(answer, tag), "runs");

        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        if (reply->code != ZK_OK)
                return;
        answer->read += reply->data_size;
        if (answer->read > ANSWER_BYTES_MAX ||
            run_record_decode(reply->data, reply->data_size, &record) < 0 ||
            !tick_record_is_of(record, answer->tick))
                return;
        json_array_append_new(runs, run_record_to_json(record));
}

static void parent_read(Answer *answer, const char *job, const char *run) {
        g_autofree char *path = path_run(answer_view(answer)->node->config->root, job, run);

        if (answer_get(answer, path, job, parent_on_record) < 0)
                answer->broken = true;
}

static void parent_on_listed(Answer *answer, const char *tag, const ZkReply *reply) {
        g_autoptr(GPtrArray) names = NULL;
        const char *stretch = NULL;
        guint first = 0;

        answer->broken |= reply->code != ZK_OK && reply->code != ZK_NO_NODE;
        if (reply->code != ZK_OK)
                return;
        names = tick_names_of(reply, answer->tick, true);
        stretch = tick_stretch_before(reply, answer->tick);
        if (names->len == 0 && stretch)
                parent_read(answer, tag, stretch);
        if (names->len > EXPLAIN_PARENT_RUNS_MAX)
                first = names->len - EXPLAIN_PARENT_RUNS_MAX;
        for (guint i = first; i < names->len; i++)
                parent_read(answer, tag, names->pdata[i]);
}

void explain_parents_read(Answer *answer, const JobSpec *spec) {
        json_t *follows = NULL, *parent = NULL;
        size_t index = 0;

        if (!spec->books.links.after)
                return;
        follows = link_report_after(&spec->books.links);
        json_object_set_new(answer->gathered, "follows", follows);
        json_array_foreach(follows, index, parent) {
                const char *job = json_string_value(json_object_get(parent, "job"));
                g_autofree char *path = path_runs(answer_view(answer)->node->config->root, job);

                json_object_set_new(parent, "runs", json_array());
                if (answer->tick > 0 &&
                    answer_get_children(answer, path, job, parent_on_listed) < 0)
                        answer->broken = true;
        }
}
