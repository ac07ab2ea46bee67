/* See roll-look.h. */
#include "roll-look.h"

#include <errno.h>

#include "flight.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "next-attempt.h"
#include "paths.h"
#include "run-record.h"

struct RollLook {
        const Node *node; /* weak */
        Tree *tree;       /* weak */
        RollLookFunc func;
        void *userdata;
        RollInput input;
        char *job, *path;

        Rolls *rolls;
        int32_t version;
        bool missing; /* there is no such node yet */
        bool blocker_is_over;
        RunState blocker_state; /* how it has failed; RUN_CLAIMED: it has not */
        const RollRun *blocker; /* borrowed from the rolls */
        RollVerdict verdict;
        Flight *flight;
        ZkCall *create;
        char *data;
};

RollLook *roll_look_free(RollLook *look) {
        if (!look)
                return NULL;
        flight_free(look->flight);
        zk_call_free(look->create);
        rolls_free(look->rolls);
        g_free(look->job);
        g_free(look->path);
        g_free(look->data);
        g_free(look);
        return NULL;
}

RollVerdict roll_look_verdict(const RollLook *look) {
        return look->verdict;
}

char *roll_look_why(const RollLook *look) {
        return roll_why(&look->input);
}

RollTurn roll_look_turn(RollLook *look, const char *run) {
        const RollInput *input = &look->input;

        g_clear_pointer(&look->data, g_free);
        if (input->turns > 0) {
                (void)rolls_note(look->rolls, input->tick, input->node, run, RUN_CLAIMED);
                look->data = rolls_encode(look->rolls);
        }
        return (RollTurn){look->path, look->data, look->version};
}

/* ---- who is in the way ---- */

static void roll_look_judge(RollLook *look);

static void roll_look_on_record(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;
        _cleanup_(run_record_freep) RunRecord *found = NULL;

        look->blocker_is_over = reply->code == ZK_NO_NODE;
        look->blocker_state = RUN_CLAIMED;
        if (reply->code != ZK_OK || run_record_decode(reply->data, reply->data_size, &found) < 0)
                return;
        look->blocker_is_over = run_state_is_final(found->state);
        if (roll_is_failure(found->state) && !next_attempt_not_before(found, 1))
                look->blocker_state = found->state;
}

/* Whoever settled it did not say so in the roll. */
static void roll_look_note_blocker(RollLook *look) {
        int64_t tick = look->blocker->tick;
        g_autofree char *node = g_strdup(look->blocker->node), *run = g_strdup(look->blocker->run);

        if (look->blocker_state == RUN_CLAIMED)
                (void)rolls_forget(look->rolls, tick, node);
        else
                (void)rolls_note(look->rolls, tick, node, run, look->blocker_state);
}

static void roll_look_on_blocker(ZkCode code, void *userdata) {
        RollLook *look = userdata;

        look->flight = flight_free(look->flight);
        if (code == ZK_OK && look->blocker_is_over) {
                roll_look_note_blocker(look);
                roll_look_judge(look);
        } else {
                look->func(code, look->userdata);
        }
}

static bool roll_look_ask_for_blocker(RollLook *look) {
        const char *root = look->node->config->root;
        g_autofree char *base = job_name_base(look->job),
                        *job = job_name_of_instance(base, look->blocker->node),
                        *path = path_run(root, job, look->blocker->run);

        look->flight = flight_new(node_zk(look->node), roll_look_on_blocker, look);
        flight_sync(look->flight, path);
        flight_get(look->flight, path, roll_look_on_record, look);
        return flight_depart(look->flight) == 0;
}

static void roll_look_judge(RollLook *look) {
        look->input.rolls = look->rolls;
        look->verdict = roll_judge(&look->input, &look->blocker);
        if (look->verdict != ROLL_WAIT)
                look->func(ZK_OK, look->userdata);
        else if (!roll_look_ask_for_blocker(look))
                look->func(ZK_UNKNOWN, look->userdata);
}

/* ---- what stands there ---- */

static int roll_look_read(RollLook *look);

static void roll_look_on_created(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;
        bool there = reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS;

        look->create = NULL;
        if (reply->code == ZK_NO_NODE)
                tree_repair(look->tree);
        if (!there || roll_look_read(look) < 0)
                look->func(there ? ZK_UNKNOWN : reply->code, look->userdata);
}

/* The first run of the job's first roll. */
static bool roll_look_make(RollLook *look) {
        _cleanup_(rolls_freep) Rolls *rolls = rolls_new();
        g_autofree char *data = rolls_encode(rolls);
        Zk *zk = node_zk(look->node);

        return zk &&
               zk_create(zk, look->path, data, 0, roll_look_on_created, look, &look->create) == 0;
}

/* What nobody of us wrote is as if nothing were known, and is written over. */
static void roll_look_on_rolls(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = look->job};

        look->rolls = rolls_free(look->rolls);
        look->missing = reply->code == ZK_NO_NODE;
        look->version = reply->stat.version;
        if (reply->code == ZK_OK && rolls_decode(reply->data, reply->data_size, &look->rolls) < 0)
                log_warning(&about, "%s: does not say whose runs are under way or have failed",
                            look->path);
        if (!look->rolls)
                look->rolls = rolls_new();
}

static void roll_look_on_read(ZkCode code, void *userdata) {
        RollLook *look = userdata;

        look->flight = flight_free(look->flight);
        if (code != ZK_OK)
                look->func(code, look->userdata);
        else if (!look->missing)
                roll_look_judge(look);
        else if (!roll_look_make(look))
                look->func(ZK_UNKNOWN, look->userdata);
}

static int roll_look_read(RollLook *look) {
        int r;

        look->flight = flight_new(node_zk(look->node), roll_look_on_read, look);
        flight_sync(look->flight, look->path);
        flight_get(look->flight, look->path, roll_look_on_rolls, look);
        r = flight_depart(look->flight);
        if (r < 0)
                look->flight = flight_free(look->flight);
        return r;
}

int roll_look_start(const Node *node, Tree *tree, const JobSpec *spec, int64_t tick,
                    unsigned attempt, RollLookFunc func, void *userdata, RollLook **ret_look) {
        _cleanup_(roll_look_freep) RollLook *look = g_new0(RollLook, 1);
        int r;

        if (!node_zk(node))
                return -ENOTCONN;
        look->node = node;
        look->tree = tree;
        look->func = func;
        look->userdata = userdata;
        look->job = g_strdup(spec->name);
        look->path = path_roll(node->config->root, spec->name);
        look->input = (RollInput){.tick = tick,
                                  .node = node->config->node_name,
                                  .begun = attempt > 1,
                                  .turns = spec->place.roll.turns,
                                  .max_failures = spec->place.roll.max_failures};
        r = roll_look_read(look);
        if (r < 0)
                return r;
        *ret_look = g_steal_pointer(&look);
        return 0;
}
