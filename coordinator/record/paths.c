/* See paths.h. */
#include "paths.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "draw.h"
#include "name.h"
#include "sum.h"

char *path_version(const char *root) {
        return g_strconcat(root, "/version", NULL);
}

char *path_control(const char *root) {
        return g_strconcat(root, "/control", NULL);
}

char *path_ensemble(const char *root) {
        return g_strconcat(root, "/ensemble", NULL);
}

char *path_nodes(const char *root) {
        return g_strconcat(root, "/nodes", NULL);
}

char *path_node(const char *root, const char *node) {
        return g_strconcat(root, "/nodes/", node, NULL);
}

char *path_locks(const char *root) {
        return g_strconcat(root, "/locks", NULL);
}

char *path_jobs(const char *root) {
        return g_strconcat(root, "/jobs", NULL);
}

char *path_job(const char *root, const char *job) {
        return g_strconcat(root, "/jobs/", job, NULL);
}

char *path_runs(const char *root, const char *job) {
        return g_strconcat(root, "/jobs/", job, "/runs", NULL);
}

char *path_run(const char *root, const char *job, const char *run) {
        return g_strconcat(root, "/jobs/", job, "/runs/", run, NULL);
}

char *path_damaged(const char *root, const char *job, const char *run) {
        return g_strconcat(root, "/jobs/", job, "/damaged-", run, NULL);
}

char *path_open(const char *root) {
        return g_strconcat(root, "/open", NULL);
}

char *path_open_node(const char *root, const char *node) {
        return g_strconcat(root, "/open/", node, NULL);
}

char *path_open_run(const char *root, const char *node, const char *job, const char *run) {
        return g_strconcat(root, "/open/", node, "/", job, ":", run, NULL);
}

char *path_sessions(const char *root) {
        return g_strconcat(root, "/sessions", NULL);
}

char *path_session(const char *root, const char *node, int64_t session) {
        return g_strdup_printf("%s/sessions/%s-0x%016" G_GINT64_MODIFIER "x", root, node,
                               (guint64)session);
}

char *path_meetings(const char *root) {
        return g_strconcat(root, "/meetings", NULL);
}

char *path_meeting(const char *root, const char *job) {
        return g_strconcat(root, "/meetings/", job, NULL);
}

char *path_rolls(const char *root) {
        return g_strconcat(root, "/rolls", NULL);
}

char *path_roll(const char *root, const char *job) {
        g_autofree char *base = job_name_base(job);

        return g_strconcat(root, "/rolls/", base, NULL);
}

char *path_requests(const char *root) {
        return g_strconcat(root, "/requests", NULL);
}

char *path_request(const char *root, const char *id) {
        return g_strconcat(root, "/requests/", id, NULL);
}

int open_name_split(const char *name, char **ret_job, char **ret_run) {
        g_auto(GStrv) parts = g_strsplit(name, ":", 2);

        if (!parts[0] || !parts[1] || !job_name_is_valid(parts[0]) || !run_id_is_valid(parts[1]))
                return -EINVAL;
        *ret_job = g_strdup(parts[0]);
        *ret_run = g_strdup(parts[1]);
        return 0;
}

/* Return: whether it is "EPOCH-" and something; *ret_rest is that, borrowed. */
static bool run_id_split(const char *id, const char **ret_rest) {
        size_t epoch = id && name_is_valid(id) ? strspn(id, "0123456789") : 0;

        if (epoch == 0 || id[epoch] != '-' || !id[epoch + 1])
                return false;
        *ret_rest = id + epoch + 1;
        return true;
}

static bool run_id_is_drawn(const char *id, char kind) {
        const char *rest;

        return run_id_split(id, &rest) && *rest == kind && rest[1] &&
               strspn(rest + 1, "0123456789abcdef") == strlen(rest + 1);
}

bool run_id_is_of_request(const char *id) {
        return run_id_is_drawn(id, 'm');
}

bool request_id_is_valid(const char *id) {
        return run_id_is_drawn(id, 'r');
}

bool stop_id_is_valid(const char *id) {
        return run_id_is_drawn(id, 's');
}

bool ask_id_is_valid(const char *id) {
        return run_id_is_drawn(id, 'a');
}

bool run_id_is_valid(const char *id) {
        const char *rest;

        return run_id_is_of_request(id) ||
               (run_id_split(id, &rest) && strspn(rest, "0123456789") == strlen(rest));
}

unsigned run_id_attempt(const char *run) {
        const char *dash = strrchr(run, '-');

        return dash && g_ascii_isdigit(dash[1]) ? (unsigned)g_ascii_strtoull(dash + 1, NULL, 10)
                                                : 1;
}

int64_t run_id_tick(const char *run) {
        return run_id_is_of_request(run) ? 0 : g_ascii_strtoll(run, NULL, 10);
}

char *run_id_for_tick(int64_t tick, unsigned attempt) {
        return g_strdup_printf("%" PRId64 "-%u", tick, attempt);
}

char *run_id_for_skip(int64_t tick) {
        return run_id_for_tick(tick, 0);
}

/* Numbers without an end: the longer one is the greater. */
static int run_id_compare_numbers(const char *a, size_t a_digits, const char *b, size_t b_digits) {
        for (; a_digits > 0 && *a == '0'; a_digits--)
                a++;
        for (; b_digits > 0 && *b == '0'; b_digits--)
                b++;
        if (a_digits != b_digits)
                return a_digits < b_digits ? -1 : 1;
        return strncmp(a, b, a_digits);
}

int run_id_compare(const char *a, const char *b) {
        size_t a_digits = strspn(a, "0123456789"), b_digits = strspn(b, "0123456789");
        int order = run_id_compare_numbers(a, a_digits, b, b_digits);
        const char *a_rest, *b_rest;

        if (!run_id_is_valid(a) || !run_id_is_valid(b))
                return strcmp(a, b);
        a_rest = a + a_digits + 1;
        b_rest = b + b_digits + 1;
        if (order != 0 || *a_rest == 'm' || *b_rest == 'm')
                return order ? order : strcmp(a_rest, b_rest);
        if (strcmp(a_rest, "0") == 0 || strcmp(b_rest, "0") == 0)
                return strcmp(b_rest, a_rest);
        return run_id_compare_numbers(a_rest, strlen(a_rest), b_rest, strlen(b_rest));
}

char *run_id_for_request(int64_t now) {
        return g_strdup_printf("%" PRId64 "-m%08x", now, draw_bits());
}

char *request_id_new(int64_t now) {
        return g_strdup_printf("%" PRId64 "-r%08x", now, draw_bits());
}

char *stop_id_new(int64_t now) {
        return g_strdup_printf("%" PRId64 "-s%08x", now, draw_bits());
}

/* Its second is that of the run that has ended. */
static char *ask_id_of_kind(const char *parent, const char *run, const char *job, char kind) {
        g_autofree char *text = g_strdup_printf("%s:%s:%s", parent, run, job);

        return g_strdup_printf("%.*s-%c%016" PRIx64, (int)strspn(run, "0123456789"), run, kind,
                               text_sum(text, strlen(text)));
}

char *ask_id(const char *parent, const char *run, const char *job) {
        return ask_id_of_kind(parent, run, job, 'a');
}

char *run_id_for_ask(const char *parent, const char *run, const char *job) {
        return ask_id_of_kind(parent, run, job, 'm');
}

/* No job has the empty name, so that no end of one run alone asks by the same. */
static char *ask_id_for_all_of_kind(int64_t tick, const char *job, char kind) {
        g_autofree char *text = g_strdup_printf("%" PRId64, tick);

        return ask_id_of_kind("", text, job, kind);
}

char *ask_id_for_all(int64_t tick, const char *job) {
        return ask_id_for_all_of_kind(tick, job, 'a');
}

char *run_id_for_ask_of_all(int64_t tick, const char *job) {
        return ask_id_for_all_of_kind(tick, job, 'm');
}

char *unit_name_for_run(const char *job, const char *run) {
        return g_strdup_printf("jobkeeper-%s-%s.service", job, run);
}

char *open_name_of_unit(const char *unit) {
        g_autofree char *name = NULL;
        char *run;

        if (!g_str_has_prefix(unit, "jobkeeper-") || !g_str_has_suffix(unit, ".service"))
                return NULL;
        name = g_strndup(unit + strlen("jobkeeper-"),
                         strlen(unit) - strlen("jobkeeper-") - strlen(".service"));
        run = strrchr(name, '-'); /* TICK-ATTEMPT: the job's name may have dashes, too */
        run = run ? g_strrstr_len(name, run - name, "-") : NULL;
        if (!run)
                return NULL;
        *run++ = '\0';
        return job_name_is_valid(name) && run_id_is_valid(run) ? g_strconcat(name, ":", run, NULL)
                                                               : NULL;
}

bool unit_name_is_of_job(const char *unit, const char *job) {
        g_autofree char *prefix = g_strdup_printf("jobkeeper-%s-", job);
        const char *run = g_str_has_prefix(unit, prefix) ? unit + strlen(prefix) : "";
        const char *dash =
            strchr(run, '-'); /* TICK-ATTEMPT: one, and the job's name may have more */

        return dash && !strchr(dash + 1, '-') && g_str_has_suffix(run, ".service");
}

char *resource_of_job(const char *job) {
        return g_strconcat(NAME_OF_JOB_LOCK_PREFIX, job, NULL);
}
