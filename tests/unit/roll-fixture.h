/* A daemon on n1 with job "a" of mode each-node (daemon-fixture.h): its instance "a@n1", a tick of
 * it that is due soon, and what is known of the rolls of the job. */
#pragma once

#include "daemon-fixture.h"
#include "rolls.h"

#define ROLL_ROOT "/jobkeeper"
#define ROLL_PATH ROLL_ROOT "/rolls/a"
#define ROLL_NOTHING "{\"runs\":[]}"

extern int64_t roll_tick;

/* With these keys besides, as in write_job(); `others`: what is known before the tick, as in
 * roll_data(); NULL: nothing stands there. */
void roll_begin(const char *keys, const char *others);
/* Return: newly allocated, what says that these are so for the tick: "n2 failed n3 claimed". */
char *roll_data(const char *others);
/* What is known of them becomes that. */
void roll_write(const char *others);
void roll_expect(const char *others);
/* Return: newly allocated, the path of what of a@NODE: the record of the run with that suffix. */
char *roll_record_path(const char *node, const char *suffix);
/* For await(): so many have started; none is under way any more. */
bool roll_has_started(void);
bool roll_is_over(void);
