/* See loss-checker.c. */
#pragma once

#include "checker.h"

LossBook *loss_book_new(void);
LossBook *loss_book_free(LossBook *book);

/* The run holds its locks no more, and its node is going to be told. */
void loss_note(Checker *checker, const char *job, const char *run);
/* The daemon of that node says that its session is lost. `in_time`: it was alive and well before,
 * so that all its runs were told to end. */
void loss_note_session(Checker *checker, const char *node, bool in_time);
/* The run has ended: was it told to? */
void loss_judge(Checker *checker, const HistoryRun *run);
