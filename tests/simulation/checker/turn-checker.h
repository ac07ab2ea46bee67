/* See turn-checker.c. */
#pragma once

#include "checker.h"

typedef struct TurnBook TurnBook;

TurnBook *turn_book_new(void);
TurnBook *turn_book_free(TurnBook *book);

/* A server has answered in that session what was asked then. */
void turn_note_answer(TurnBook *book, int64_t id, usec_t asked, usec_t now);
/* Whose turn is it, in every queue? Called at every commit; now and then it looks. */
void turn_look(Checker *checker, TurnBook *book, const DataTree *tree);
