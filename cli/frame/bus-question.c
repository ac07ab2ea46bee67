/* See bus-question.h. Each has a connection of its own: one that is lost is answered as an error,
 * and the next question finds the bus anew. */
#include "bus-question.h"

#include <glib.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "bus-interface.h"
#include "bus-open.h"

struct BusQuestion {
        sd_bus *bus;
        sd_bus_slot *slot;
        const char *method; /* a constant of whoever asks */
        BusQuestionFunc func;
        void *userdata;
        BusAnswer answer;
};

BusQuestion *bus_question_free(BusQuestion *question) {
        if (!question)
                return NULL;
        sd_bus_slot_unref(question->slot);
        (void)sd_bus_detach_event(question->bus);
        sd_bus_close_unref(question->bus);
        bus_answer_done(&question->answer);
        g_free(question);
        return NULL;
}

const BusAnswer *bus_question_answer(const BusQuestion *question) {
        return &question->answer;
}

static int bus_question_on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusQuestion *question = userdata;

        (void)error;
        bus_answer_take(&question->answer, reply, question->method);
        question->func(&question->answer, question->userdata);
        return 0;
}

int bus_question_new(sd_event *event, const char *method, usec_t timeout, const char *job,
                     const char *run, BusQuestionFunc func, void *userdata,
                     BusQuestion **ret_question) {
        const char *name = geteuid() == 0 ? BUS_NAME_ROOT : BUS_NAME;
        _cleanup_(bus_question_freep) BusQuestion *question = g_new0(BusQuestion, 1);
        sd_bus_message *message = NULL;
        int r;

        question->method = method;
        question->func = func;
        question->userdata = userdata;
        if ((r = bus_open_system(&question->bus)) < 0 ||
            (r = sd_bus_attach_event(question->bus, event, 0)) < 0)
                return r;
        r = sd_bus_message_new_method_call(question->bus, &message, name, BUS_PATH, BUS_INTERFACE,
                                           method);
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", job, run);
        if (r >= 0)
                r = sd_bus_call_async(question->bus, &question->slot, message,
                                      bus_question_on_reply, question, timeout);
        sd_bus_message_unref(message);
        if (r < 0)
                return r;
        *ret_question = g_steal_pointer(&question);
        return 0;
}
