/* What the benchmarks in C share: a loop, a pool of sessions, and waiting for something to come
 * true.
 *
 * A worker is a program that measures one contestant. The script beside it (run-locks) starts one
 * for each and gives them the same commands by turns, a line each on standard input, and gets one
 * line of JSON for each on standard output. So all contestants run in one run on the same servers,
 * never two at a time. The commands are listed in locks.c.
 *
 * Whatever goes wrong ends the worker with a message: a benchmark has nothing to save.
 */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "clock.h"
#include "lock.h"

#define BENCH_LIMIT (120 * USEC_PER_SEC)

typedef struct Bench Bench;

/* One contestant: what it does for each command. `words` are the command's arguments, as many as
 * locks.c says; the answer is a new object. */
typedef struct Contestant {
        const char *name;
        json_t *(*cycle)(Bench *bench, char **words);
        json_t *(*handover)(Bench *bench, char **words);
        json_t *(*queue)(Bench *bench, char **words);
        json_t *(*admit)(Bench *bench, char **words);
        json_t *(*finish)(Bench *bench, char **words);
        json_t *(*line)(Bench *bench, char **words);
        json_t *(*drain)(Bench *bench, char **words);
} Contestant;

struct Bench {
        sd_event *event;
        const Contestant *contestant;
        usec_t heartbeat;
        GPtrArray *sessions; /* of Session */
        void *queue;         /* between two commands: the contestant's */
};

/* From when to when grants are counted: once they have gone on for `warm`, for `measure`. */
typedef struct BenchWindow {
        usec_t begin, end;
} BenchWindow;

extern const Contestant lock_ours, lock_floor;

G_NORETURN void bench_die(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Runs the loop until `condition` is true; dies, saying `what`, when it is not within BENCH_LIMIT.
 */
void bench_await(const Bench *bench, bool (*condition)(void *userdata), void *userdata,
                 const char *what);
unsigned bench_number(const char *word);

/* Has `count` sessions, the i-th connected to the (i mod n)-th of `servers` alone. Those of before
 * are ended first. */
void bench_connect(Bench *bench, const char *servers, unsigned count);
void bench_disconnect(Bench *bench);
Session *bench_session(const Bench *bench, size_t index);
Zk *bench_zk(const Bench *bench, size_t index);

BenchWindow bench_window(usec_t warm, usec_t measure);
bool bench_window_has(const BenchWindow *window, usec_t now);

/* Waits until `directory` has so many children, as the index-th session sees it. */
void bench_await_children(const Bench *bench, size_t index, const char *directory, size_t count);

/* One request through a bare port and its answer; dies unless it is ZK_OK. The path that was made:
 * newly allocated. */
char *bench_create(const Bench *bench, size_t index, const char *path, unsigned flags);
/* A persistent node, and its parent, if they do not exist. */
void bench_make_directory(const Bench *bench, const char *path);
/* Waits until the index-th session's server shows a node. A sync does not do: at the leader it is
 * answered before what followers have long applied. */
void bench_await_node(const Bench *bench, size_t index, const char *path);
void bench_delete(const Bench *bench, size_t index, const char *path);

/* {"usec": [...]}; takes the array of usec_t over. */
json_t *bench_samples(GArray *samples);
