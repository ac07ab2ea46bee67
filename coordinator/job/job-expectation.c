/* See job-expectation.h. */
#include "job-expectation.h"

#include "control-pause.h"
#include "duration.h"
#include "expectation.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "placement.h"
#include "timer.h"
#include "unit-spec.h"

/* The job reads its ledger first, for its own ends. */
#define JOB_EXPECTATION_DELAY (10 * USEC_PER_SEC)

struct JobExpectation {
        const JobParts *parts;   /* weak */
        const JobLedger *ledger; /* weak */
        sd_event_source *timer;
        ZkCall *call; /* reads or writes */
        Ledger *next; /* what is being written */
};

static void job_expectation_look(void *userdata);

static const JobSpec *job_expectation_spec(const JobExpectation *expectation) {
        return job_ledger_spec(expectation->ledger);
}

static char *job_expectation_path(const JobExpectation *expectation) {
        return path_job(expectation->parts->node->config->root,
                        job_expectation_spec(expectation)->name);
}

/* USEC_INFINITY: never. */
static void job_expectation_look_in(JobExpectation *expectation, usec_t delay) {
        expectation->timer = sd_event_source_disable_unref(expectation->timer);
        if (delay != USEC_INFINITY)
                (void)timer_at(expectation->parts->node->event, &expectation->timer, CLOCK_BOOTTIME,
                               usec_add(clock_boottime(), delay), job_expectation_look,
                               expectation);
}

static uint32_t job_expectation_rank(const JobExpectation *expectation) {
        const JobParts *parts = expectation->parts;
        bool nobody;

        return ranks_of_job(parts->ranks, job_expectation_spec(expectation), &nobody);
}

static Expectation job_expectation_judge(const JobExpectation *expectation, const Ledger *ledger) {
        const JobParts *parts = expectation->parts;

        return expectation_judge(&(ExpectationInput){
            .within = job_expectation_spec(expectation)->books.expect_within,
            .since = ledger_without_success_since(ledger),
            .told = ledger->overdue,
            .now = node_server_time(parts->node),
            .rank = job_expectation_rank(expectation),
            .takeover_delay = parts->node->config->takeover_delay,
        });
}

/* The clock may be corrected, so that the time is no nearer then. */
static void job_expectation_wait(JobExpectation *expectation, const Expectation *found) {
        usec_t now = node_server_time(expectation->parts->node);

        job_expectation_look_in(expectation, found->again == USEC_INFINITY
                                                 ? USEC_INFINITY
                                                 : MAX(usec_sub(found->again, now), USEC_PER_MSEC));
}

/* ---- telling ---- */

/* Return: newly allocated, what else there is to say; or "". */
static char *job_expectation_circumstances(const JobExpectation *expectation) {
        const JobParts *parts = expectation->parts;
        const JobSpec *spec = job_expectation_spec(expectation);
        const json_t *control = drain_view_control(tree_drain_view(parts->tree));
        g_autofree char *paused = NULL;
        ControlPause pause = {0};
        bool nobody;

        if (control_pause_lasts(control, spec->name, node_server_time(parts->node), &pause)) {
                paused = control_pause_to_text(&pause);
                control_pause_clear(&pause);
                return g_strdup_printf("; %s%s", g_str_has_prefix(paused, "paused") ? "it is " : "",
                                       paused);
        }
        (void)ranks_of_job(parts->ranks, spec, &nobody);
        return g_strdup(nobody ? "; no node can run it at present" : "");
}

static void job_expectation_tell(const JobExpectation *expectation, const Ledger *ledger) {
        const JobSpec *spec = job_expectation_spec(expectation);
        const LogAbout about = {.message_id = MESSAGE_JOB_OVERDUE, .job = spec->name};
        usec_t since = ledger_without_success_since(ledger), ago = usec_sub(ledger->overdue, since);
        g_autofree char *when = tick_to_rfc3339((int64_t)(since / USEC_PER_SEC)),
                        *span = duration_to_string(ago - ago % USEC_PER_SEC),
                        *within = duration_to_string(spec->books.expect_within),
                        *more = job_expectation_circumstances(expectation);

        log_warning(
            &about,
            "overdue: no run has succeeded since %s%s, %s ago, and one is expected within %s%s",
            ledger_last_success(ledger) ? "" : "the job is there, ", when, span, within, more);
}

/* What was read before is out of date now. */
static void job_expectation_remember(JobExpectation *expectation, int32_t version) {
        LedgerCache *ledgers = expectation->parts->ledgers;
        const char *job = job_expectation_spec(expectation)->name;
        int32_t known;

        if (ledger_cache_get(ledgers, job, &known) && known + 1 == version)
                ledger_cache_set(ledgers, job, g_steal_pointer(&expectation->next), version);
}

/* Told twice is better than not at all. */
static void job_expectation_on_written(const ZkReply *reply, void *userdata) {
        JobExpectation *expectation = userdata;

        expectation->call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_UNKNOWN || reply->code == ZK_CLOSED)
                job_expectation_tell(expectation, expectation->next);
        if (reply->code == ZK_OK)
                job_expectation_remember(expectation, reply->stat.version);
        expectation->next = ledger_free(expectation->next);
        if (reply->code != ZK_CLOSED)
                job_expectation_look_in(expectation, JOB_EXPECTATION_DELAY);
}

static void job_expectation_write(JobExpectation *expectation, Ledger *next, int32_t version) {
        const Node *node = expectation->parts->node;
        g_autofree char *path = job_expectation_path(expectation), *data = NULL;

        next->overdue = node_server_time(node);
        data = ledger_encode(next);
        ledger_free(expectation->next);
        expectation->next = next;
        if (zk_set(node_zk(node), path, data, version, job_expectation_on_written, expectation,
                   &expectation->call) >= 0)
                return;
        expectation->next = ledger_free(expectation->next);
        job_expectation_look_in(expectation, EXPECTATION_PAUSE);
}

/* Nobody says any more whether it was written, which others would take for told. */
static void job_expectation_drop_call(JobExpectation *expectation) {
        if (expectation->call && expectation->next &&
            job_expectation_spec(expectation)->books.expect_within != USEC_INFINITY)
                job_expectation_tell(expectation, expectation->next);
        expectation->call = zk_call_free(expectation->call);
        expectation->next = ledger_free(expectation->next);
}

/* ---- looking ---- */

/* Return: whether we may tell. Who doubts what stands in ZooKeeper writes nothing there; else it is
 * looked again. */
static bool job_expectation_may_tell(JobExpectation *expectation) {
        const JobParts *parts = expectation->parts;
        bool trusts = trust_is_given(tree_trust(parts->tree));

        if (trusts && clock_watch_is_known(parts->clock))
                return true;
        job_expectation_look_in(expectation,
                                trusts ? clock_watch_measure(parts->clock) : EXPECTATION_PAUSE);
        return false;
}

/* What was withdrawn for good starts anew once a definition is in force; what has another name now
 * is judged by that. */
static void job_expectation_on_read(const ZkReply *reply, void *userdata) {
        JobExpectation *expectation = userdata;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        Expectation found = {0};

        expectation->call = NULL;
        if (reply->code == ZK_CLOSED)
                return;
        if (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0 ||
            !*ledger->digest || ledger->renamed) {
                job_expectation_look_in(expectation, EXPECTATION_PAUSE);
                return;
        }
        found = job_expectation_judge(expectation, ledger);
        if (!found.tell)
                job_expectation_wait(expectation, &found);
        else if (job_expectation_may_tell(expectation))
                job_expectation_write(expectation, g_steal_pointer(&ledger), reply->stat.version);
}

static void job_expectation_read(JobExpectation *expectation) {
        g_autofree char *path = job_expectation_path(expectation);

        if (zk_get(node_zk(expectation->parts->node), path, job_expectation_on_read, expectation,
                   &expectation->call, NULL, NULL, NULL) < 0)
                job_expectation_look_in(expectation, EXPECTATION_PAUSE);
}

/* Without a session that is ready nothing is to be seen: it begins again with the next, and with
 * another rank. Only who knows who is there knows whose turn it is. */
static void job_expectation_look(void *userdata) {
        JobExpectation *expectation = userdata;
        const Ledger *ledger = job_ledger_known(expectation->ledger);
        Expectation found = {.tell = true};

        if (!node_zk(expectation->parts->node) || expectation->call)
                return;
        if (!members_registered(expectation->parts->members)) {
                job_expectation_look_in(expectation, JOB_EXPECTATION_DELAY);
                return;
        }
        if (job_expectation_rank(expectation) >= PLACEMENT_RANKS)
                return;
        if (ledger)
                found = job_expectation_judge(expectation, ledger);
        if (!found.tell && !found.told)
                job_expectation_wait(expectation, &found);
        else if (!found.tell || job_expectation_may_tell(expectation))
                job_expectation_read(expectation);
}

void job_expectation_reset(JobExpectation *expectation) {
        expectation->timer = sd_event_source_disable_unref(expectation->timer);
        job_expectation_drop_call(expectation);
}

void job_expectation_begin(JobExpectation *expectation) {
        if (job_expectation_spec(expectation)->books.expect_within == USEC_INFINITY)
                job_expectation_reset(expectation);
        else
                job_expectation_look_in(expectation, JOB_EXPECTATION_DELAY);
}

JobExpectation *job_expectation_new(const JobParts *parts, const JobLedger *ledger) {
        JobExpectation *expectation = g_new0(JobExpectation, 1);

        expectation->parts = parts;
        expectation->ledger = ledger;
        return expectation;
}

JobExpectation *job_expectation_free(JobExpectation *expectation) {
        if (!expectation)
                return NULL;
        job_expectation_reset(expectation);
        g_free(expectation);
        return NULL;
}
