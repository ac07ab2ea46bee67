/* The promises of services. See service-checker.c, and service-watch.c for what becomes of them. */
#pragma once

#include "turn-checker.h"
#include "write-checker.h"

ServiceBook *service_book_new(void);
ServiceBook *service_book_free(ServiceBook *book);

/* Return: whether another run of the service follows what has ended so. */
bool service_follows(const RunRecord *record);
/* Return: the pause after it, as its definition and the runs before it have it. */
usec_t service_pause(const Write *write, const RunRecord *record);
/* Return: whether the tick is that of the service that is in force. */
bool service_goes_on(const Ledger *ledger, int64_t tick);
/* A run is claimed. */
void service_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record);
/* It was settled, or its result is another now. */
void service_note_end(const Write *write, const RunRecord *record);
/* A run begins that is not excused. */
void service_judge_begin(Checker *checker, const HistoryRun *run);

/* What runs, once in a while: what never says that it is ready. See ready-checker.c. */
void ready_look_at(Checker *checker, const HistoryRun *run);
/* Its main process is over. */
void ready_judge_end(Checker *checker, const HistoryRun *run);

/* Who is drained stands there from now on. */
void service_note_control(const Write *write);
/* While the cluster works, from time to time. */
void service_look(const Write *write, ServiceBook *book, const TurnBook *turns);
/* Return: whether a daemon that nobody stops may end the run: it is one of a service that is not to
 * be there any more. */
bool service_may_end(const Checker *checker, const HistoryRun *run);
