/* See roll-look.h. */
#include "roll-look.h"

#include <errno.h>

#include "flight.h"
#include "member.h"
#include "name.h"
#include "next-attempt.h"
#include "paths.h"
#include "run-record.h"

/* Whose run is in the way, as its record tells. */
typedef struct RollBlocker {
        const RollRun *run; /* borrowed from the rolls */
        bool is_over;
        RunRecord *record; /* NULL: there is none, or it cannot be read */
} RollBlocker;

/* A machine that is waited for, or whose run is in the way. */
typedef struct RollSeen {
        int64_t tick;
        char *node;
        Member *member; /* as it is now; NULL: it is none */
} RollSeen;

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
        RollBlocker blocker;
        GPtrArray *seen; /* RollSeen: whose machines are looked for */
        RollVerdict verdict;
        Flight *flight;
        ZkCall *write;
        char *data;
};

static void roll_seen_free(void *data) {
        RollSeen *seen = data;

        member_free(seen->member);
        g_free(seen->node);
        g_free(seen);
}

RollLook *roll_look_free(RollLook *look) {
        if (!look)
                return NULL;
        flight_free(look->flight);
        zk_call_free(look->write);
        g_ptr_array_unref(look->seen);
        run_record_free(look->blocker.record);
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

/* ---- whose machine is there ---- */

static void roll_look_judge(RollLook *look);
static int roll_look_read(RollLook *look);

static void roll_look_on_member(const ZkReply *reply, void *userdata) {
        RollSeen *seen = userdata;

        seen->member = member_free(seen->member);
        if (reply->code == ZK_OK)
                (void)member_decode(seen->node, reply->data, reply->data_size, &seen->member);
}

/* Has it asked in the flight for the machine of that run. */
static void roll_look_ask_for_member(RollLook *look, const RollRun *run) {
        g_autofree char *path = path_node(look->node->config->root, run->node);
        RollSeen *seen = g_new0(RollSeen, 1);

        seen->tick = run->tick;
        seen->node = g_strdup(run->node);
        g_ptr_array_add(look->seen, seen);
        flight_get(look->flight, path, roll_look_on_member, seen);
}

/* What the claim writes does without them. */
static void roll_look_take_back(RollLook *look) {
        for (guint i = 0; i < look->seen->len; i++) {
                const RollSeen *seen = look->seen->pdata[i];
                const RollRun *run = rolls_get(look->rolls, seen->tick, seen->node);

                if (run && roll_is_back(run, seen->member, look->input.now))
                        roll_take_back(look->rolls, run);
        }
}

static void roll_look_on_members(ZkCode code, void *userdata) {
        RollLook *look = userdata;

        look->flight = flight_free(look->flight);
        if (code != ZK_OK) {
                look->func(code, look->userdata);
                return;
        }
        roll_look_take_back(look);
        roll_look_judge(look);
}

/* Return: whether anybody's machine is asked for. */
static bool roll_look_ask_for_members(RollLook *look) {
        g_ptr_array_set_size(look->seen, 0);
        for (guint i = 0; i < look->rolls->runs->len; i++) {
                const RollRun *run = look->rolls->runs->pdata[i];

                if (!roll_awaits(&look->input, run))
                        continue;
                if (!look->flight) {
                        look->flight = flight_new(node_zk(look->node), roll_look_on_members, look);
                        flight_sync(look->flight, look->path);
                }
                roll_look_ask_for_member(look, run);
        }
        return look->flight;
}

/* The rolls are known: whose machines are waited for, and are they there? */
static void roll_look_at_members(RollLook *look) {
        look->input.rolls = look->rolls;
        look->input.now = node_server_time(look->node);
        if (!look->rolls || !roll_look_ask_for_members(look))
                roll_look_judge(look);
        else if (flight_depart(look->flight) < 0)
                look->func(ZK_UNKNOWN, look->userdata);
}

/* ---- who is in the way ---- */

static void roll_look_on_record(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;
        RollBlocker *blocker = &look->blocker;

        blocker->record = run_record_free(blocker->record);
        blocker->is_over = reply->code == ZK_NO_NODE;
        if (reply->code == ZK_OK &&
            run_record_decode(reply->data, reply->data_size, &blocker->record) == 0)
                blocker->is_over = run_state_is_final(blocker->record->state);
}

/* Whoever settled it did not say so in the roll: it stands there as that would have noted it
 * (roll-note.h). */
static void roll_look_note_blocker(RollLook *look) {
        const RunRecord *found = look->blocker.record;
        bool again = found && next_attempt_not_before(found, 1) > 0,
             waits = found && look->input.rejoin_timeout > 0;
        RollRun run = *look->blocker.run;

        run.back = (RollReturn){0};
        if (found)
                run.state = found->state;
        if (waits)
                run.back = (RollReturn){.since = found->ended ? found->ended : look->input.now,
                                        .boot = found->boot,
                                        .again = again};
        if (waits || (found && roll_is_failure(found->state) && !again))
                (void)rolls_put(look->rolls, &run);
        else
                (void)rolls_forget(look->rolls, run.tick, run.node);
}

static void roll_look_on_blocker(ZkCode code, void *userdata) {
        RollLook *look = userdata;

        look->flight = flight_free(look->flight);
        if (code == ZK_OK && look->blocker.is_over) {
                roll_look_note_blocker(look);
                roll_look_at_members(look);
                return;
        }
        look->input.away = look->seen->len > 0 && !((RollSeen *)look->seen->pdata[0])->member;
        look->func(code, look->userdata);
}

static bool roll_look_ask_for_blocker(RollLook *look) {
        const RollRun *run = look->blocker.run;
        const char *root = look->node->config->root;
        g_autofree char *base = job_name_base(look->job),
                        *job = job_name_of_instance(base, run->node),
                        *path = path_run(root, job, run->run);

        g_ptr_array_set_size(look->seen, 0);
        look->flight = flight_new(node_zk(look->node), roll_look_on_blocker, look);
        flight_sync(look->flight, path);
        flight_get(look->flight, path, roll_look_on_record, look);
        if (look->input.rejoin_timeout > 0)
                roll_look_ask_for_member(look, run);
        return flight_depart(look->flight) == 0;
}

/* ---- what is late ---- */

static void roll_look_on_late(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;

        look->write = NULL;
        if (reply->code != ZK_BAD_VERSION)
                look->func(reply->code, look->userdata);
        else if (roll_look_read(look) < 0) /* somebody was quicker */
                look->func(ZK_UNKNOWN, look->userdata);
}

static bool roll_look_write_late(RollLook *look) {
        g_autofree char *data = rolls_encode(look->rolls);
        Zk *zk = node_zk(look->node);

        return zk && zk_set(zk, look->path, data, look->version, roll_look_on_late, look,
                            &look->write) == 0;
}

static void roll_look_judge(RollLook *look) {
        bool sent;

        look->verdict = roll_judge(&look->input, &look->blocker.run);
        if (look->verdict == ROLL_WAIT && look->blocker.run->state == RUN_CLAIMED) {
                sent = roll_look_ask_for_blocker(look);
        } else if (look->verdict == ROLL_STOPPED && roll_note_late(&look->input, look->rolls)) {
                sent = roll_look_write_late(look);
        } else {
                look->func(ZK_OK, look->userdata);
                return;
        }
        if (!sent)
                look->func(ZK_UNKNOWN, look->userdata);
}

/* ---- what stands there ---- */

static void roll_look_on_created(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;
        bool there = reply->code == ZK_OK || reply->code == ZK_NODE_EXISTS;

        look->write = NULL;
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
               zk_create(zk, look->path, data, 0, roll_look_on_created, look, &look->write) == 0;
}

/* Without rolls afterwards it is damaged. */
static void roll_look_on_rolls(const ZkReply *reply, void *userdata) {
        RollLook *look = userdata;

        look->rolls = rolls_free(look->rolls);
        look->missing = reply->code == ZK_NO_NODE;
        look->version = reply->stat.version;
        if (reply->code == ZK_OK)
                (void)rolls_decode(reply->data, reply->data_size, &look->rolls);
}

static void roll_look_on_read(ZkCode code, void *userdata) {
        RollLook *look = userdata;

        look->flight = flight_free(look->flight);
        if (code != ZK_OK)
                look->func(code, look->userdata);
        else if (!look->missing)
                roll_look_at_members(look);
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
                                  .max_failures = spec->place.roll.max_failures,
                                  .rejoin_timeout = spec->place.roll.rejoin_timeout};
        look->seen = g_ptr_array_new_with_free_func(roll_seen_free);
        r = roll_look_read(look);
        if (r < 0)
                return r;
        *ret_look = g_steal_pointer(&look);
        return 0;
}
