/* Clients of an ensemble that do what they are told, one request after the other: for tests. Each
 * is a process on a machine of its own, with one session of the port. See client.c. */
#pragma once

#include "ensemble.h"
#include "process.h"

typedef struct Site Site;
typedef struct Client Client;

/* What came of the last request. */
typedef struct ClientAnswer {
        ZkCode code;
        char *path, *data, *children, *others;
        ZkStat stat;
        ZkCode results[8];
        usec_t took; /* of true time */
} ClientAnswer;

/* A world with an ensemble, and a directory for machines; runs until it serves. */
Site *site_new(uint64_t seed, const EnsembleOptions *options);
Site *site_free(Site *site);
DEFINE_CLEANUP(Site, site_free);
World *site_world(const Site *site);
Ensemble *site_ensemble(const Site *site);
Host *site_host(const Site *site, const char *machine);
void site_run(const Site *site, usec_t duration);
/* Runs until it is so. Return: whether it came to that within `limit`. */
bool site_await(const Site *site, bool (*condition)(void *userdata), void *userdata, usec_t limit);

/* `servers`: NULL: all. `session`: NULL: a new one. It connects. */
Client *client_new(Site *site, const char *machine, const char *servers, usec_t timeout,
                   const ZkSessionId *session, const char *auth);
/* The process is killed. */
Client *client_kill(Client *client);
Zk *client_zk(const Client *client);
Process *client_process(const Client *client);
/* Words, as they came: "connected", "changed:/a", "done", "lost". Kept until they are read. */
const char *client_read(Client *client);
bool client_await_state(const Client *client, ZkState state);
void client_close(Client *client);
void client_abandon(Client *client);

/* Requests that wait for their answer; those with a watch set it for good. */
const ClientAnswer *client_answer(const Client *client);
ZkCode client_create(Client *client, const char *path, const char *data, unsigned flags);
ZkCode client_delete(Client *client, const char *path, int32_t version);
ZkCode client_set(Client *client, const char *path, const char *data, int32_t version);
ZkCode client_sync(Client *client);
ZkCode client_get(Client *client, const char *path, bool watch);
ZkCode client_exists(Client *client, const char *path, bool watch);
ZkCode client_list(Client *client, const char *path, bool watch);
ZkCode client_acl(Client *client, const char *path);
/* Sends a create and a list at once, without waiting. */
void client_send_create(Client *client, const char *path, unsigned flags);
bool client_waits(const Client *client);
