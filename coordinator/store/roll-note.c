/* See roll-note.h. */
#include "roll-note.h"

#include <string.h>

#include "flight.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "roll.h"
#include "zk-ops.h"

struct RollNote {
        char *path, *job, *node, *run, *boot;
        int64_t tick;
        bool waits;      /* for the machine, after the run */
        bool late;       /* it was waited for before the run was settled */
        bool claimed;    /* by it: so it was there */
        Rolls *read;     /* NULL: it is not there, or could not be read */
        int32_t version; /* -1: it is not there */
        char *data;      /* as it is written now; NULL: it is not */
        guint op;        /* by which, in the transaction */
        bool refused;    /* the server does not let us read it, or change it; or it is damaged */
};

RollNote *roll_note_free(RollNote *note) {
        if (!note)
                return NULL;
        rolls_free(note->read);
        g_free(note->path);
        g_free(note->job);
        g_free(note->node);
        g_free(note->run);
        g_free(note->boot);
        g_free(note->data);
        g_free(note);
        return NULL;
}

/* Return: whether others settle it since its machine, which its reboot may have ended it on, was
 * not back in time (run/orphans.h). */
static bool roll_note_is_late(const Node *node, const RunRecord *record, const char *name) {
        return record->terms.reboot != JOB_REBOOT_INTERRUPTS && record->state == RUN_UNKNOWN &&
               strcmp(name, node->config->node_name) != 0;
}

RollNote *roll_note_new(const Node *node, const JobSpec *spec, const RunRecord *record) {
        bool kept = record->terms.roll || (spec && job_spec_keeps_rolls(spec));
        const char *name = job_name_node(record->job);
        RollNote *note;

        if (!kept || !record->tick || record->who || !name)
                return NULL;
        note = g_new0(RollNote, 1);
        note->path = path_roll(node->config->root, record->job);
        note->job = g_strdup(record->job);
        note->node = g_strdup(name);
        note->run = g_strdup(record->run);
        note->boot = g_strdup(record->boot);
        note->tick = record->tick;
        note->claimed = record->terms.roll;
        note->late = roll_note_is_late(node, record, name);
        note->waits =
            record->terms.rejoin_timeout > 0 || (spec && spec->place.roll.rejoin_timeout > 0);
        return note;
}

/* The end of a run is recorded all the same. */
static void roll_note_fails(RollNote *note, const char *message_id, const char *why) {
        const LogAbout about = {.message_id = message_id, .job = note->job, .run = note->run};

        note->refused = true;
        note->read = rolls_free(note->read);
        log_error(&about, "%s: %s: how run %s ended is not noted for the others of its roll",
                  note->path, why, note->run);
}

static void roll_note_refused(RollNote *note, ZkCode code) {
        roll_note_fails(note, MESSAGE_REFUSED, zk_code_to_string(code));
}

static void roll_note_on_rolls(const ZkReply *reply, void *userdata) {
        RollNote *note = userdata;

        note->read = rolls_free(note->read);
        note->version = reply->code == ZK_OK ? reply->stat.version : -1;
        if (reply->code == ZK_NO_NODE && note->claimed)
                note->read = rolls_new();
        if (reply->code == ZK_OK && rolls_decode(reply->data, reply->data_size, &note->read) < 0)
                roll_note_fails(note, MESSAGE_ROLL_DAMAGED, "it is damaged");
        if (zk_code_is_refusal(reply->code))
                roll_note_refused(note, reply->code);
}

void roll_note_read(RollNote *note, Flight *flight) {
        if (!note->refused)
                flight_try_get(flight, note->path, roll_note_on_rolls, note);
}

/* Return: whether no job takes as many failures of the tick as are known: one more tells nobody
 * anything, and where very many fail at the same moment each would only be in the way of the rest.
 */
static bool roll_note_is_known_to_fail(const RollNote *note) {
        const RollInput input = {.rolls = note->read,
                                 .tick = note->tick,
                                 .node = note->node,
                                 .max_failures = JOB_FAILURES_MAX};
        const RollRun *run;

        return roll_judge(&input, &run) == ROLL_STOPPED;
}

/* Return: what is known of the return of its machine, borrowed. What is only known better by now
 * (others had settled it) is waited for as before, or no more. */
static RollReturn roll_note_return(const RollNote *note, const FollowState *before,
                                   const FollowState *after, usec_t now) {
        const RollRun *known = rolls_get(note->read, note->tick, note->node);
        RollReturn back = {0};

        if (note->waits && before->state == RUN_CLAIMED)
                back = (RollReturn){.since = now, .boot = note->boot, .late = note->late};
        else if (known && known->state != RUN_CLAIMED)
                back = known->back;
        back.again = back.since > 0 && after->attempt_follows;
        return back;
}

/* What is attempted again has not failed, and leaves its turn to others until then. */
void roll_note_add(RollNote *note, GArray *ops, const FollowState *before, const FollowState *after,
                   usec_t now) {
        _cleanup_(rolls_freep) Rolls *next = note->read ? rolls_copy(note->read) : NULL;
        bool failed = !after->attempt_follows && roll_is_failure(after->state), news;
        RollRun run = {
            .tick = note->tick, .node = note->node, .run = note->run, .state = after->state};

        g_clear_pointer(&note->data, g_free);
        if (!next)
                return;
        failed = failed && !roll_note_is_known_to_fail(note);
        run.back = roll_note_return(note, before, after, now);
        news = failed || run.back.since || run.back.late
                   ? rolls_put(next, &run)
                   : rolls_forget(next, note->tick, note->node);
        if (!news)
                return;
        note->data = rolls_encode(next);
        note->op = ops->len;
        zk_ops_add(ops, note->version < 0 ? ZK_OP_CREATE : ZK_OP_SET, note->path, note->data,
                   MAX(note->version, 0));
}

/* Return: whether it was our operation that was refused so. */
static bool roll_note_has_failed(const RollNote *note, const ZkReply *reply) {
        return note->data && zk_ops_failed_at(reply, note->op);
}

bool roll_note_was_outrun(const RollNote *note, const ZkReply *reply) {
        return roll_note_has_failed(note, reply) &&
               reply->code == (note->version < 0 ? ZK_NODE_EXISTS : ZK_BAD_VERSION);
}

/* Its directory is made again by whoever claims next. */
static bool roll_note_has_no_place(const RollNote *note, const ZkReply *reply) {
        return note->version < 0 && reply->code == ZK_NO_NODE;
}

bool roll_note_gives_up(RollNote *note, const ZkReply *reply) {
        if (!roll_note_has_failed(note, reply) ||
            !(zk_code_is_refusal(reply->code) || roll_note_has_no_place(note, reply)))
                return false;
        roll_note_refused(note, reply->code);
        return true;
}
