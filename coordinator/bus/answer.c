/* See answer.h. */
#include "answer.h"

#include <errno.h>
#include <string.h>

#include "bus-interface.h"
#include "json-line.h"
#include "run-record.h"
#include "statement.h"
#include "timer.h"

struct AnswerRead {
        Answer *answer; /* weak: owns us */
        WindowedRead *read;
        char *tag;
        AnswerReadFunc func;
};

/* ---- all of a connection's ---- */

static void answer_free(void *data);

/* The number of jobs changes with the files. */
static void answers_fit_budget(const Answers *answers) {
        guint jobs = jobset_size(answers->view->jobset);

        if (answers->budget)
                read_budget_set(answers->budget, READS_PER_SECOND + jobs / READS_JOBS_PER_SECOND,
                                READS_AT_ONCE + jobs);
}

Answers *answers_new(const View *view, bool privileged) {
        Answers *answers = g_new0(Answers, 1);

        answers->view = view;
        answers->privileged = privileged;
        answers->set = g_hash_table_new_full(g_direct_hash, g_direct_equal, answer_free, NULL);
        if (!privileged)
                answers->budget =
                    read_budget_new(view->node->event, READS_PER_SECOND, READS_AT_ONCE);
        answers->window = read_window_new(view->node, answers->budget);
        answers->status_window = read_window_new(view->node, answers->budget);
        return answers;
}

Answers *answers_free(Answers *answers) {
        if (!answers)
                return NULL;
        answers_drop(answers);
        g_hash_table_unref(answers->set);
        read_window_free(answers->window);
        read_window_free(answers->status_window);
        read_budget_free(answers->budget);
        g_free(answers);
        return NULL;
}

void answers_drop(Answers *answers) {
        g_hash_table_remove_all(answers->set);
}

void answers_session_lost(Answers *answers) {
        read_window_lost(answers->window);
        read_window_lost(answers->status_window);
}

int answers_admit(const Answers *answers, sd_bus_message *message, sd_bus_error *error) {
        const char *caller = sd_bus_message_get_sender(message);
        unsigned of_caller = 0;
        GHashTableIter iterator;
        gpointer answer;

        answers_fit_budget(answers);
        g_hash_table_iter_init(&iterator, answers->set);
        while (g_hash_table_iter_next(&iterator, &answer, NULL))
                of_caller += g_strcmp0(sd_bus_message_get_sender(((const Answer *)answer)->message),
                                       caller) == 0;
        if (of_caller >= ANSWERS_OF_CALLER_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "too many of your questions wait for their answers");
        if (g_hash_table_size(answers->set) >= ANSWERS_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "too many questions wait for their answers; try again");
        return 0;
}

/* ---- one ---- */

static void answer_read_free(void *data) {
        AnswerRead *item = data;

        windowed_read_free(item->read);
        g_free(item->tag);
        g_free(item);
}

static void record_destroy(void *record) {
        run_record_free(record);
}

/* For the owner's table. Answers with an error if nothing was answered. */
static void answer_free(void *data) {
        Answer *answer = data;

        if (answer->message)
                (void)sd_bus_reply_method_errorf(answer->message, BUS_ERROR_FAILED,
                                                 "jobkeeperd is stopping");
        if (answer->gone.func)
                answer->gone.func(answer, answer->gone.userdata);
        sd_bus_message_unref(answer->message);
        sd_event_source_disable_unref(answer->timer);
        sd_event_source_disable_unref(answer->timeout);
        slice_free(answer->slice);
        if (answer->request)
                answer_view(answer)->calls->forget_request(answer->request);
        sd_bus_slot_unref(answer->slot);
        bus_owner_free(answer->presence);
        g_ptr_array_unref(answer->reads);
        g_ptr_array_unref(answer->records);
        json_decref(answer->gathered);
        g_free(answer->job);
        g_free(answer->run);
        g_free(answer->node);
        g_free(answer);
}

/* Leaves the table, which frees it. */
static void answer_over(Answer *answer) {
        answer->message = sd_bus_message_unref(answer->message);
        g_hash_table_remove(answer->owner->set, answer);
}

static void answer_on_timeout(void *userdata) {
        Answer *answer = userdata;

        /* A run is asked for in one write. */
        if (!answer->request && read_budget_is_short(answer->owner->budget))
                answer_error(answer, SD_BUS_ERROR_LIMITS_EXCEEDED,
                             "more is asked of this node than it reads for everybody at a time, "
                             "and the answer would take too long: " READS_ADVICE);
        else
                answer_error(answer, BUS_ERROR_NOT_CONNECTED, "ZooKeeper did not answer in time%s",
                             answer->request ? ": the run may still take place" : "");
}

static void answer_on_presence(BusOwner *presence, const char *before, const char *now,
                               void *userdata) {
        if (!*now)
                answer_over(userdata);
}

Answer *answer_new(Answers *owner, sd_bus_message *message, AnswerFunc done) {
        Answer *answer = g_new0(Answer, 1);

        answer->owner = owner;
        answer->message = sd_bus_message_ref(message);
        answer->done = done;
        answer->reads = g_ptr_array_new_with_free_func(answer_read_free);
        answer->records = g_ptr_array_new_with_free_func(record_destroy);
        g_hash_table_add(owner->set, answer);
        (void)timer_in(owner->view->node->event, &answer->timeout, ANSWER_TIMEOUT,
                       answer_on_timeout, answer);
        /* Not by sd_bus_track, which asks the bus and waits for what it says. */
        (void)bus_owner_new(sd_bus_message_get_bus(message), sd_bus_message_get_sender(message),
                            answer_on_presence, answer, &answer->presence);
        return answer;
}

void answer_is_patient(Answer *answer) {
        answer->timeout = sd_event_source_disable_unref(answer->timeout);
}

void answer_on_gone(Answer *answer, AnswerGoneFunc gone, void *userdata) {
        answer->gone = (AnswerGone){gone, userdata};
}

const View *answer_view(const Answer *answer) {
        return answer->owner->view;
}

void answer_reply_text(Answer *answer, const char *text) {
        if (strlen(text) > ANSWER_BYTES_MAX) {
                answer_error(answer, SD_BUS_ERROR_LIMITS_EXCEEDED,
                             "the answer would be too long: ask for less");
                return;
        }
        if (sd_bus_reply_method_return(answer->message, "s", text) < 0) {
                g_autofree char *carried = text_for_bus(text);

                (void)sd_bus_reply_method_return(answer->message, "s", carried);
        }
        answer_over(answer);
}

void answer_reply(Answer *answer, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        answer_reply_text(answer, text);
}

void answer_error(Answer *answer, const char *name, const char *format, ...) {
        g_autofree char *sentence = NULL, *carried = NULL;
        va_list arguments;

        va_start(arguments, format);
        sentence = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        carried = text_for_bus(sentence);
        (void)sd_bus_reply_method_errorf(answer->message, name, "%s", carried);
        answer_over(answer);
}

/* ---- its reads ---- */

static void answer_on_reply(const ZkReply *reply, void *userdata) {
        AnswerRead *item = userdata;
        Answer *answer = item->answer;

        answer->pending++; /* so that func may send further reads and does not finish too early */
        item->func(answer, item->tag, reply);
        answer->pending -= 2;
        if (answer->pending == 0 && answer->done)
                answer->done(answer);
}

static int answer_read(Answer *answer, ReadKind kind, const char *path, const char *tag,
                       AnswerReadFunc func) {
        AnswerRead *item = g_new0(AnswerRead, 1);

        item->answer = answer;
        item->tag = g_strdup(tag);
        item->func = func;
        item->read = read_window_add(answer->owner->window, kind, path, answer_on_reply, item);
        if (!item->read) {
                answer_read_free(item);
                return -ENOTCONN;
        }
        g_ptr_array_add(answer->reads, item);
        answer->pending++;
        return 0;
}

int answer_get(Answer *answer, const char *path, const char *tag, AnswerReadFunc func) {
        return answer_read(answer, READ_DATA, path, tag, func);
}

int answer_get_children(Answer *answer, const char *path, const char *tag, AnswerReadFunc func) {
        return answer_read(answer, READ_CHILDREN, path, tag, func);
}
