/* See job-explain.h. */
#include "job-explain.h"

#include <string.h>

#include "explanation.h"
#include "json-line.h"

/* Return: a constant; NULL where nothing keeps the node. */
static const char *busy_why(MemberBusy busy) {
        switch (busy) {
        case MEMBER_FREE:
                return NULL;
        case MEMBER_FULL:
                return "max-runs is reached there";
        case MEMBER_ENDING:
                return "something that must not run any more does so there still";
        case MEMBER_STOPPING:
                return "its daemon is being stopped";
        case MEMBER_CLOCK:
                return "its clock is not synchronised yet";
        case MEMBER_UNFENCED:
                return "its fence cannot be reached";
        case MEMBER_UNFILED:
                return "what runs need there cannot be written or executed";
        case MEMBER_SYSTEMD:
                return "its systemd does not answer";
        case MEMBER_DRAINED:
                return "it is drained";
        }
        return NULL;
}

/* Return: what keeps a node from running the job, newly allocated; NULL: nothing does. */
static char *member_unfit_why(const JobExplainParts *parts, const JobSpec *spec,
                              const Member *member) {
        const bool self = g_str_equal(member->node, parts->node->config->node_name);
        const char *own = self ? ranks_unfit(parts->ranks, spec->name) : NULL;
        const char *unfit = own ? own : g_hash_table_lookup(member->unfit, spec->name);

        if (spec->place.node && strcmp(spec->place.node, member->node) != 0)
                return g_strdup_printf("it is the job of %s alone (mode: each-node)",
                                       spec->place.node);
        if (!job_spec_matches_node(spec, member->node, member->labels))
                return g_strdup("nodes: does not match it");
        if (unfit && *unfit)
                return g_strdup(unfit);
        if (member_is_drifted(member, spec->name))
                return g_strdup("its job file has another definition than the one in force");
        if (g_hash_table_contains(member->absent, spec->name))
                return g_strdup("its job files do not have the job");
        if (member_is_unfit(member, spec->name))
                return g_strdup("it says that it cannot run the job");
        if (member->skewed)
                return g_strdup("its clock differs too much from the others'");
        return NULL;
}

/* Return: what keeps a node from running the job, or has it come after all others; newly allocated,
 * "" where nothing does. */
static char *member_why(const JobExplainParts *parts, const JobSpec *spec, const Member *member) {
        g_autofree char *unfit = member_unfit_why(parts, spec, member), *outside = NULL;
        const char *busy = busy_why(member->busy);

        if (unfit)
                return g_steal_pointer(&unfit);
        if (member->outside == 0 || member->busy == MEMBER_DRAINED)
                return g_strdup(busy ? busy : "");
        outside = member_outside_to_text(member->outside);
        return g_strconcat("it is ", outside, NULL);
}

char *job_explain_node(const JobExplainParts *parts, const JobSpec *spec, const char *node) {
        const GPtrArray *members = members_list(parts->members);
        const bool self = g_str_equal(node, parts->node->config->node_name);

        if (self && ranks_is_undecided(parts->ranks, spec->name))
                return NULL;
        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];

                if (g_str_equal(member->node, node))
                        return member_unfit_why(parts, spec, member);
        }
        return NULL;
}

/* `ranks`: node → its rank and 1. */
static json_t *explain_member(const JobExplainParts *parts, const JobSpec *spec, GHashTable *ranks,
                              const Member *member) {
        guint rank = GPOINTER_TO_UINT(g_hash_table_lookup(ranks, member->node));
        g_autofree char *why = member_why(parts, spec, member);

        return json_pack("{s:s, s:o, s:s}", "node", member->node, "rank",
                         rank == 0 ? json_null() : json_integer(rank - 1), "why", why);
}

static json_t *explain_members(const JobExplainParts *parts, const JobSpec *spec) {
        const GPtrArray *members = members_list(parts->members);
        g_autoptr(GPtrArray) candidates = ranks_candidates(parts->ranks, spec);
        g_autoptr(GHashTable) ranks = g_hash_table_new(g_str_hash, g_str_equal);
        json_t *array = json_array();

        for (guint i = 0; i < candidates->len; i++)
                g_hash_table_insert(ranks, candidates->pdata[i], GUINT_TO_POINTER(i + 1));
        for (guint i = 0; i < members->len; i++)
                json_array_append_new(array, explain_member(parts, spec, ranks, members->pdata[i]));
        return array;
}

/* Return: the oldest tick that is due and undecided, else the next one that starts; 0: neither. */
static int64_t default_tick(const DecisionInput *input) {
        int64_t now = (int64_t)(input->now / USEC_PER_SEC), tick = 0;

        if (!input->schedule)
                return input->service ? ledger_service_tick(input->ledger) : 0;
        now = schedule_started(input->schedule, input->job, now);
        if (ledger_next_undecided(input->ledger, input->schedule, ledger_floor(input->ledger), now,
                                  &tick) ||
            schedule_next(input->schedule, now, &tick))
                return tick;
        return 0;
}

static json_t *tick_or_null(int64_t tick) {
        return tick == 0 ? json_null() : json_integer(tick);
}

static json_t *explanation_to_json(const Explanation *explanation, int64_t tick) {
        usec_t when = explanation->when;

        return json_pack(
            "{s:o, s:o, s:s, s:s, s:b, s:s?, s:s?, s:I, s:o, s:o, s:o}", "tick", tick_or_null(tick),
            "start", tick_or_null(explanation->start), "state",
            explanation_state_to_string(explanation->state), "why",
            explanation->why ? explanation->why : "", "begins", explanation->begins, "run",
            explanation->run, "node", explanation->node, "attempt",
            (json_int_t)explanation->attempt, "when", when ? seconds_to_json(when) : json_null(),
            "before", tick_or_null(explanation->before), "after", tick_or_null(explanation->after));
}

json_t *job_explain(const JobExplainParts *parts, const JobSpec *spec, const Schedule *schedule,
                    const Ledger *ledger, int64_t tick) {
        const json_t *control = drain_view_control(tree_drain_view(parts->tree));
        usec_t now = clock_realtime();
        _cleanup_(decision_pause_freep) DecisionPause *pause =
            decision_pause_new(control, spec->name, now);
        _cleanup_(decision_window_freep) DecisionWindow *window =
            decision_window_new(schedule, now);
        _cleanup_(ledger_freep) Ledger *none = ledger ? NULL : ledger_new(0, "");
        DecisionInput input = decision_input(spec, parts->node->config, now);
        Explanation explanation;
        json_t *object = NULL;

        input.schedule = schedule;
        input.ledger = ledger ? ledger : none;
        input.pause = pause;
        input.window = window;
        if (!ledger)
                none->from = (int64_t)(input.now / USEC_PER_SEC);
        (void)ranks_of_job(parts->ranks, spec, &input.nobody);
        if (tick == 0)
                tick = default_tick(&input);
        explain(&input, tick, &explanation);
        object = explanation_to_json(&explanation, tick);
        json_object_set_new(object, "nodes", explain_members(parts, spec));
        explanation_clear(&explanation);
        return object;
}
