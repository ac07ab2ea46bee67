/* See answer-stop.h. Where something runs is what the ledger says; the node that runs it is asked
 * by a wish in ZooKeeper, as nodes are for runs by hand. */
#include "answer-stop.h"

#include <errno.h>

#include "answer-control.h"
#include "bus-interface.h"
#include "name.h"
#include "paths.h"

/* The claimed run that is found, with its node and who asks. */
static const RunRecord *stop_found(const Answer *answer) {
        return answer->records->len > 0 ? answer->records->pdata[0] : NULL;
}

static void stop_reply(Answer *answer) {
        const RunRecord *found = stop_found(answer);
        json_t *object = json_object();

        json_object_set_new(object, "job", json_string(answer->job));
        json_object_set_new(object, "run", found ? json_string(found->run) : json_null());
        json_object_set_new(object, "node", found ? json_string(found->node) : json_null());
        json_object_set_new(
            object, "member",
            json_boolean(found && members_contains(answer_view(answer)->members, found->node)));
        json_object_set_new(object, "service", json_boolean(found && found->terms.service));
        answer_reply(answer, object);
}

static void stop_on_written(int error, const char *id, void *userdata) {
        Answer *answer = userdata;

        (void)id;
        if (error < 0)
                answer_error(answer, BUS_ERROR_FAILED,
                             error == -ETIMEDOUT
                                 ? "no reply from ZooKeeper: the run may still be stopped"
                                 : "the request could not be written");
        else
                stop_reply(answer);
}

static void stop_on_read(Answer *answer) {
        const View *view = answer_view(answer);
        const RunRecord *found = stop_found(answer);
        Requested stop;

        if (answer->broken) {
                answer_error(answer, BUS_ERROR_NOT_CONNECTED,
                             "what runs of the job could not be read from ZooKeeper");
                return;
        }
        if (answer->missing && !jobset_definition(view->jobset, answer->job)) {
                answer_control_no_job(answer, "");
                return;
        }
        if (!found) {
                stop_reply(answer);
                return;
        }
        stop = (Requested){
            .job = answer->job, .run = found->run, .node = found->node, .who = found->who};
        if (view->calls->stop(view->userdata, &stop, stop_on_written, answer, &answer->request) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
}

/* `who`: whoever asks. */
static void stop_on_ledger(Answer *answer, const char *who, const ZkReply *reply) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        answer->missing = reply->code == ZK_NO_NODE;
        answer->broken =
            !answer->missing &&
            (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0);
        for (guint i = 0; ledger && i < ledger->open->len && !stop_found(answer); i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];
                RunRecord *record;

                if (entry->state != RUN_CLAIMED || !name_is_valid(entry->node) ||
                    (*answer->run && !g_str_equal(answer->run, entry->run)))
                        continue;
                record = run_record_new(answer->job, entry->run);
                record->node = g_strdup(entry->node);
                record->who = g_strdup(who);
                record->terms.service = entry->service;
                g_ptr_array_add(answer->records, record);
        }
}

int answer_stop(Answers *owner, sd_bus_message *message, sd_bus_error *error) {
        const View *view = owner->view;
        g_autofree char *path = NULL, *by = NULL;
        const char *job, *run, *who;
        Answer *answer;
        int r = sd_bus_message_read(message, "sss", &job, &run, &who);

        if (r < 0)
                return r;
        if (!job_name_is_valid(job) || (*run && !run_id_is_valid(run)))
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "that can be no job's name, or no run's id");
        r = answer_control_admit(view, error);
        if (r < 0)
                return r;
        answer = answer_new(owner, message, stop_on_read);
        answer->job = g_strdup(job);
        answer->run = g_strdup(run);
        path = path_job(view->node->config->root, job);
        by = answer_control_person(view, who);
        if (answer_get(answer, path, by, stop_on_ledger) < 0)
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "no ZooKeeper session");
        return 1;
}
