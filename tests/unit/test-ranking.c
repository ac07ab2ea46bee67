/* Ranks that are remembered are the ranks that there are. */
#include <criterion/criterion.h>

#include "job-files.h"
#include "job-instance.h"
#include "placement.h"
#include "ranking.h"

#define MEMBERS 12
#define JOBS 200

static GPtrArray *members;
static Ranking *ranking;

static void free_member(void *data) {
        member_free(data);
}

static void begin(void) {
        members = g_ptr_array_new_with_free_func(free_member);
        for (unsigned i = 0; i < MEMBERS; i++) {
                g_autofree char *name = g_strdup_printf("m%02u", i);
                Member *member = member_new(name);
                g_hash_table_insert(member->labels, g_strdup("role"),
                                    g_strdup(i % 2 ? "worker" : "db"));
                g_ptr_array_add(members, member);
        }
        ranking = ranking_new("m03");
        ranking_set_members(ranking, members);
}

static void end(void) {
        ranking = ranking_free(ranking);
        g_clear_pointer(&members, g_ptr_array_unref);
}

TestSuite(ranking, .init = begin, .fini = end);

Test(ranking, where_there_is_none_none_is_freed) {
        cr_expect_null(ranking_free(NULL));
}

static JobFile *parse(const char *nodes) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        for (unsigned i = 0; i < JOBS; i++)
                g_string_append_printf(text, "  job-%u:\n    exec: [/bin/true]\n%s", i, nodes);
        cr_assert_eq(job_file_parse("x.yaml", text->str, text->len, diagnostics, &file), 0);
        cr_assert(file->good);
        return file;
}

static Member *member(unsigned i) {
        return members->pdata[i];
}

/* By the plain rule. */
static uint32_t expected(const JobSpec *spec, bool unfit, const char *key, bool *ret_nobody) {
        g_autoptr(GPtrArray) names = g_ptr_array_new(), all = g_ptr_array_new();

        for (unsigned i = 0; i < members->len; i++) {
                bool self = g_str_equal(member(i)->node, "m03");
                g_ptr_array_add(all, member(i)->node);
                if (!member(i)->skewed && !member_is_unfit(member(i), spec->name) &&
                    !(self && unfit) &&
                    job_spec_matches_node(spec, member(i)->node, member(i)->labels))
                        g_ptr_array_add(names, member(i)->node);
        }
        *ret_nobody = names->len == 0;
        g_ptr_array_add(names, NULL);
        g_ptr_array_add(all, NULL);
        return placement_rank(key, (const char *const *)(*ret_nobody ? all->pdata : names->pdata),
                              "m03");
}

static void expect_as_expected(const JobFile *file, bool unfit) {
        for (guint i = 0; i < file->jobs->len; i++) {
                const JobSpec *spec = file->jobs->pdata[i];
                bool nobody = false, nobody_expected = false;
                uint32_t rank = expected(spec, unfit, spec->name, &nobody_expected);

                cr_assert_eq(ranking_rank(ranking, spec, unfit, &nobody), rank, "%s", spec->name);
                cr_assert_eq(nobody, nobody_expected);
                if (!nobody)
                        cr_assert_eq(ranking_of_key(ranking, spec, unfit, "key"),
                                     expected(spec, unfit, "key", &nobody_expected));
        }
}

static void change(unsigned i) {
        g_hash_table_add(member(i)->drifted, g_strdup("job-7"));
        member((i + 1) % MEMBERS)->skewed = true;
        ranking_set_members(ranking, members);
}

Test(ranking, as_the_plain_rule_says) {
        static const char *const nodes[] = {"", "    nodes: {role: worker}\n",
                                            "    nodes: {role: db}\n", "    nodes: [m01]\n",
                                            "    nodes: [nobody]\n"};

        for (size_t n = 0; n < G_N_ELEMENTS(nodes); n++) {
                _cleanup_(job_file_freep) JobFile *file = parse(nodes[n]);
                expect_as_expected(file, false);
                expect_as_expected(file, true);
                change((unsigned)n);
                expect_as_expected(file, false);
                expect_as_expected(file, false);
        }
}

Test(ranking, candidates) {
        _cleanup_(job_file_freep) JobFile *file = parse("    nodes: {role: worker}\n");
        g_autoptr(GPtrArray) some = NULL, fewer = NULL;

        some = ranking_candidates(ranking, file->jobs->pdata[0], false);
        cr_assert_eq(some->len, MEMBERS / 2);
        cr_expect_null(some->pdata[some->len]);
        fewer = ranking_candidates(ranking, file->jobs->pdata[0], true);
        cr_expect_eq(fewer->len, MEMBERS / 2 - 1);
}

/* Each where its rank is, of whatever job; the busy ones last. */
Test(ranking, candidates_stand_by_their_rank) {
        _cleanup_(job_file_freep) JobFile *file = parse("");
        bool nobody;

        for (unsigned round = 0; round < 2; round++) {
                for (guint i = 0; i < file->jobs->len; i++) {
                        const JobSpec *spec = file->jobs->pdata[i];
                        g_autoptr(GPtrArray) all = ranking_candidates(ranking, spec, false);
                        uint32_t rank = ranking_rank(ranking, spec, false, &nobody);

                        cr_assert_eq(all->len, MEMBERS);
                        cr_expect_str_eq(all->pdata[rank], "m03", "%s", spec->name);
                        if (round > 0)
                                cr_expect_str_eq(all->pdata[MEMBERS - 1], "m07", "%s", spec->name);
                }
                member(7)->busy = MEMBER_FULL;
                ranking_set_members(ranking, members);
        }
}

Test(ranking, is_computed_once) {
        _cleanup_(job_file_freep) JobFile *file = parse(""), *again = parse("");
        bool nobody;

        for (unsigned round = 0; round < 5; round++)
                expect_as_expected(file, false);
        cr_expect_eq(ranking_computed(ranking), JOBS);
        ranking_set_members(ranking, members);
        expect_as_expected(file, false);
        cr_expect_eq(ranking_computed(ranking), 2 * JOBS);
        (void)ranking_rank(ranking, file->jobs->pdata[0], true, &nobody);
        cr_expect_eq(ranking_computed(ranking), 2 * JOBS + 1, "what we know of ourselves changed");
        (void)ranking_rank(ranking, again->jobs->pdata[1], false, &nobody);
        cr_expect_eq(ranking_computed(ranking), 2 * JOBS + 2, "another definition");
        ranking_forget(ranking, "job-5");
        (void)ranking_rank(ranking, file->jobs->pdata[5], false, &nobody);
        cr_expect_eq(ranking_computed(ranking), 2 * JOBS + 3);
}

/* What was acted by counts, not what was only asked. */
Test(ranking, has_changed_since_it_was_acted_by) {
        _cleanup_(job_file_freep) JobFile *file = parse("");
        const JobSpec *spec = file->jobs->pdata[0];
        bool nobody;
        uint32_t before;

        cr_expect(ranking_has_changed(ranking, spec, false));
        before = ranking_act(ranking, spec, false, &nobody);
        cr_expect_not(ranking_has_changed(ranking, spec, false));
        cr_expect_neq(ranking_rank(ranking, spec, true, &nobody), before);
        cr_expect(ranking_has_changed(ranking, spec, true));
        cr_expect_not(ranking_has_changed(ranking, spec, false));
        cr_expect_eq(ranking_act(ranking, spec, true, &nobody), PLACEMENT_NONE);
        cr_expect(ranking_has_changed(ranking, spec, false));
}

Test(ranking, among_all) {
        g_autoptr(GPtrArray) nobody = g_ptr_array_new();

        cr_expect_lt(ranking_among_all(ranking, "key"), MEMBERS);
        ranking_set_members(ranking, nobody);
        cr_expect_eq(ranking_among_all(ranking, "key"), 0);
}

static uint32_t rank_of_first(const JobFile *file) {
        bool nobody;

        ranking_set_members(ranking, members);
        return ranking_rank(ranking, file->jobs->pdata[0], false, &nobody);
}

static void set_busy(bool self, bool others, MemberBusy busy) {
        for (guint i = 0; i < MEMBERS; i++) {
                bool is_self = g_str_equal(member(i)->node, "m03");
                if (is_self ? self : others)
                        member(i)->busy = busy;
        }
}

static void set_outside(bool self, bool others, int64_t until) {
        for (guint i = 0; i < MEMBERS; i++)
                if (g_str_equal(member(i)->node, "m03") ? self : others)
                        member(i)->outside = until;
}

/* As whoever is drained: the others have the tick at once, and where no window is open nobody is
 * the first for that alone. */
Test(ranking, moves_on_past_who_is_outside_of_its_window) {
        _cleanup_(job_file_freep) JobFile *file = parse("");
        uint32_t before = rank_of_first(file);

        set_outside(true, false, 1763700060);
        cr_expect_eq(rank_of_first(file), MEMBERS - 1, "the last of all");
        set_outside(false, true, INT64_MAX);
        cr_expect_eq(rank_of_first(file), before, "all are");
        set_outside(true, false, 0);
        cr_expect_eq(rank_of_first(file), 0, "the only one that is not");
        set_busy(true, false, MEMBER_FULL);
        cr_expect_eq(rank_of_first(file), before, "both are as good as drained");
        set_busy(true, false, MEMBER_FREE);
        set_outside(false, true, 0);
        cr_expect_eq(rank_of_first(file), before);
}

/* Whoever is free comes before all that are busy; among equals nothing changes. */
Test(ranking, moves_on_past_the_busy) {
        _cleanup_(job_file_freep) JobFile *file = parse("");
        uint32_t before = rank_of_first(file);

        set_busy(true, false, MEMBER_FULL);
        cr_expect_eq(rank_of_first(file), MEMBERS - 1, "the last of all");
        set_busy(false, true, MEMBER_ENDING);
        cr_expect_eq(rank_of_first(file), before, "all are busy");
        set_busy(true, false, MEMBER_FREE);
        cr_expect_eq(rank_of_first(file), 0, "the only one that is free");
        set_busy(false, true, MEMBER_FREE);
        cr_expect_eq(rank_of_first(file), before);
}

/* Whatever the others are like, and also where it cannot run it: nobody else could say so. */
Test(ranking, an_instance_is_its_nodes_alone) {
        _cleanup_(job_file_freep) JobFile *file = parse("    mode: each-node\n");
        bool nobody;

        for (guint i = 0; i < file->jobs->len; i++) {
                JobSpec *spec = file->jobs->pdata[i];
                g_autoptr(GPtrArray) candidates = NULL;

                job_spec_instantiate(spec, "m03");
                cr_expect_eq(ranking_rank(ranking, spec, false, &nobody), 0U);
                cr_expect_not(nobody);
                cr_expect_eq(ranking_rank(ranking, spec, true, &nobody), 0U, "%s", spec->name);
                cr_expect(nobody);
                candidates = ranking_candidates(ranking, spec, false);
                cr_expect_eq(candidates->len, 1U);
        }
}
