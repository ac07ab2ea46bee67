/* A daemon on n1 with job "a" (daemon-fixture.h), a tick of it that is due soon, and what is asked
 * for when its run ends. */
#pragma once

#include "daemon-fixture.h"

#define FOLLOW_ROOT "/jobkeeper"

extern int64_t follow_tick; /* of the run of job "a" */

/* Waits until job "a", with these keys besides, has started for its tick. */
void follow_start(const char *more);
/* A run of "b" is asked for as the one that comes after so many. */
void follow_ask_for_b(unsigned runs);
/* Return: newly allocated, the path of the request for the run of that job which follows that of
 * "a", and the name of that run. */
char *follow_request_path(const char *job);
char *follow_run(const char *job);
/* Return: whether what was started last has "NAME=value" in its environment. */
bool follow_has_variable(const char *assignment);

/* For await(): what was started last goes on, as the first or as one of so many; nothing of ours is
 * under way any more, or that is so of two that were. */
bool follow_has_started(void);
bool follow_has_two_starts(void);
bool follow_has_three_starts(void);
bool follow_is_over(void);
bool follow_both_are_over(void);

/* For server.way: the first answer to a request that is made is lost; it is counted in this, which
 * is the test's own otherwise. */
extern unsigned follow_tries;
ServerWay follow_lose_the_answer(const ZkCall *call);
