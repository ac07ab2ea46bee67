/* One simulated cluster, from its first start through its faults to its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"

typedef struct ClusterOptions {
        uint64_t seed;
        unsigned nodes, jobs, servers;
        usec_t duration;       /* in which faults happen */
        const char *faults;    /* names, separated by commas; NULL: all, "": none */
        unsigned pace;         /* of the faults, percent */
        FILE *trace;           /* NULL: none */
        bool forgetful;        /* servers lose what they have confirmed: promises are broken */
        bool (*is_over)(void); /* asked before each step; NULL: it goes to its end */
} ClusterOptions;

typedef struct ClusterOutcome {
        char *fault;      /* newly allocated, the first broken promise; NULL: all were kept */
        const char *rule; /* the same words for whatever breaks the same promise; constant */
        unsigned runs, faults;
        uint64_t steps;
        usec_t time; /* simulated */
} ClusterOutcome;

/* Return: false where `faults` names one that there is not. */
bool cluster_simulate(const ClusterOptions *options, ClusterOutcome *ret_outcome);
