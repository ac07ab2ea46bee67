/* See answer.h. */
#include "answer.h"

#include <errno.h>

#include "bus-interface.h"
#include "json-line.h"
#include "ledger.h"
#include "requests.h"

struct AnswerRead {
        Answer *answer; /* weak: owns us */
        ZkCall *call;
        char *tag;
        AnswerReadFunc func;
};

static void answer_read_free(void *data) {
        AnswerRead *item = data;

        zk_call_free(item->call);
        g_free(item->tag);
        g_free(item);
}

static void ledger_destroy(void *ledger) {
        ledger_free(ledger);
}

static void record_destroy(void *record) {
        run_record_free(record);
}

Answer *answer_new(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                   AnswerDoneFunc done) {
        Answer *answer = g_new0(Answer, 1);

        answer->coordinator = coordinator;
        answer->owner = owner;
        answer->message = sd_bus_message_ref(message);
        answer->done = done;
        answer->reads = g_ptr_array_new_with_free_func(answer_read_free);
        answer->ledgers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, ledger_destroy);
        answer->records = g_ptr_array_new_with_free_func(record_destroy);
        g_hash_table_add(owner, answer);
        return answer;
}

void answer_free(void *data) {
        Answer *answer = data;

        if (answer->message)
                (void)sd_bus_reply_method_errorf(answer->message, BUS_ERROR_FAILED,
                                                 "jobkeeperd is stopping");
        sd_bus_message_unref(answer->message);
        sd_event_source_disable_unref(answer->timer);
        request_call_free(answer->request);
        lock_look_free(answer->look);
        sd_bus_slot_unref(answer->slot);
        bus_owner_free(answer->presence);
        g_ptr_array_unref(answer->reads);
        g_ptr_array_unref(answer->records);
        g_hash_table_unref(answer->ledgers);
        g_free(answer->job);
        g_free(answer->run);
        g_free(answer);
}

/* Leaves the table, which frees it. */
static void answer_over(Answer *answer) {
        answer->message = sd_bus_message_unref(answer->message);
        g_hash_table_remove(answer->owner, answer);
}

static void answer_on_presence(BusOwner *presence, const char *before, const char *now,
                               void *userdata) {
        if (!*now)
                answer_over(userdata);
}

/* Not by sd_bus_track, which asks the bus and waits for what it says. */
void answer_follow_caller(Answer *answer) {
        (void)bus_owner_new(sd_bus_message_get_bus(answer->message),
                            sd_bus_message_get_sender(answer->message), answer_on_presence, answer,
                            &answer->presence);
}

void answer_reply(Answer *answer, json_t *object) {
        g_autofree char *text = json_line_dump(object);

        (void)sd_bus_reply_method_return(answer->message, "s", text);
        answer_over(answer);
}

void answer_error(Answer *answer, const char *name, const char *format, ...) {
        g_autofree char *sentence = NULL;
        va_list arguments;

        va_start(arguments, format);
        sentence = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        (void)sd_bus_reply_method_errorf(answer->message, name, "%s", sentence);
        answer_over(answer);
}

static void on_reply(const ZkReply *reply, void *userdata) {
        AnswerRead *item = userdata;
        Answer *answer = item->answer;

        item->call = NULL;
        answer->pending++; /* so that func may send further reads and does not finish too early */
        item->func(answer, item->tag, reply);
        answer->pending -= 2;
        if (answer->pending == 0)
                answer->done(answer);
}

static AnswerRead *add_read(Answer *answer, const char *tag, AnswerReadFunc func) {
        AnswerRead *item = g_new0(AnswerRead, 1);

        item->answer = answer;
        item->tag = g_strdup(tag);
        item->func = func;
        g_ptr_array_add(answer->reads, item);
        return item;
}

int answer_get(Answer *answer, const char *path, const char *tag, AnswerReadFunc func) {
        AnswerRead *item = add_read(answer, tag, func);
        Zk *zk = session_zk(answer->coordinator->session);
        int r = zk ? zk_get(zk, path, on_reply, item, &item->call, NULL, NULL, NULL) : -ENOTCONN;

        if (r >= 0)
                answer->pending++;
        return r;
}

int answer_get_children(Answer *answer, const char *path, const char *tag, AnswerReadFunc func) {
        AnswerRead *item = add_read(answer, tag, func);
        Zk *zk = session_zk(answer->coordinator->session);
        int r = zk ? zk_get_children(zk, path, on_reply, item, &item->call, NULL, NULL, NULL)
                   : -ENOTCONN;

        if (r >= 0)
                answer->pending++;
        return r;
}
