/* What servers know of their ensemble. See ensemble.c. */
#pragma once

#include "server.h"

/* Servers' wall clocks show that when the world begins, seconds. */
#define ENSEMBLE_EPOCH UINT64_C(1750000000)

Server *ensemble_server(const Ensemble *ensemble, unsigned index);
/* Return: as many as must have written down what is to be done. */
unsigned ensemble_quorum(const Ensemble *ensemble);
/* Return: borrowed, the transaction at that place of all that were ever committed. */
Transaction *ensemble_history(const Ensemble *ensemble, size_t position);
/* This leader commits it: it is the next in the history, or it is there already. */
void ensemble_commit(Ensemble *ensemble, const Server *leader, Transaction *txn);
/* Return: whether that server has done or written down all that was ever committed. */
bool ensemble_has_all(const Ensemble *ensemble, const Server *server);
/* Of a forgetful ensemble: what was committed that a new leader has not is lost. */
void ensemble_lose_rest(Ensemble *ensemble, Server *leader);
/* Return: how often that happened. */
unsigned ensemble_lineage(const Ensemble *ensemble);
/* Return: the number of an era that no leader has had. */
int64_t ensemble_next_epoch(Ensemble *ensemble);
/* A line of the trace. */
void ensemble_say(const Server *server, const char *format, ...) G_GNUC_PRINTF(2, 3);
