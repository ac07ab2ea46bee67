/* A question to jobkeeperd whose answer comes from a loop, for a command that has something else to
 * do until then. It is asked as bus_ask() asks. */
#pragma once

#include <systemd/sd-event.h>

#include "bus-client.h"

typedef struct BusQuestion BusQuestion;
/* The answer is the question's, and goes with it; the question may be freed in it. */
typedef void (*BusQuestionFunc)(const BusAnswer *answer, void *userdata);

/* Asks about a run of a job. `timeout` as of sd-bus, USEC_INFINITY: none. Return: 0 with the
 * question, which is to be freed; negative errno where the bus cannot be reached. */
int bus_question_new(sd_event *event, const char *method, usec_t timeout, const char *job,
                     const char *run, BusQuestionFunc func, void *userdata,
                     BusQuestion **ret_question);
BusQuestion *bus_question_free(BusQuestion *question);
/* Return: what was answered, borrowed from the question: once its function was called. */
const BusAnswer *bus_question_answer(const BusQuestion *question);
DEFINE_CLEANUP(BusQuestion, bus_question_free);
