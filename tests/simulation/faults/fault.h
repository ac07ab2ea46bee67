/* Faults: what befalls a cluster from outside. Each kind has a file of its family, a name, and a
 * stream of chance of its own: leaving one kind out leaves the times and places of all others as
 * they were. */
#pragma once

#include "commands.h"
#include "ensemble.h"
#include "fleet.h"
#include "foreigner.h"
#include "history.h"
#include "plan.h"

/* Where they happen. */
typedef struct FaultSite {
        World *world;
        Fleet *fleet;
        Ensemble *ensemble;
        History *history;
        const Plan *plan;
        Commands *commands;
        const GPtrArray *foreigners; /* of Foreigner */
} FaultSite;

/* One that has begun. */
typedef struct FaultCase {
        unsigned target; /* a node or a server */
        bool aimed;      /* the target is given */
        unsigned way;
        const char *job; /* whose definition it is about; NULL: no single one's */
        bool missed;     /* there was nothing for it to befall */
} FaultCase;

typedef struct FaultKind {
        const char *name;
        usec_t every; /* on average, as long as others are let happen; 0: when it is asked for */
        /* Begins one, and fills in what `end` needs. Return: how long it lasts; 0: it is over. */
        usec_t (*begin)(const FaultSite *site, WorldChance *chance, FaultCase *fault);
        /* Also called early, and where something else has ended it; NULL: it never lasts. */
        void (*end)(const FaultSite *site, const FaultCase *fault);
        /* 0: a node that it befalls does all that it has begun. */
        HistoryMatter explains;
        unsigned aim; /* how often it is the one that is aimed, beside others; 0: never */
} FaultKind;

/* A fault of the families but server_faults and foreign_faults has a node as its target. */
extern const FaultKind daemon_faults[], machine_faults[], network_faults[], server_faults[],
    file_faults[], config_faults[], request_faults[], command_faults[], foreign_faults[],
    fence_faults[], rename_faults[];

/* Not a fault of its own: one of the others strikes a node right after it has asked for something
 * that counts (moment.h), where it does most harm. It has no `begin`. */
extern const FaultKind aimed_faults[];

/* What a run does to its machine, which it reboots: asked for by faults_reboot(). */
extern const FaultKind reboot_faults[];

/* The job file of every node. */
#define FAULT_JOB_FILE "jobs.yaml"

typedef struct Faults Faults;

/* `names`: which kinds, separated by commas; NULL: all. `pace`: percent; 200: twice as often.
 * Return: NULL where there is no such kind. */
Faults *faults_new(const FaultSite *site, const char *names, unsigned pace);
/* A node has just asked for that. */
void faults_asked(Faults *faults, const char *node, const Request *request);
/* Return: whether a run that may reboot its machine does; of each once. */
bool faults_draw_reboot(const Faults *faults);
/* One on that node has just asked for that. */
void faults_reboot(Faults *faults, const char *node);
/* Ends all that last, and lets no more begin. */
void faults_stop(Faults *faults);
Faults *faults_free(Faults *faults);
DEFINE_CLEANUP(Faults, faults_free);

/* Return: how many there were that befell something. */
unsigned faults_count(const Faults *faults);
/* Return: newly allocated, the names of all kinds, separated by commas. */
char *faults_names(void);

/* Return: the node that is aimed at, or one that is drawn. */
FleetNode *fault_draw_node(const FaultSite *site, WorldChance *chance, FaultCase *fault);
/* Return: whether something can be done there: it is on, and not frozen. */
bool fault_node_works(const FleetNode *node);
/* Nobody looks any more whether a node is drained, or a job paused, that should not be. */
void fault_forget_wishes(void);
/* Between that node and all servers. */
enum { FAULT_CUT_AWAY = 1, FAULT_CUT_BACK = 2 };
void fault_cut_off(const FaultSite *site, const FaultCase *fault, unsigned ways);
void fault_mend(const FaultSite *site, const FaultCase *fault);
/* There is nothing to befall. Return: 0. */
usec_t fault_miss(FaultCase *fault);
