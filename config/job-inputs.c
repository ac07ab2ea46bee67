/* See job-inputs.h.
 *
 * The service manager writes names and paths into a file of its own, and reads that again at each
 * daemon-reload: what would be something else there is refused, although a bus call has room for
 * it. A value that is no path may be a secret that somebody has put into the wrong place, so it is
 * not repeated in messages, which the journal keeps. */
#include "job-inputs.h"

#include <limits.h>
#include <string.h>

#include "job.h"

/* Of systemd's credential_name_valid(). */
#define CREDENTIAL_NAME_MAX 255

/* Return: what is wrong with the name, as a sentence fragment; or NULL. */
static const char *credential_name_fault(const char *name) {
        if (!*name)
                return "must have a name";
        if (strlen(name) > CREDENTIAL_NAME_MAX)
                return "has a name of more than 255 bytes";
        if (g_str_equal(name, ".") || g_str_equal(name, ".."))
                return "has a name that no file can have";
        for (; *name; name++)
                if (!g_ascii_isgraph(*name) || strchr(":/\\", *name))
                        return "may only have printable ASCII characters in its name, and no "
                               "space, ':', '/' or '\\'";
        return NULL;
}

/* Return: newly allocated, the absolute path without what says nothing in it. */
static char *normalised_path(const char *path) {
        g_autofree char *canonical = g_canonicalize_filename(path, "/");

        /* POSIX leaves to the system what two slashes mean at the beginning; here they mean one. */
        return g_strdup(canonical + (g_str_has_prefix(canonical, "//") ? 1 : 0));
}

/* Return: newly allocated, what is wrong with an absolute path, as a sentence; or NULL. */
static char *input_path_fault(const char *path) {
        g_autofree char *normalised = normalised_path(path);
        const char *control = line_fault(path);

        if (strlen(path) >= PATH_MAX)
                return g_strdup("the path is too long");
        if (control)
                return g_strconcat("the path ", control, NULL);
        if (strchr(path, '\\') || g_str_has_suffix(path, " "))
                return g_strdup(
                    "the path may not have a backslash in it or a space at its end, because "
                    "systemd would read another path: rename the file");
        if (!g_str_equal(path, normalised))
                return g_strdup_printf("the path \"%s\" is not normalised: write %s", path,
                                       normalised);
        return NULL;
}

static int compare_credentials(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds NAME:PATH to `credentials` when it can stand there. */
static void add_credential(GPtrArray *credentials, const YamlPair *pair, Diagnostics *diagnostics) {
        const char *name = pair->key->text, *path = pair->value->text;
        const char *name_fault = credential_name_fault(name);
        g_autofree char *path_fault = *path == '/' ? input_path_fault(path) : NULL;

        if (name_fault)
                diagnostics_add(diagnostics, &pair->key->mark, "credential \"%s\" %s", name,
                                name_fault);
        if (*path != '/')
                diagnostics_add(diagnostics, &pair->value->mark,
                                "credential \"%s\" must be the absolute path of a file: a secret "
                                "does not stand here, but in a file that only root can read",
                                name);
        else if (path_fault)
                diagnostics_add(diagnostics, &pair->value->mark, "credential \"%s\": %s", name,
                                path_fault);
        else if (!name_fault)
                g_ptr_array_add(credentials, g_strconcat(name, ":", path, NULL));
}

void job_take_credentials(const Key *key, const YamlNode *node, void *target,
                          Diagnostics *diagnostics) {
        GPtrArray *credentials = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        JobSpec *spec = target;

        for (guint i = 0; i < node->items->len; i++)
                add_credential(credentials, node->items->pdata[i], diagnostics);
        if (node->items->len > JOB_CREDENTIALS_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, JOB_CREDENTIALS_MAX);
        g_ptr_array_sort(credentials, compare_credentials);
        g_strfreev(spec->command.credentials);
        spec->command.credentials = (char **)g_ptr_array_free(credentials, FALSE);
}

/* Adds the path, with its "-" if it has one, to `files` when it can stand there. */
static void add_environment_file(GPtrArray *files, const YamlNode *node, Diagnostics *diagnostics) {
        const char *path = node->text + (*node->text == '-' ? 1 : 0);
        g_autofree char *fault = *path == '/' ? input_path_fault(path) : NULL;

        if (*path != '/')
                diagnostics_add(diagnostics, &node->mark,
                                "an environment file must be an absolute path, with a \"-\" before "
                                "it if it may be missing; variables themselves stand in "
                                "\"environment\"");
        else if (fault)
                diagnostics_add(diagnostics, &node->mark, "environment file: %s", fault);
        else
                g_ptr_array_add(files, g_strdup(node->text));
}

void job_take_environment_files(const Key *key, const YamlNode *node, void *target,
                                Diagnostics *diagnostics) {
        GPtrArray *files = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        JobSpec *spec = target;

        if (node->type == YAML_SCALAR)
                add_environment_file(files, node, diagnostics);
        for (guint i = 0; node->type == YAML_LIST && i < node->items->len; i++)
                add_environment_file(files, node->items->pdata[i], diagnostics);
        if (files->len > JOB_ENVIRONMENT_FILES_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, JOB_ENVIRONMENT_FILES_MAX);
        g_strfreev(spec->command.environment_files);
        spec->command.environment_files = (char **)g_ptr_array_free(files, FALSE);
}
