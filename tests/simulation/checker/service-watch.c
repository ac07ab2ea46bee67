/* What becomes of services while the cluster works, looked at every few seconds, and at its end.
 *
 * None is left down: where the ledger says that one is to run, and nobody runs it, waits for its
 * locks or has claimed it, one of the three machines that stand by does something about it, if
 * nothing has befallen that one for a while and the servers answer it. Who stands in its queue, and
 * overlooks its turn, is looked at with all others (turn-checker.c).
 *
 * None is kept where it is not to be: a machine whose files have its job no more ends it, if
 * nothing has befallen that one for a while.
 *
 * In peace (checker_judge_services()) each runs, or will in a moment, and is not down for longer
 * than its pauses. */
#include <inttypes.h>
#include <string.h>

#include "control-pause.h"
#include "control.h"
#include "name.h"
#include "paths.h"
#include "placement.h"
#include "rename-checker.h"
#include "service-checker.h"

#define ROOT "/jobkeeper"
/* How often it is looked. */
#define LOOK_PERIOD (2 * USEC_PER_SEC)
/* So many stand by, the first by their rank. */
#define STANDING_BY 3
/* What befell a machine or its files keeps it from something for so long. */
#define FELT_FOR (30 * USEC_PER_SEC)
/* Whoever stands by begins within this, and so many flights to the servers and back: see
 * turn-checker.c. The last of them does so two takeover delays after the first. */
#define BEGUN_WITHIN (20 * USEC_PER_SEC)
#define BEGUN_WITHIN_FLIGHTS 14
/* PID 1 is told so soon that a run is to end. */
#define TOLD_WITHIN (15 * USEC_PER_SEC)
/* A drain, or an edit, ends what ran there within this. */
#define LEFT_WITHIN USEC_PER_MINUTE
/* In peace, seconds: what was before is not felt any more; and so long a run takes until it has
 * begun after its pause, or until it is known that it cannot. */
#define SETTLED_AFTER 60
#define BEGUN_SOON (10 * USEC_PER_SEC)

/* Since when a machine has had to begin a service. */
typedef struct Standby {
        usec_t since;
        unsigned flights; /* by then, of its session */
        int64_t session;
} Standby;

struct ServiceBook {
        GHashTable *standby; /* "JOB NODE" → Standby */
        GHashTable *drained; /* name of a node → usec_t: when it was drained last, or is no more */
        GHashTable *digests; /* job → the digest of the plan's own definition, the first in force */
        usec_t looked;
        bool is_over; /* the daemons are stopped */
};

typedef struct ServiceLook {
        const Write *write;
        Checker *checker;
        ServiceBook *book;
        const TurnBook *turns;
        json_t *control;
        GHashTable *standby; /* those of this look */
        char **members;      /* names */
        usec_t now;
} ServiceLook;

ServiceBook *service_book_new(void) {
        ServiceBook *book = g_new0(ServiceBook, 1);

        book->standby = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        book->drained = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        book->digests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return book;
}

ServiceBook *service_book_free(ServiceBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->standby);
        g_hash_table_unref(book->drained);
        g_hash_table_unref(book->digests);
        g_free(book);
        return NULL;
}

/* ---- who is drained ---- */

static json_t *service_control(const char *data) {
        return data ? control_parse(data, strlen(data)) : NULL;
}

/* One that is drained now is so until this is written again. */
void service_note_control(const Write *write) {
        ServiceBook *book = write_book_services(write->book);
        g_autofree char *path = path_control(ROOT);
        json_t *before = write_control(write),
               *after = service_control(write_data_after(write, path));
        usec_t now = checker_now(write->checker), until;

        for (unsigned i = 0; i < checker_plan(write->checker)->machines; i++) {
                g_autofree char *node = g_strdup_printf(PLAN_MACHINE, i + 1);

                if (!control_is_drained(before, node, NULL) &&
                    !control_is_drained(after, node, NULL))
                        continue;
                until = control_is_drained(after, node, NULL) ? USEC_INFINITY : now;
                g_hash_table_insert(book->drained, g_steal_pointer(&node),
                                    g_memdup2(&until, sizeof(until)));
        }
        json_decref(before);
        json_decref(after);
}

static bool service_is_drained(const ServiceBook *book, const char *node, usec_t now, usec_t felt) {
        const usec_t *until = g_hash_table_lookup(book->drained, node);

        return until && usec_add(*until, felt) >= now;
}

/* Return: by the name that it has now; NULL: there is none. */
static const Ledger *service_ledger(const Checker *checker, const PlanJob *job) {
        return g_hash_table_lookup(checker_ledgers(checker), rename_name(checker, job));
}

/* Return: whether the files of that machine have it by another name than the ledger does. */
static bool service_has_another_name(const Checker *checker, const PlanJob *job, const char *node) {
        const Plan *plan = checker_plan(checker);

        for (unsigned i = 0; i < plan->machines; i++) {
                g_autofree char *name = g_strdup_printf(PLAN_MACHINE, i + 1);

                if (g_str_equal(name, node))
                        return !g_str_equal(plan_name_on(plan, job, i), rename_name(checker, job));
        }
        return false;
}

bool service_may_end(const Checker *checker, const HistoryRun *run) {
        const ServiceBook *book = write_book_services(checker_book(checker));
        const PlanJob *job = plan_find(checker_plan(checker), run->job);
        const Ledger *ledger = job ? service_ledger(checker, job) : NULL;
        usec_t now = checker_now(checker);

        return job && job->service.is &&
               (service_is_drained(book, run->node, now, LEFT_WITHIN) ||
                service_has_another_name(checker, job, run->node) ||
                history_was_edited(checker_history(checker), run->node, run->job,
                                   usec_sub(now, LEFT_WITHIN), now) ||
                !ledger || !service_goes_on(ledger, run->tick));
}

/* ---- one that is to run ---- */

/* Return: whether the ledger says that somebody is to begin it by now. */
static bool service_is_due(const Ledger *ledger, usec_t now) {
        int64_t tick = MAX(ledger->mark, ledger->from) + 1;
        const LedgerEntry *entry = ledger_find_tick(ledger, tick);

        if (!service_goes_on(ledger, tick) || ledger->withdrawn || ledger_first_claimed(ledger))
                return false;
        if (!entry)
                return (usec_t)tick * USEC_PER_SEC <= now;
        return entry->not_before > 0 && entry->not_before <= now;
}

/* Return: whether somebody stands in the queue of its lock. */
static bool service_has_queue(const DataTree *tree, const char *job) {
        g_autofree char *locks = path_locks(ROOT),
                        *path = g_strconcat(locks, "/" NAME_OF_JOB_LOCK_PREFIX, job, NULL);
        const TreeNode *queue = data_tree_find(tree, path);

        return queue && tree_node_count(queue) > 0;
}

/* Return: whether somebody has changed what it is, on any machine, not long ago: then it is not
 * known which definition is in force, and who has that one. */
static bool service_was_edited(const Checker *checker, const char *job, usec_t since, usec_t now) {
        const History *history = checker_history(checker);

        for (unsigned i = 0; i < checker_plan(checker)->machines; i++) {
                g_autofree char *node = g_strdup_printf(PLAN_MACHINE, i + 1);

                if (history_was_edited(history, node, job, since, now) ||
                    history_was_edited(history, node, NULL, since, now))
                        return true;
        }
        return false;
}

/* Return: whether it is that machine's to do, and nothing keeps it from it. */
static bool service_is_for(const ServiceLook *look, const PlanJob *job, const char *node,
                           usec_t since, unsigned *ret_flights, int64_t *ret_session) {
        g_autofree char *path = path_node(ROOT, node);
        const TreeNode *member = data_tree_find(look->write->tree, path);
        usec_t felt = usec_sub(since, FELT_FOR);

        if (!member || service_is_drained(look->book, node, look->now, FELT_FOR) ||
            placement_rank(job->name, (const char *const *)look->members, node) >= STANDING_BY ||
            history_befell(checker_history(look->checker), node,
                           HISTORY_ANY | HISTORY_HANG | HISTORY_DISK, felt, look->now))
                return false;
        *ret_session = member->owner;
        return turn_is_answered(look->turns, member->owner, since, look->now, ret_flights);
}

/* Return: how long it takes until each of those that stand by has had its turn. */
static usec_t service_all_turns(const Checker *checker) {
        return (usec_t)STANDING_BY * checker_plan(checker)->takeover_ms * USEC_PER_MSEC;
}

static void service_judge_standby(const ServiceLook *look, const PlanJob *job, const char *node,
                                  const Standby *standby, unsigned flights) {
        if (look->now < standby->since + BEGUN_WITHIN + service_all_turns(look->checker) ||
            flights < standby->flights + BEGUN_WITHIN_FLIGHTS)
                return;
        checker_complain(look->checker,
                         "the service %s is to run for %" PRIu64
                         " s, and %s, which stands by, does nothing",
                         job->name, (look->now - standby->since) / USEC_PER_SEC, node);
}

static void service_take_standby(const ServiceLook *look, const PlanJob *job, const char *node) {
        g_autofree char *key = g_strdup_printf("%s %s", job->name, node);
        const Standby *before = g_hash_table_lookup(look->book->standby, key);
        Standby standby = before ? *before : (Standby){.since = look->now};
        unsigned flights;
        int64_t session;

        if (!service_is_for(look, job, node, standby.since, &flights, &session) ||
            (before && before->session != session))
                return;
        if (!before)
                standby = (Standby){look->now, flights, session};
        service_judge_standby(look, job, node, &standby, flights);
        g_hash_table_insert(look->standby, g_steal_pointer(&key),
                            g_memdup2(&standby, sizeof(standby)));
}

/* Return: whether what is in force is what the files of all have that nobody has edited: until a
 * definition that nobody has any more gives way nobody can do anything. */
static bool service_is_as_planned(const ServiceLook *look, const char *job, const Ledger *ledger) {
        const char *first = g_hash_table_lookup(look->book->digests, job);

        if (!first)
                g_hash_table_insert(look->book->digests, g_strdup(job), g_strdup(ledger->digest));
        return !first || g_strcmp0(first, ledger->digest) == 0;
}

static void service_look_at(const ServiceLook *look, const PlanJob *job) {
        const Ledger *ledger = service_ledger(look->checker, job);
        usec_t now = (usec_t)look->write->txn->time_ms * USEC_PER_MSEC;

        /* What was in force first under another name may have been somebody's edit. */
        if (!g_str_equal(rename_name(look->checker, job), job->name))
                return;
        if (!ledger || !service_is_as_planned(look, job->name, ledger) ||
            !service_is_due(ledger, now) ||
            control_is_paused(look->control, job->name, now, NULL) ||
            service_has_queue(look->write->tree, job->name) ||
            service_was_edited(look->checker, job->name,
                               usec_sub(look->now, BEGUN_WITHIN + FELT_FOR), look->now))
                return;
        for (char **node = look->members; *node; node++)
                service_take_standby(look, job, *node);
}

/* ---- one that is not to run there ---- */

static void service_judge_left(Checker *checker, const HistoryRun *run, usec_t now) {
        const History *history = checker_history(checker);
        usec_t gone = history_without_since(history, run->node, run->job), since;

        if (gone == USEC_INFINITY || run->stopped || run->over)
                return;
        since = MAX(gone, run->begun);
        if (now < since + TOLD_WITHIN ||
            history_befell(history, run->node, HISTORY_ANY | HISTORY_HANG | HISTORY_BUS,
                           usec_sub(since, FELT_FOR), now))
                return;
        checker_complain(checker,
                         "run %s of the service %s is kept on %s, whose files have not had it for "
                         "%" PRIu64 " s",
                         run->run, run->job, run->node, (now - since) / USEC_PER_SEC);
}

/* ---- all of them ---- */

void service_look(const Write *write, ServiceBook *book, const TurnBook *turns) {
        g_autofree char *path = path_nodes(ROOT);
        const TreeNode *nodes = data_tree_find(write->tree, path);
        const Plan *plan = checker_plan(write->checker);
        const GPtrArray *alive = history_alive(checker_history(write->checker));
        usec_t now = checker_now(write->checker);
        ServiceLook look = {
            .write = write, .checker = write->checker, .book = book, .turns = turns, .now = now};

        if (book->is_over || !nodes || now < book->looked + LOOK_PERIOD)
                return;
        book->looked = now;
        look.control = write_control(write);
        look.members = tree_node_children(nodes);
        look.standby = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        for (guint i = 0; i < plan->kept->len; i++)
                if (((const PlanJob *)plan->kept->pdata[i])->service.is && plan->max_runs == 0)
                        service_look_at(&look, plan->kept->pdata[i]);
        for (guint i = 0; i < alive->len; i++) {
                const PlanJob *job = plan_find(plan, ((HistoryRun *)alive->pdata[i])->job);

                if (!job || !job->service.is)
                        continue;
                service_judge_left(write->checker, alive->pdata[i], now);
                ready_look_at(write->checker, alive->pdata[i]);
        }
        g_hash_table_unref(book->standby);
        book->standby = look.standby;
        g_strfreev(look.members);
        json_decref(look.control);
}

/* ---- in peace ---- */

typedef struct ServiceView {
        Checker *checker;
        const PlanJob *job;
        usec_t calm_from, now;
} ServiceView;

/* Return: whether nothing but its pauses keeps it from running. */
static bool service_is_free(const ServiceView *view) {
        return checker_plan(view->checker)->max_runs == 0 && view->job->locks->len == 1;
}

/* Between two that began there may be some that could not. */
static void service_judge_gap(const ServiceView *view, const HistoryRun *before,
                              const HistoryRun *run) {
        /* A machine whose turn it would be may not be there, or stand by. */
        usec_t others = service_all_turns(view->checker);
        usec_t most = (run->attempt - before->attempt) *
                      (view->job->service.max_delay * USEC_PER_SEC + others + BEGUN_SOON);

        if (before->empty < view->calm_from || before->tick != run->tick ||
            run->begun <= before->empty + most)
                return;
        checker_complain(view->checker,
                         "the service %s was down for %" PRIu64 " s between its runs %s and %s "
                         "though nothing was wrong",
                         view->job->name, (run->begun - before->empty) / USEC_PER_SEC, before->run,
                         run->run);
}

/* Return: the last run that began; NULL: none did. */
static const HistoryRun *service_judge_gaps(const ServiceView *view) {
        const GPtrArray *runs = history_runs(checker_history(view->checker));
        const HistoryRun *last = NULL;

        for (guint i = 0; i < runs->len; i++) {
                const HistoryRun *run = runs->pdata[i];

                if (strcmp(run->job, view->job->name) != 0)
                        continue;
                if (last && service_is_free(view))
                        service_judge_gap(view, last, run);
                last = run;
        }
        return last;
}

/* Return: whether it is claimed and (be it in a moment) runs or is about to be settled, waits for
 * its pause, or is about to be claimed; or a run of it, be it of an earlier definition, may be
 * alive for all that is known, which its record says, and a person is to tell. */
static bool service_is_well(const ServiceView *view, const Ledger *ledger, const HistoryRun *last) {
        const LedgerEntry *entry = ledger_find_tick(ledger, MAX(ledger->mark, ledger->from) + 1);
        const LedgerEntry *claimed = ledger_first_claimed(ledger);
        usec_t now = (usec_t)MACHINE_EPOCH * USEC_PER_SEC + view->now;

        if (claimed && ledger_may_be_alive(claimed))
                return true;
        if (!entry)
                return false;
        if (entry->state == RUN_CLAIMED)
                return (last && last->empty == 0 && g_str_equal(last->run, entry->run)) ||
                       entry->claimed + BEGUN_SOON > now ||
                       (last && last->empty + BEGUN_SOON > view->now);
        return entry->not_before > 0 &&
               now < entry->not_before + BEGUN_SOON + service_all_turns(view->checker);
}

static void service_judge_end(const ServiceView *view, const DataTree *tree) {
        const Ledger *ledger = service_ledger(view->checker, view->job);
        const HistoryRun *last = service_judge_gaps(view);

        if (!ledger || service_is_well(view, ledger, last) ||
            (!service_is_free(view) &&
             service_has_queue(tree, rename_name(view->checker, view->job))) ||
            checker_plan(view->checker)->max_runs > 0)
                return;
        checker_complain(view->checker, "the service %s is down, after its run %s, in peace",
                         view->job->name, last ? last->run : "that never began");
}

void checker_judge_services(Checker *checker, const DataTree *tree, int64_t calm_from) {
        const GPtrArray *kept = checker_plan(checker)->kept;
        usec_t calm = (usec_t)(calm_from + SETTLED_AFTER - MACHINE_EPOCH) * USEC_PER_SEC;
        ServiceView view = {.checker = checker, .calm_from = calm, .now = checker_now(checker)};

        write_book_services(checker_book(checker))->is_over = true; /* from now on */
        for (guint i = 0; i < kept->len; i++) {
                view.job = kept->pdata[i];
                if (view.job->service.is)
                        service_judge_end(&view, tree);
        }
}
