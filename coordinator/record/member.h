/* A member: a live node as the others see it. Pure: the data of /nodes/NODE and its one line of
 * JSON.
 *
 * Part of it is which jobs the node cannot run, so that the others do not wait for it. That line
 * has a limit, and every other node reads it when it changes, so it says less of each job the more
 * there are: names with reasons, names alone, and at last a number of 31 bits for each (`numbers`),
 * of which as many fit as a node may have jobs. Each node has numbers of its own for the names: two
 * jobs that share one on some node differ on the next, so none is taken for unfit everywhere. What
 * does not even fit then counts as fit: that costs the others a moment of waiting, and never a run.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"

/* What keeps a node from beginning anything, of whatever job. */
typedef enum MemberBusy {
        MEMBER_FREE,
        MEMBER_FULL,     /* max-runs is reached, and something waits for a place */
        MEMBER_ENDING,   /* something that must not run any more does so still */
        MEMBER_STOPPING, /* the daemon is being stopped */
        MEMBER_CLOCK,    /* its clock is not synchronised yet */
        MEMBER_UNFENCED, /* its fence cannot be reached, or cannot do its work */
        MEMBER_UNFILED,  /* its session's state cannot be written, which runs look into */
        MEMBER_SYSTEMD,  /* its PID 1 does not answer */
        MEMBER_DRAINED,  /* somebody wants nothing to begin there */
} MemberBusy;

typedef struct Member {
        char *node;
        char *machine; /* machine id */
        char *boot;    /* boot id */
        char *version;
        GHashTable *labels;  /* name → value */
        GHashTable *unfit;   /* job → why this node cannot run it at present */
        GHashTable *drifted; /* the jobs whose definition here is not the one in force */
        GHashTable *absent;  /* jobs that left this node's files while others may have them */
        GArray *numbers; /* uint32_t, sorted: unfit and drifted jobs of which there were too many
                            to name */
        bool skewed;
        MemberBusy busy;
        int64_t outside; /* 0: nothing by the clock keeps it from beginning something; else it is
                            outside of its window, until this second; INT64_MAX: for good */
        int64_t owner;   /* the session that owns the znode; not stored */
} Member;

Member *member_new(const char *node);
Member *member_free(Member *member);
DEFINE_CLEANUP(Member, member_free);

/* Return: a word; "" for a free one. */
const char *member_busy_to_string(MemberBusy busy);
/* Return: whether nothing begins there now, of whatever job, so that others come first. */
bool member_is_shut(const Member *member);
/* Return: newly allocated (g_free), a part of a sentence: that a node is outside of its window,
 * until that second; INT64_MAX: for good. */
char *member_outside_to_text(int64_t until);

/* More jobs than this that left the files are not told: that is a fleet being changed, not one node
 * that differs. */
#define MEMBER_ABSENT_MAX 64

/* Return: one line of at most JSON_LINE_MAX bytes, newly allocated (g_free). */
char *member_encode(const Member *member);
/* Return: whether the node says that it cannot run the job, for want of something or because its
 * definition is not the one in force. */
bool member_is_unfit(const Member *member, const char *job);
bool member_is_drifted(const Member *member, const char *job);
/* Return: whether two states of one node differ in no more than what they say of some jobs; the
 * names of these are added to the set `jobs` (g_free). */
bool member_differs_in_jobs_only(const Member *a, const Member *b, GHashTable *jobs);
/* Return: 0; -EBADMSG when the data is not a member's. */
int member_decode(const char *node, const char *data, size_t size, Member **ret_member);
