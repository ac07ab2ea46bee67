/* How much the nodes ask of the servers. See request-checker.c. */
#pragma once

#include "checker.h"

typedef struct RequestChecker RequestChecker;

/* `checker` and `fleet` live longer. */
RequestChecker *request_checker_new(Checker *checker, const Fleet *fleet);
RequestChecker *request_checker_free(RequestChecker *requests);
DEFINE_CLEANUP(RequestChecker, request_checker_free);

/* A client on that host has just sent it. */
void request_checker_asked(RequestChecker *requests, const char *host, const Request *request);
/* Nothing is wrong any more: what is asked from now on is counted. */
void request_checker_begin(RequestChecker *requests);
/* Is that in order, for the runs that there were? */
void request_checker_judge(RequestChecker *requests);
