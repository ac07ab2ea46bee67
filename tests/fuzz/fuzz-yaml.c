/* The loader against anything: job files, and the daemon's configuration. Whatever the bytes are,
 * it answers with errors or with jobs that keep what their type promises. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "daemon-file.h"
#include "job-files.h"
#include "name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_job(const JobSpec *spec) {
        g_autofree char *digest = job_spec_digest(spec, NULL);

        g_assert(name_is_valid(spec->name));
        g_assert(spec->command.argv && spec->command.argv[0] && spec->command.argv[0][0] == '/');
        g_assert(spec->command.environment && spec->timezone);
        g_assert(spec->resources->len <= JOB_RESOURCES_MAX);
        g_assert(spec->books.history >= 1 && spec->books.history <= JOB_HISTORY_MAX);
        g_assert(strlen(digest) == 64);
        (void)job_spec_matches_node(spec, "node-1", NULL);
}

static void try_job_file(const char *text, size_t size) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_auto(GStrv) lines = NULL;
        JobFile *file = NULL;

        g_assert(job_file_parse("fuzz.yaml", text, size, diagnostics, &file) == 0);
        g_assert(file->good == (diagnostics_count(diagnostics) == 0));
        g_assert(file->good || file->jobs->len == 0);
        for (guint i = 0; i < file->jobs->len; i++)
                check_job(file->jobs->pdata[i]);
        lines = diagnostics_to_strv(diagnostics);
        for (char **line = lines; *line; line++)
                g_assert(g_utf8_validate(*line, -1, NULL) && !strchr(*line, '\n'));
        (void)job_file_free(file);
}

static void try_daemon_config(const char *text, size_t size) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        DaemonConfig *config = NULL;
        int r = daemon_config_parse("fuzz.yaml", text, size, diagnostics, &config);

        g_assert(r == (diagnostics_count(diagnostics) > 0 ? -EBADMSG : 0));
        g_assert((r == 0) == (config != NULL));
        g_assert(!config || (name_is_valid(config->node_name) && config->root[0] == '/'));
        (void)daemon_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        try_job_file((const char *)data, size);
        try_daemon_config((const char *)data, size);
        return 0;
}
