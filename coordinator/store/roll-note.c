/* See roll-note.h. */
#include "roll-note.h"

#include "flight.h"
#include "name.h"
#include "paths.h"
#include "roll.h"
#include "zk-ops.h"

struct RollNote {
        char *path, *node, *run;
        int64_t tick;
        Rolls *read; /* NULL: it is not there, or could not be read */
        int32_t version;
        char *data; /* as it is written now; NULL: it is not */
        guint op;   /* by which, in the transaction */
};

RollNote *roll_note_free(RollNote *note) {
        if (!note)
                return NULL;
        rolls_free(note->read);
        g_free(note->path);
        g_free(note->node);
        g_free(note->run);
        g_free(note->data);
        g_free(note);
        return NULL;
}

RollNote *roll_note_new(const Node *node, const JobSpec *spec, const RunRecord *record) {
        bool kept = record->terms.roll || (spec && job_spec_keeps_rolls(spec));
        const char *name = job_name_node(record->job);
        RollNote *note;

        if (!kept || !record->tick || record->who || !name)
                return NULL;
        note = g_new0(RollNote, 1);
        note->path = path_roll(node->config->root, record->job);
        note->node = g_strdup(name);
        note->run = g_strdup(record->run);
        note->tick = record->tick;
        return note;
}

static void roll_note_on_rolls(const ZkReply *reply, void *userdata) {
        RollNote *note = userdata;

        note->read = rolls_free(note->read);
        note->version = reply->stat.version;
        if (reply->code == ZK_OK && rolls_decode(reply->data, reply->data_size, &note->read) < 0)
                note->read = rolls_new(); /* what nobody of us wrote is as if nothing were known */
}

void roll_note_read(RollNote *note, Flight *flight) {
        flight_get(flight, note->path, roll_note_on_rolls, note);
}

/* Return: whether no job takes as many failures of the tick as are known: one more tells nobody
 * anything, and where very many fail at the same moment each would only be in the way of the rest.
 */
static bool roll_note_is_known_to_fail(const RollNote *note) {
        unsigned failures = 0;

        for (guint i = 0; i < note->read->runs->len; i++) {
                const RollRun *run = note->read->runs->pdata[i];

                failures += run->tick == note->tick && roll_is_failure(run->state) &&
                            !g_str_equal(run->node, note->node);
        }
        return failures >= JOB_FAILURES_MAX;
}

/* What is attempted again has not failed, and leaves its turn to others until then. */
void roll_note_add(RollNote *note, GArray *ops, const FollowState *after) {
        _cleanup_(rolls_freep) Rolls *next = note->read ? rolls_copy(note->read) : NULL;
        bool failed = !after->attempt_follows && roll_is_failure(after->state);

        g_clear_pointer(&note->data, g_free);
        if (!next)
                return;
        failed = failed && !roll_note_is_known_to_fail(note);
        if (!(failed ? rolls_note(next, note->tick, note->node, note->run, after->state)
                     : rolls_forget(next, note->tick, note->node)))
                return;
        note->data = rolls_encode(next);
        note->op = ops->len;
        zk_ops_add(ops, ZK_OP_SET, note->path, note->data, note->version);
}

bool roll_note_was_outrun(const RollNote *note, const ZkReply *reply) {
        return note->data && note->op < reply->n_results && reply->code == ZK_BAD_VERSION &&
               reply->results[note->op].code == ZK_BAD_VERSION;
}
