/* What somebody was told, as words in their order: for the tests of one object on top of a whole
 * daemon (daemon-fixture.h). */
#pragma once

#include <stdbool.h>

/* For a suite's .init and .fini, after setup() and before teardown(). */
void heard_begin(void);
void heard_end(void);

void hear(const char *word);
/* Return: all words since they were last expected, with a space between, borrowed; "" for none. */
const char *heard(void);
bool has_heard(void);

/* Waits until something was heard: it is this. */
void expect_heard(const char *expected);
/* What was under way is over, and nothing was heard. */
void expect_silence(void);
