/* What the package installs for people to begin with must be right: the example jobs load, and the
 * default configuration says, in its comments, what the defaults are. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glob.h>

#include "daemon-file.h"
#include "jobset.h"

#define MANUALS PROJECT_SOURCE_ROOT "/packaging/man/"

static void read_file(const char *path, char **ret_text, gsize *ret_size) {
        g_autoptr(GError) error = NULL;

        cr_assert(g_file_get_contents(path, ret_text, ret_size, &error), "%s",
                  error ? error->message : path);
}

static void assert_no_errors(const Diagnostics *diagnostics) {
        g_auto(GStrv) errors = diagnostics_to_strv(diagnostics);
        g_autofree char *text = g_strjoinv("\n", errors);

        cr_assert_eq(diagnostics_count(diagnostics), 0, "%s", text);
}

static DaemonConfig *parse_config(const char *text, size_t size) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        DaemonConfig *config = NULL;

        (void)daemon_config_parse("jobkeeper.yaml", text, size, diagnostics, &config);
        assert_no_errors(diagnostics);
        return config;
}

static void assert_jobs_are_accepted(const char *where, const char *text, gsize size,
                                     const DaemonConfig *config) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;

        (void)job_file_parse(where, text, size, diagnostics, &file);
        jobset_check_file(file, config, diagnostics);
        assert_no_errors(diagnostics);
        cr_assert(file->good && file->jobs->len > 0);
}

static void assert_job_file_is_accepted(const char *path, const DaemonConfig *config) {
        g_autofree char *text = NULL;
        gsize size;

        read_file(path, &text, &size);
        assert_jobs_are_accepted(path, text, size, config);
}

Test(examples, jobs_are_accepted) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = parse_config("", 0);
        glob_t found = {0};

        (void)glob(PROJECT_SOURCE_ROOT "/packaging/examples/*.yaml", 0, NULL, &found);
        cr_assert_geq(found.gl_pathc, 5);
        for (size_t i = 0; i < found.gl_pathc; i++)
                assert_job_file_is_accepted(found.gl_pathv[i], config);
        globfree(&found);
}

/* As whoever copies all of them has them. */
Test(examples, jobs_are_accepted_together) {
        static const char *const directories[] = {PROJECT_SOURCE_ROOT "/packaging/examples", NULL};
        _cleanup_(daemon_config_freep) DaemonConfig *config = parse_config("", 0);
        _cleanup_(jobset_freep) JobSet *set = jobset_new();

        cr_expect_geq(jobset_load(set, directories, config), 0);
        cr_expect_null(jobset_errors(set)[0], "%s", jobset_errors(set)[0]);
        cr_expect_geq(jobset_size(set), 15);
}

/* Return: how many job files there are among what the page shows. */
static unsigned assert_page_is_accepted(const char *path, const DaemonConfig *config) {
        g_autofree char *text = NULL;
        g_auto(GStrv) parts = NULL;
        unsigned n = 0;
        gsize size;

        read_file(path, &text, &size);
        parts = g_strsplit(text, "\n```\n", -1);
        for (guint i = 1; parts[0] && i < g_strv_length(parts); i += 2) {
                if (!g_str_has_prefix(parts[i], "jobs:\n") &&
                    !g_str_has_prefix(parts[i], "defaults:\n"))
                        continue;
                assert_jobs_are_accepted(path, parts[i], strlen(parts[i]), config);
                n++;
        }
        return n;
}

Test(examples, what_the_manuals_show_is_accepted) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = parse_config("", 0);

        cr_expect_geq(assert_page_is_accepted(MANUALS "jobkeeper-examples.7.scd", config), 13U);
        cr_expect_geq(assert_page_is_accepted(MANUALS "jobkeeper-jobs.5.scd", config), 3U);
}

Test(examples, default_configuration_is_accepted_as_it_is) {
        g_autofree char *text = NULL;
        gsize size;

        read_file(PROJECT_SOURCE_ROOT "/packaging/jobkeeper.yaml", &text, &size);
        {
                _cleanup_(daemon_config_freep) DaemonConfig *config = parse_config(text, size);

                cr_assert_str_eq(config->servers, "127.0.0.1:2181");
        }
}

/* Takes the '#' off the lines with keys: prose has exactly one space after it. */
static GString *uncomment(const char *text) {
        GString *result = g_string_new(NULL);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; *line; line++) {
                bool prose = (*line)[0] == '#' && (*line)[1] == ' ' && (*line)[2] != ' ';

                if (!prose)
                        g_string_append_printf(result, "%s\n", *line + ((*line)[0] == '#'));
        }
        return result;
}

Test(examples, default_configuration_names_the_defaults) {
        _cleanup_(daemon_config_freep) DaemonConfig *defaults = parse_config("", 0);
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;
        g_autofree char *text = NULL;
        g_autoptr(GString) bare = NULL;
        gsize size;

        read_file(PROJECT_SOURCE_ROOT "/packaging/jobkeeper.yaml", &text, &size);
        bare = uncomment(text);
        config = parse_config(bare->str, bare->len);
        cr_assert_str_eq(config->servers, defaults->servers);
        cr_assert_str_eq(config->root, defaults->root);
        cr_assert_eq(config->session_timeout, defaults->session_timeout);
        cr_assert_eq(config->tick_time, defaults->tick_time);
        cr_assert_eq(config->sync_limit, defaults->sync_limit);
        cr_assert_str_eq(config->node_name, "web1"); /* has no default that a file could name */
        cr_assert_str_eq(g_hash_table_lookup(config->labels, "role"), "web");
        cr_assert_eq(config->heartbeat, defaults->heartbeat);
        cr_assert_eq(config->fence_budget, defaults->fence_budget);
        cr_assert_eq(config->kill_slack, defaults->kill_slack);
        cr_assert_eq(config->takeover_delay, defaults->takeover_delay);
        cr_assert_eq(config->max_skew, defaults->max_skew);
        cr_assert_eq(config->max_runs, defaults->max_runs);
}
