/* See turn-checker.c. */
#pragma once

#include "checker.h"

typedef struct TurnBook TurnBook;

TurnBook *turn_book_new(void);
TurnBook *turn_book_free(TurnBook *book);

/* A server has answered in that session what was asked then. */
void turn_note_answer(TurnBook *book, int64_t id, usec_t asked, usec_t now);
/* Return: whether servers answer in that session and have ever since then, so many flights to them
 * and back. */
bool turn_is_answered(const TurnBook *book, int64_t session, usec_t since, usec_t now,
                      unsigned *ret_flights);
/* Whose turn is it, in every queue? Called at every commit; now and then it looks. */
void turn_look(Checker *checker, TurnBook *book, const DataTree *tree);
