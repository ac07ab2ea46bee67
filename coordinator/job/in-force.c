/* See in-force.h. */
#include "in-force.h"

#include <string.h>

#include "digest-memory.h"
#include "ledger-change.h"
#include "log.h"
#include "member.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "resource.h"
#include "skip-record.h"
#include "zones.h"

#define DIFFERS "this node's definition differs from the one in force in the cluster"

/* What we know of our definition. */
typedef enum Standing {
        STANDING_UNCHECKED,
        STANDING_OURS, /* it is the one in force, or is about to be */
        STANDING_DRIFTED,
} Standing;

struct InForce {
        InForceParts parts;
        char *job, *path;
        InForceFunc remembered;
        void *userdata;
        Standing standing;
        DigestWait *wait;     /* for what is about to be sent to be remembered */
        char *remember;       /* the memory of what is being put in force */
        char *nobodys;        /* the digest in force, where nobody has it and we are the first */
        usec_t nobodys_since; /* CLOCK_BOOTTIME */
        ZkCall *resume_call;
        char *closed_why; /* it goes on under another name; NULL: it does not */
        int error;
};

InForce *in_force_new(const InForceParts *parts, const char *job, InForceFunc remembered,
                      void *userdata) {
        InForce *in_force = g_new0(InForce, 1);

        in_force->parts = *parts;
        in_force->job = g_strdup(job);
        in_force->path = path_job(parts->node->config->root, job);
        in_force->remembered = remembered;
        in_force->userdata = userdata;
        return in_force;
}

void in_force_reset(InForce *in_force) {
        in_force->resume_call = zk_call_free(in_force->resume_call);
        in_force->wait = digest_wait_free(in_force->wait);
        g_clear_pointer(&in_force->remember, g_free);
        g_clear_pointer(&in_force->nobodys, g_free);
}

InForce *in_force_free(InForce *in_force) {
        if (!in_force)
                return NULL;
        in_force_reset(in_force);
        registration_set_drifted(in_force->parts.registration, in_force->job, false);
        g_free(in_force->closed_why);
        g_free(in_force->job);
        g_free(in_force->path);
        g_free(in_force);
        return NULL;
}

void in_force_changed(InForce *in_force) {
        g_clear_pointer(&in_force->nobodys, g_free);
        g_clear_pointer(&in_force->closed_why, g_free);
        in_force->standing = STANDING_UNCHECKED; /* to be found out anew, and published anew */
        registration_set_drifted(in_force->parts.registration, in_force->job, false);
}

bool in_force_is_unchecked(const InForce *in_force) {
        return in_force->standing == STANDING_UNCHECKED;
}

bool in_force_is_drifted(const InForce *in_force) {
        return in_force->standing == STANDING_DRIFTED;
}

int in_force_error(const InForce *in_force) {
        return in_force->error;
}

static const Ledger *in_force_ledger(const InForce *in_force) {
        return ledger_cache_get(in_force->parts.ledgers, in_force->job, NULL);
}

static int32_t in_force_version(const InForce *in_force) {
        int32_t version = 0;

        (void)ledger_cache_get(in_force->parts.ledgers, in_force->job, &version);
        return version;
}

static int64_t in_force_now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static void in_force_agree(InForce *in_force) {
        const LogAbout about = {.message_id = MESSAGE_JOB_DRIFTED, .job = in_force->job};
        bool was_drifted = in_force_is_drifted(in_force);

        in_force->standing = STANDING_OURS;
        g_clear_pointer(&in_force->closed_why, g_free);
        if (!was_drifted)
                return;
        registration_set_drifted(in_force->parts.registration, in_force->job, false);
        log_info(&about, "this node's definition is the one in force again");
        registration_publish(in_force->parts.registration);
}

static InForceVerdict in_force_drift(InForce *in_force, const char *why) {
        const LogAbout about = {.message_id = MESSAGE_JOB_DRIFTED, .job = in_force->job};
        bool was_drifted = in_force_is_drifted(in_force);

        in_force->standing = STANDING_DRIFTED;
        if (was_drifted)
                return IN_FORCE_DRIFTED;
        registration_set_drifted(in_force->parts.registration, in_force->job, true);
        log_warning(&about,
                    "%s: this node neither starts nor skips ticks of the job until they agree",
                    why);
        registration_publish(in_force->parts.registration);
        return IN_FORCE_DRIFTED;
}

/* ---- what this node remembers ---- */

/* The definition's digest and, where the schedule has time zones, what they were when the ledger
 * had the same. */
static char *in_force_memory_of(const JobSpec *spec, const Ledger *ledger, const char *digest) {
        g_autofree char *zones = zones_to_remember(ledger, spec->schedule);

        return g_strconcat(digest, *zones ? " " : "", zones, NULL);
}

static const char *in_force_remembered_zones(const InForce *in_force) {
        const char *remembered = digest_memory_get(in_force->parts.digests, in_force->job);
        const char *space = remembered ? strchr(remembered, ' ') : NULL;

        return space ? space + 1 : NULL;
}

static void in_force_on_remembered(void *userdata) {
        InForce *in_force = userdata;

        in_force->wait = digest_wait_free(in_force->wait);
        in_force->remembered(in_force->userdata);
}

/* Return: whether it may be sent now: whoever comes after this process will know that it was ours.
 * Otherwise that is told. `version`: of the ledger that it is decided on. */
static bool in_force_may_send(InForce *in_force, const char *digest, int32_t version) {
        DigestMemory *digests = in_force->parts.digests;

        if (digest_memory_set_sent(digests, in_force->job, digest, version))
                return true;
        if (!in_force->wait)
                in_force->wait = digest_memory_wait(digests, in_force_on_remembered, in_force);
        return false;
}

/* The ledger has what we sent, and our definition is another by now: that was once the one in force
 * here, so our own has changed since. */
static void in_force_recognise_what_was_sent(InForce *in_force) {
        DigestMemory *digests = in_force->parts.digests;
        DigestSent sent;

        if (digest_memory_get_sent(digests, in_force->job, &sent) &&
            strcmp(sent.digest, in_force_ledger(in_force)->digest) == 0)
                digest_memory_set(digests, in_force->job, in_force_ledger(in_force)->digest);
}

/* The ledger has another node's. What we sent on an older version of it was not written. */
static void in_force_forget_what_was_sent(InForce *in_force) {
        DigestMemory *digests = in_force->parts.digests;
        DigestSent sent;

        if (digest_memory_get_sent(digests, in_force->job, &sent) &&
            sent.version < in_force_version(in_force))
                digest_memory_forget_sent(digests, in_force->job);
}

/* ---- putting it in force ---- */

static void in_force_note_schedule(const JobSpec *spec, Ledger *ledger) {
        if (spec->place.mode == JOB_MODE_SERVICE)
                ledger_set_service(ledger);
        else
                ledger_set_schedule(ledger, spec->schedule);
}

static void in_force_put(InForce *in_force, const JobSpec *spec, Ledger *ledger,
                         const char *digest) {
        in_force_note_schedule(spec, ledger);
        ledger_set_zones(ledger, spec->schedule, in_force_now());
        g_free(in_force->remember);
        in_force->remember = in_force_memory_of(spec, ledger, digest);
}

void in_force_written(InForce *in_force, LedgerWriteOutcome outcome) {
        if (in_force->remember && outcome == LEDGER_WRITE_DONE)
                digest_memory_set(in_force->parts.digests, in_force->job, in_force->remember);
        g_clear_pointer(&in_force->remember, g_free);
}

static InForceVerdict in_force_begun(InForce *in_force, int r) {
        in_force->error = r;
        return r < 0 ? IN_FORCE_FAILED : IN_FORCE_WRITES;
}

InForceVerdict in_force_make_ledger(InForce *in_force, const JobSpec *spec) {
        g_autofree char *digest = job_spec_digest(spec, in_force->parts.node->config);
        Ledger *ledger;

        if (!in_force_may_send(in_force, digest, -1))
                return IN_FORCE_REMEMBERS;
        ledger = ledger_new(in_force_now(), digest);
        if (in_force_is_unchecked(in_force))
                in_force->standing = STANDING_OURS;
        in_force_put(in_force, spec, ledger, digest);
        return in_force_begun(in_force, ledger_writer_make(in_force->parts.writer, ledger));
}

/* How many slots a resource has stands in its directory, and whoever means another number is
 * refused: it changes with the definition. A directory that is missing gets its number with the
 * first contender. Whoever writes the ledger after this has these requests before it in the
 * session's order, so nothing of it is lost when the ledger's write is not. */
static void in_force_change_slots(const InForce *in_force, const char *resource, unsigned slots) {
        const Node *node = in_force->parts.node;
        g_autofree char *directory = resource_directory(node->config, resource);

        if (slots > 1 && session_zk(node->session))
                (void)lock_change_slots(node->session, directory, slots, NULL, NULL);
}

static void in_force_change_all_slots(const InForce *in_force, const JobSpec *spec) {
        g_autofree char *own = resource_of_job(spec->name);

        in_force_change_slots(in_force, own, spec->slots);
        for (guint i = 0; i < spec->resources->len; i++) {
                LockRequest request = {0};

                resource_request_of_job(in_force->parts.node->config, spec->resources->pdata[i],
                                        &request);
                in_force_change_slots(in_force, request.resource, request.slots);
        }
}

/* What the definition in force still owes would be owed by nobody under ours. Return: whether that
 * has to be written first, with the verdict; then the ledger is read again. */
static bool in_force_skips_what_is_owed(InForce *in_force, int64_t now,
                                        InForceVerdict *ret_verdict) {
        const Ledger *ledger = in_force_ledger(in_force);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        _cleanup_(decision_pause_freep) DecisionPause *pause = NULL;
        DecisionSkip skips[DECISION_SKIPS_MAX];
        size_t n;

        if (ledger_schedule(ledger, &schedule) < 0)
                return false;
        pause = decision_pause_new(drain_view_control(tree_drain_view(in_force->parts.tree)),
                                   in_force->job, clock_realtime());
        n = owed_skips(in_force->job, ledger, schedule, now,
                       "its definition changed while it waited", pause, skips);
        if (n == 0)
                return false;
        *ret_verdict = in_force_begun(
            in_force, ledger_writer_skip(in_force->parts.writer, schedule, skips, n, true));
        return true;
}

/* By ours, which has no ticks, nobody would attempt it again. That is told as any attempt that is
 * not made, and what follows the last one is asked for. Return: as above. */
static bool in_force_gives_retry_up(InForce *in_force, const JobSpec *spec,
                                    InForceVerdict *ret_verdict) {
        const Ledger *ledger = in_force_ledger(in_force);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        DecisionSkip skip;

        if (spec->schedule ||
            !owed_attempt(ledger,
                          "its definition changed while it waited, and has no schedule any more",
                          &skip))
                return false;
        (void)ledger_schedule(ledger, &schedule);
        *ret_verdict = in_force_begun(
            in_force, ledger_writer_skip(in_force->parts.writer, schedule, &skip, 1, true));
        return true;
}

static InForceVerdict in_force_adopt(InForce *in_force, const JobSpec *spec, const char *digest) {
        bool nobodys = in_force->nobodys && in_force_patience_left(in_force) == 0;
        int64_t now = in_force_now(); /* a tick of a second between two reads would be nobody's */
        InForceVerdict verdict;
        Ledger *next;

        /* Of a job that was withdrawn for good nothing is owed, nor of one that is elsewhere. */
        if (*in_force_ledger(in_force)->digest && !in_force_ledger(in_force)->renamed &&
            (in_force_gives_retry_up(in_force, spec, &verdict) ||
             in_force_skips_what_is_owed(in_force, now, &verdict)))
                return verdict;
        if (!in_force_may_send(in_force, digest, in_force_version(in_force)))
                return IN_FORCE_REMEMBERS;
        next = ledger_copy(in_force_ledger(in_force));
        if (nobodys)
                ledger_stand_in(next, digest, now);
        else
                ledger_adopt_digest(next, digest, now);
        in_force_put(in_force, spec, next, digest);
        in_force_change_all_slots(in_force, spec);
        return in_force_begun(
            in_force,
            nobodys ? ledger_writer_set(in_force->parts.writer, next, MESSAGE_DEFINITION_OF_NOBODY,
                                        "no node has had the definition in force for "
                                        "some minutes: this node's is in force from now on")
                    : ledger_writer_set(
                          in_force->parts.writer, next, MESSAGE_RELOADED,
                          "the job's definition changed: the new one is in force from now on"));
}

/* The definition is the same, and what this machine knows of its time zones is new. Nothing else
 * changes: what is owed stays owed. */
static InForceVerdict in_force_adopt_zones(InForce *in_force, const JobSpec *spec) {
        Ledger *next = ledger_copy(in_force_ledger(in_force));

        in_force_put(in_force, spec, next, next->digest);
        return in_force_begun(
            in_force, ledger_writer_set(in_force->parts.writer, next, MESSAGE_RELOADED,
                                        "this node's time zone data changed: they are in force for "
                                        "the job's schedule from now on"));
}

/* ---- whose it is ---- */

/* Return: whether that member has the job, as far as the others can know. */
static bool in_force_concerns(const InForce *in_force, const JobSpec *spec, const Member *member) {
        return job_spec_matches_node(spec, member->node, member->labels) &&
               !g_hash_table_contains(member->absent, in_force->job);
}

/* Return: whether it is another one on which nothing begins: nobody looks there whether the
 * definition is the one in force, so nothing is said, and it keeps the job from nobody for long. */
static bool in_force_is_shut(const InForce *in_force, const Member *member) {
        return (member->busy > MEMBER_FULL || member->outside != 0) &&
               strcmp(member->node, in_force->parts.node->config->node_name) != 0;
}

/* Ours differs. Return: whether no other member that may run the job has the definition in force
 * either, and we are the first of those whose clocks let them change it. `patient`: that has to
 * last, and whoever could not run it all the while counts as away. */
static bool in_force_is_first_of_all_drifted(const InForce *in_force, const JobSpec *spec,
                                             bool patient) {
        const char *self = in_force->parts.node->config->node_name;
        const GPtrArray *members = members_list(in_force->parts.members);
        g_autoptr(GPtrArray) names = g_ptr_array_new();

        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];
                if (!in_force_concerns(in_force, spec, member) ||
                    (patient && in_force_is_shut(in_force, member)))
                        continue;
                if (strcmp(member->node, self) != 0 && !member_is_drifted(member, in_force->job))
                        return false;
                if (!member->skewed)
                        g_ptr_array_add(names, member->node);
        }
        g_ptr_array_add(names, NULL);
        return placement_rank(in_force->job, (const char *const *)names->pdata, self) == 0;
}

usec_t in_force_patience_left(const InForce *in_force) {
        return in_force->nobodys ? usec_sub(usec_add(in_force->nobodys_since, IN_FORCE_PATIENCE),
                                            clock_boottime())
                                 : USEC_INFINITY;
}

/* Return: whether nobody has had the definition in force for so long that it is for us to end that.
 */
static bool in_force_is_nobodys(InForce *in_force, const JobSpec *spec) {
        const char *digest = in_force_ledger(in_force)->digest;

        if (!in_force_is_first_of_all_drifted(in_force, spec, true)) {
                g_clear_pointer(&in_force->nobodys, g_free);
                return false;
        }
        if (g_strcmp0(in_force->nobodys, digest) != 0) {
                g_free(in_force->nobodys);
                in_force->nobodys = g_strdup(digest);
                in_force->nobodys_since = clock_boottime();
        }
        return in_force_patience_left(in_force) == 0;
}

/* Return: whether ours was in force before what stands in for it, and we may run it: others that
 * have it would change nothing of why that stands there. */
static bool in_force_is_displaced(const InForce *in_force, const JobSpec *spec, const char *own) {
        const DaemonConfig *config = in_force->parts.node->config;

        return g_strcmp0(in_force_ledger(in_force)->instead_of, own) == 0 &&
               job_spec_matches_node(spec, config->node_name, config->labels);
}

/* Has our own file changed since we last agreed, so that it is for us to change the ledger? Without
 * a memory only the one node of a cluster may say so at once, or of its own instance of a job of
 * mode each-node: elsewhere the only one that has what is in force may just be restarting. With one
 * that it has not, or without one, the first where all are drifted for long may, and whoever has
 * what that displaced may put it back. A job that was withdrawn for good is anybody's, and so is
 * the name of one that was renamed and is here, too. */
static bool in_force_is_ours_to_change(InForce *in_force, const JobSpec *spec, const char *own) {
        const char *remembered = digest_memory_get(in_force->parts.digests, in_force->job);

        if (*in_force_ledger(in_force)->digest == '\0' || in_force_ledger(in_force)->renamed ||
            in_force_is_displaced(in_force, spec, own))
                return true;
        if (remembered ? !digest_memory_has(in_force->parts.digests, in_force->job, own)
                       : spec->place.node || members_list(in_force->parts.members)->len == 1)
                return true;
        return in_force_is_nobodys(in_force, spec);
}

/* ---- where the ledger has ours ---- */

static void in_force_on_resumed(const ZkReply *reply, void *userdata) {
        InForce *in_force = userdata;

        in_force->resume_call = NULL;
        /* Otherwise whoever writes next reads it again. */
        if (reply->code == ZK_OK && in_force_ledger(in_force) &&
            in_force_version(in_force) + 1 == reply->stat.version)
                ledger_cache_rewritten(in_force->parts.ledgers, in_force->job, reply->stat.version);
}

/* Another node's files lost the job, ours have it as it was: it goes on, and so does what is under
 * way, such as queueing for a tick that waits. Of this node's own instance it says no more than
 * that the machine was off at the hour of the housekeeping. */
static void in_force_resume(InForce *in_force, const JobSpec *spec, Ledger *ledger) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED, .job = in_force->job};
        g_autofree char *data = NULL;

        ledger_resume(ledger);
        data = ledger_encode(ledger);
        in_force->resume_call = zk_call_free(in_force->resume_call);
        (void)zk_set(node_zk(in_force->parts.node), in_force->path, data,
                     in_force_version(in_force), in_force_on_resumed, in_force,
                     &in_force->resume_call);
        log_write(spec->place.node ? LOG_DEBUG : LOG_INFO, &about,
                  "the job was about to be withdrawn, but this node has it: it stays in force");
}

/* The name that it had is no job of ours any more, and the ledger of that knows. */
static void in_force_forget_was(const InForce *in_force, const Ledger *ledger) {
        if (ledger->was && !jobset_find(in_force->parts.jobset, ledger->was) &&
            digest_memory_get(in_force->parts.digests, ledger->was))
                digest_memory_set(in_force->parts.digests, ledger->was, NULL);
}

/* What a version before this one, or a long time ago, left of it is put right with the next write.
 */
static void in_force_take(InForce *in_force, const JobSpec *spec, ZonesVerdict verdict) {
        Ledger *ledger = ledger_copy(in_force_ledger(in_force));
        g_autofree char *memory = in_force_memory_of(spec, ledger, ledger->digest);
        int64_t now = in_force_now();

        in_force_agree(in_force);
        if (ledger->withdrawn)
                in_force_resume(in_force, spec, ledger);
        digest_memory_set(in_force->parts.digests, in_force->job, memory);
        in_force_forget_was(in_force, ledger);
        if (!ledger->schedule)
                in_force_note_schedule(spec, ledger);
        if (verdict == ZONES_AGREE && (!ledger->zones || now - ledger->zones_from > ZONES_AGE_MAX))
                ledger_set_zones(ledger, spec->schedule, now);
        ledger_cache_set(in_force->parts.ledgers, in_force->job, ledger,
                         in_force_version(in_force));
}

/* Is it in force as far as it matters today? Otherwise the zones are changed, or the job is
 * drifted.
 */
static InForceVerdict in_force_check_zones(InForce *in_force, const JobSpec *spec,
                                           bool may_change) {
        ZonesVerdict verdict = zones_judge(in_force_ledger(in_force), spec->schedule,
                                           in_force_remembered_zones(in_force), in_force_now());

        if (verdict == ZONES_AGREE || verdict == ZONES_LATER) {
                in_force_take(in_force, spec, verdict);
                return IN_FORCE_OURS;
        }
        if (verdict != ZONES_OURS && !in_force_is_first_of_all_drifted(in_force, spec, false))
                return in_force_drift(in_force,
                                      "this node's time zone data differ from those in force in "
                                      "the cluster; update them and restart jobkeeperd");
        if (!may_change)
                return IN_FORCE_NEEDS_CLOCK;
        in_force_agree(in_force);
        return in_force_adopt_zones(in_force, spec);
}

bool in_force_is(const InForce *in_force, const JobSpec *spec) {
        g_autofree char *own = job_spec_digest(spec, in_force->parts.node->config);
        const Ledger *ledger = in_force_ledger(in_force);

        return ledger && strcmp(own, ledger->digest) == 0;
}

static char *in_force_schedule_text(const Schedule *schedule) {
        g_autofree char *text = schedule ? schedule_to_string(schedule) : g_strdup("");

        return *text ? g_strdup_printf("\"%s\"", g_strdelimit(text, "\n", ',')) : g_strdup("none");
}

/* In which keys it differs, as far as that can be told: of the definition in force the ledger has
 * the schedule and a digest of the whole. */
static InForceVerdict in_force_differ(InForce *in_force, const JobSpec *spec) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *here = in_force_schedule_text(spec->schedule), *there = NULL, *why = NULL;
        GString *text = g_string_new(DIFFERS);

        if (ledger_schedule(in_force_ledger(in_force), &schedule) >= 0) {
                there = in_force_schedule_text(schedule);
                if (strcmp(here, there) == 0)
                        g_string_append(text, " not in the schedule: in lock or locks, or in what "
                                              "jobkeeper.yaml says of their resources");
                else
                        g_string_append_printf(text, ": its schedule is %s, in force is %s", here,
                                               there);
        }
        why = g_string_free(text, FALSE);
        return in_force_drift(in_force, why);
}

InForceVerdict in_force_check(InForce *in_force, const JobSpec *spec, bool may_change) {
        g_autofree char *own = job_spec_digest(spec, in_force->parts.node->config);

        if (g_strcmp0(in_force->nobodys, in_force_ledger(in_force)->digest) != 0)
                g_clear_pointer(&in_force->nobodys, g_free); /* that was another */
        if (strcmp(own, in_force_ledger(in_force)->digest) == 0)
                return in_force_check_zones(in_force, spec, may_change);
        in_force_recognise_what_was_sent(in_force);
        if (!in_force_is_ours_to_change(in_force, spec, own)) {
                in_force_forget_what_was_sent(in_force);
                return in_force_differ(in_force, spec);
        }
        if (!may_change)
                return IN_FORCE_NEEDS_CLOCK;
        in_force_agree(in_force);
        return in_force_adopt(in_force, spec, own);
}

/* ---- other names ---- */

/* Return: whether our file may come after what stands there. Without a memory of the job only one
 * that knew it by the name that it had can say so, or the one node of a cluster: elsewhere it may
 * be a file of long ago, on a machine that was set up anew. */
static bool in_force_may_come_after(const InForce *in_force, const JobSpec *spec) {
        const DigestMemory *digests = in_force->parts.digests;
        g_autofree char *own = job_spec_digest(spec, in_force->parts.node->config);
        const char *was = spec->books.was.job;

        if (digest_memory_get(digests, in_force->job))
                return !digest_memory_has(digests, in_force->job, own);
        return (was && digest_memory_get(digests, was)) ||
               members_list(in_force->parts.members)->len == 1;
}

RenameNeed in_force_rename_need(const InForce *in_force, const JobSpec *spec) {
        const Ledger *ledger = in_force_ledger(in_force);
        bool changed = in_force_may_come_after(in_force, spec),
             follows =
                 ledger && ledger->renamed && jobset_find(in_force->parts.jobset, ledger->renamed);

        return rename_need(ledger, spec, changed, follows);
}

/* The others are told that we do not have what it is now, so that nobody waits for us there. */
InForceVerdict in_force_close(InForce *in_force, const char *why) {
        const Ledger *ledger = in_force_ledger(in_force);

        g_clear_pointer(&in_force->nobodys, g_free); /* nor is it for anybody to end that */
        g_free(in_force->closed_why);
        in_force->closed_why =
            why ? g_strdup(why) : rename_left_text(in_force->job, ledger->renamed);
        if (ledger && ledger->renamed && !jobset_find(in_force->parts.jobset, ledger->renamed))
                registration_set_absent(in_force->parts.registration, ledger->renamed, true);
        return in_force_drift(in_force, in_force->closed_why);
}

const char *in_force_closed_why(const InForce *in_force) {
        return in_force_is_drifted(in_force) ? in_force->closed_why : NULL;
}
