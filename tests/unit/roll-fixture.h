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
/* Return: newly allocated, what says that these are so for the tick: "n2 failed n3 claimed"; with
 * "@SECONDS" behind a state its machine, which had the boot id "b1", is waited for since so many
 * seconds before the tick, with "+" another attempt follows, with "!" it was late. */
char *roll_data(const char *others);
/* Return: newly allocated, what is known there of n1 alone, but for when it was settled and its
 * boot id: "succeeded@" where it is waited for; "" where nothing is. */
char *roll_known(void);
/* What is known of them becomes that. */
void roll_write(const char *others);
void roll_expect(const char *others);
/* Return: newly allocated, the path of what of a@NODE: the record of the run with that suffix. */
char *roll_record_path(const char *node, const char *suffix);
/* Return: what the record of the first attempt of a@n1 says, borrowed. */
const char *roll_record(void);
/* Somebody else has settled it so. */
void roll_settle_record(RunState state);
/* For await(): so many have started; none is under way any more. */
bool roll_has_started(void);
bool roll_is_over(void);
