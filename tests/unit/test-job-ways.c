/* How often the links between jobs have one run for a tick, and what is taken out where that is too
 * often. */
#include "job-ways.h"

#include "job-file.h"
#include "linked-jobs.h"
#include "work-time.h"

#include <criterion/criterion.h>
#include <string.h>

static JobFile *parse(const char *jobs) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *text = g_strconcat("jobs:\n", jobs, NULL);
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_assert(file->good);
        return file;
}

/* Return: newly allocated, "a>b c>d": who follows whom, of those asked for, in the order of `jobs`;
 * what is told goes to *ret_told. */
static char *limit(const char *jobs, const char *before, char **ret_told) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = parse(jobs), *old = before ? parse(before) : NULL;
        g_autoptr(GHashTable) was = old ? linked_jobs_index(old->jobs, NULL, diagnostics) : NULL;
        g_autoptr(GHashTable) after = linked_jobs_index(file->jobs, was, diagnostics);
        g_autoptr(GString) text = g_string_new(NULL);
        g_auto(GStrv) lines = NULL;

        job_ways_limit(file->jobs, after, was, diagnostics);
        for (guint i = 0; i < file->jobs->len; i++) {
                const char *name = ((const JobSpec *)file->jobs->pdata[i])->name;
                const GPtrArray *followers = g_hash_table_lookup(after, name);

                for (guint j = 0; followers && j < followers->len; j++)
                        g_string_append_printf(text, "%s%s>%s", text->len > 0 ? " " : "", name,
                                               ((const JobSpec *)followers->pdata[j])->name);
        }
        lines = diagnostics_to_strv(diagnostics);
        *ret_told = g_strjoinv("\n", lines);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static unsigned lines_of(const char *text) {
        unsigned n = *text != '\0';

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

/* "s0", and so many diamonds one behind the other: b0 and c0 follow it, and s1 follows any of them;
 * `how` is what stands around the two. */
static char *diamonds(unsigned n, const char *open, const char *shut) {
        g_autoptr(GString) text = g_string_new("  s0: {exec: /b}\n");

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text,
                                       "  b%u: {exec: /b, after: s%u}\n"
                                       "  c%u: {exec: /b, after: s%u}\n"
                                       "  s%u: {exec: /b, after: %s[b%u, c%u]%s}\n",
                                       i, i, i, i, i + 1, open, i, i, shut);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool is_there(const char *links, const char *link) {
        g_auto(GStrv) words = g_strsplit(links, " ", -1);

        return g_strv_contains((const char *const *)words, link);
}

Test(job_ways, as_many_as_may_lead_to_one) {
        g_autofree char *jobs = diamonds(6, "", ""), *told = NULL,
                        *links = limit(jobs, NULL, &told);

        cr_expect_str_eq(told, "", "%s", told);
        cr_expect(is_there(links, "b5>s6"));
        cr_expect(is_there(links, "c5>s6"));
}

/* Each further one would double them again: none does. */
Test(job_ways, the_link_that_leads_too_far_is_taken_out) {
        g_autofree char *jobs = diamonds(7, "", ""), *told = NULL,
                        *links = limit(jobs, NULL, &told);

        cr_expect(is_there(links, "b6>s7"));
        cr_expect_not(is_there(links, "c6>s7"));
        cr_expect_str_eq(
            told,
            "f:23:30: error: job \"s7\" does not run after \"c6\": with that, one tick of \"s0\" "
            "has it run more than 64 times, once for each way on which the links lead to it: let "
            "it wait for them together (after: {all: [...]}), or take links out; the job takes "
            "effect without that",
            "%s", told);
}

Test(job_ways, however_many_there_are) {
        g_autofree char *jobs = diamonds(30, "", ""), *told = NULL,
                        *links = limit(jobs, NULL, &told);

        cr_expect_eq(lines_of(told), 24U, "%s", told);
        cr_expect(is_there(links, "b29>s30"));
        cr_expect_not(is_there(links, "c29>s30"));
}

/* What waits for both is run once. */
Test(job_ways, what_is_waited_for_together_leads_once) {
        g_autofree char *jobs = diamonds(30, "{all: ", "}"), *told = NULL,
                        *links = limit(jobs, NULL, &told);

        cr_expect_str_eq(told, "", "%s", told);
        cr_expect(is_there(links, "c29>s30"));
}

/* Return: newly allocated, so many jobs of their own, and "z" that follows any of them. */
static char *fan(unsigned n) {
        g_autoptr(GString) text = g_string_new("  z: {exec: /b, after: [p0");

        for (unsigned i = 1; i < n; i++)
                g_string_append_printf(text, ", p%u", i);
        g_string_append(text, "]}\n");
        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "  p%u: {exec: /b}\n", i);
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Each has ticks of its own: none of them has it run more than once. */
Test(job_ways, what_begins_apart_is_counted_apart) {
        g_autofree char *some = fan(60), *told = NULL, *links = NULL, *jobs = NULL;

        jobs = g_strconcat(some, "  y: {exec: /b, after: z}\n  x: {exec: /b, after: z}\n",
                           "  w: {exec: /b, after: [x, y]}\n", NULL);
        links = limit(jobs, NULL, &told);
        cr_expect_str_eq(told, "", "%s", told);
        cr_expect(is_there(links, "x>w"));
        cr_expect(is_there(links, "y>w"));
}

/* Many to one place, and that to many: none is too many by itself. */
Test(job_ways, many_at_once) {
        g_autoptr(GString) text = g_string_new("  a: {exec: /b}\n  t: {exec: /b, after: [m00");
        g_autofree char *told = NULL, *links = NULL;

        for (unsigned i = 1; i < 64; i++)
                g_string_append_printf(text, ", m%02u", i);
        g_string_append(text, "]}\n");
        for (unsigned i = 0; i < 64; i++)
                g_string_append_printf(text, "  m%02u: {exec: /b, after: a}\n", i);
        links = limit(text->str, NULL, &told);
        cr_expect_str_eq(told, "", "%s", told);
        cr_expect(is_there(links, "m63>t"));
        g_string_append(text, "  u: {exec: /b, after: [t, m00]}\n");
        g_free(links);
        g_free(told);
        links = limit(text->str, NULL, &told);
        cr_expect_eq(lines_of(told), 1U, "%s", told);
        cr_expect(is_there(links, "t>u"));
        cr_expect_not(is_there(links, "m00>u"));
}

/* A new link does not take the place of one that was in force. */
Test(job_ways, what_was_there_before_stays) {
        g_autofree char *jobs = diamonds(7, "", ""), *told = NULL, *links = NULL,
                        *before = g_strconcat("  b6: {exec: /b}\n  c6: {exec: /b}\n",
                                              "  s7: {exec: /b, after: c6}\n", NULL);

        links = limit(jobs, before, &told);
        cr_expect(is_there(links, "c6>s7"));
        cr_expect_not(is_there(links, "b6>s7"));
        cr_expect_not_null(strstr(told, "\"s7\" does not run after \"b6\""), "%s", told);
}

/* A hook is a way, and stays; what follows behind it does not. */
Test(job_ways, what_is_run_when_one_fails_counts) {
        g_autofree char *begin = diamonds(6, "", ""), *jobs = NULL, *told = NULL, *links = NULL;

        jobs = g_strconcat(begin, "  h: {exec: /b}\n  x: {exec: /b, after: s6, on-failure: h}\n",
                           "  y: {exec: /b, after: s6, on-failure: h}\n",
                           "  i: {exec: /b, after: h}\n", NULL);
        links = limit(jobs, NULL, &told);
        cr_expect_eq(lines_of(told), 1U, "%s", told);
        cr_expect_not_null(strstr(told, "\"i\" does not run after \"h\""), "%s", told);
        cr_expect_not(is_there(links, "h>i"));
}

/* It is looked for at each load, in which the daemon does nothing else. */
Test(job_ways, many_jobs_take_no_time) {
        g_autofree char *jobs = diamonds(1000, "", "");
        _cleanup_(job_file_freep) JobFile *file = parse(jobs);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autoptr(GHashTable) after = linked_jobs_index(file->jobs, NULL, diagnostics);
        usec_t began = work_time();

        job_ways_limit(file->jobs, after, NULL, diagnostics);
        cr_expect_lt(work_time() - began, USEC_PER_SEC);
        cr_expect_gt(diagnostics_count(diagnostics), 0);
}

#define BEGINNINGS 4000
#define BEHIND 1000
#define LINKS_EACH 10

static void add_layer(GString *text, char letter, unsigned step, char of, unsigned n) {
        for (unsigned i = 0; i < BEHIND; i++) {
                g_string_append_printf(text, "  %c%u: {exec: /b, after: [", letter, i);
                for (unsigned j = 0; j < LINKS_EACH; j++)
                        g_string_append_printf(text, "%s%c%u", j > 0 ? ", " : "", of,
                                               (i + j * step) % n);
                g_string_append(text, "]}\n");
        }
}

/* All beginnings together come to each of the last more often than one may. */
Test(job_ways, many_beginnings_take_no_time) {
        g_autoptr(GString) jobs = g_string_new(NULL);
        _cleanup_(job_file_freep) JobFile *file = NULL;
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autoptr(GHashTable) after = NULL;
        usec_t began;

        for (unsigned i = 0; i < BEGINNINGS; i++)
                g_string_append_printf(jobs, "  a%u: {exec: /b}\n", i);
        add_layer(jobs, 'b', 61, 'a', BEGINNINGS);
        add_layer(jobs, 'c', 41, 'b', BEHIND);
        file = parse(jobs->str);
        after = linked_jobs_index(file->jobs, NULL, diagnostics);
        began = work_time();
        job_ways_limit(file->jobs, after, NULL, diagnostics);
        cr_expect_lt(work_time() - began, USEC_PER_SEC);
        cr_expect_eq(diagnostics_count(diagnostics), 0);
}
