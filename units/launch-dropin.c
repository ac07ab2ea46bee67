/* See launch-dropin.h. */
#include "launch-dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "state-file.h"
#include "unit-settings.h"

#define DROPIN_NAME "50-jobkeeper-launch.conf"
/* What is being removed; PID 1 has no meaning for it. */
#define DROPIN_ASIDE ".jobkeeper-removed"
#define DROPIN_NONCE "# of "
/* No run has such a unit. */
#define DROPIN_OF_NOBODY "jobkeeper-.launch-try.service"
/* As much as a run needs, and some more: its drop-in, what PID 1 writes of its unit, its notes. */
#define DROPIN_ROOM 32768
#define DROPIN_BYTES_MAX ((size_t)64 * 1024)

char *launch_dropin_directory(const char *root, const char *unit) {
        g_autofree char *name = g_strconcat(unit, ".d", NULL);

        return g_build_filename(root, name, NULL);
}

/* Return: whether it is a word of its own in a unit's file, in which nothing is expanded. */
static bool dropin_word_is_plain(const char *word) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789/._:@-";

        return *word && word[strspn(word, plain)] == '\0';
}

static int dropin_add_word(GString *line, const char *word) {
        if (!dropin_word_is_plain(word))
                return -EINVAL;
        g_string_append_printf(line, " %s", word);
        return 0;
}

/* Return: 0 or -EINVAL. `more`: NULL-terminated. */
static int dropin_add_step(GString *text, const char *key, const char *verb, const char *directory,
                           const UnitSpec *spec, const char *const *more) {
        int r;

        if (!dropin_word_is_plain(spec->launch[0]))
                return -EINVAL;
        g_string_append_printf(text, "%s%s %s", key, spec->launch[0], verb);
        r = dropin_add_word(text, directory);
        if (r >= 0)
                r = dropin_add_word(text, spec->nonce);
        for (; r >= 0 && *more; more++)
                r = dropin_add_word(text, *more);
        (void)g_string_append_c(text, '\n');
        return r;
}

/* The command is not executed where the first step fails; nothing depends on the others. Return: 0
 * or -EINVAL. */
static int dropin_add_steps(GString *text, const char *directory, const UnitSpec *spec) {
        static const char *const none[] = {NULL};
        int r = dropin_add_step(text, "ExecStartPre=+", "start", directory, spec, spec->launch + 1);

        /* PID 1 would run it while the command lives, too: that is no good end. */
        if (r >= 0 && spec->ready == UNIT_READY_AT_END)
                r = dropin_add_step(text, "ExecStop=-+", "stopping", directory, spec, none);
        if (r >= 0)
                r = dropin_add_step(text, "ExecStopPost=-+", "result", directory, spec, none);
        return r;
}

/* What is ours comes last: it wins. Return: 0 or -EINVAL. */
static int dropin_compose(const char *directory, const UnitSpec *spec, GString *text) {
        int r;

        g_string_printf(text, DROPIN_NONCE "%s\n", spec->nonce);
        r = unit_settings_append(text, spec);
        return r < 0 || !spec->launch ? r : dropin_add_steps(text, directory, spec);
}

/* PID 1 looks for new directories only where the time of this one has changed, which the kernel may
 * tell in steps of some milliseconds: a second directory within one would not be seen. */
static int dropin_touch_root(const char *root) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

        if (clock_gettime(CLOCK_REALTIME, &times[1]) < 0 || utimensat(AT_FDCWD, root, times, 0) < 0)
                return -errno;
        return 0;
}

static int dropin_errno(const GError *error) {
        static const int codes[] = {EACCES, EISDIR, ENOENT, ENOSPC, ENOTDIR, EROFS, EMFILE};

        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                if (g_error_matches(error, G_FILE_ERROR, (int)g_file_error_from_errno(codes[i])))
                        return -codes[i];
        return -EIO;
}

static bool dropin_is_directory(const char *path) {
        struct stat st;

        return lstat(path, &st) >= 0 && S_ISDIR(st.st_mode);
}

/* What is none is nobody's: PID 1 reads nothing from it, and a link would have us write, and later
 * delete, somewhere else. */
static int dropin_make_directory(const char *directory) {
        int r;

        if (g_mkdir(directory, 0755) >= 0)
                return 0;
        if (errno != EEXIST)
                return -errno;
        if (dropin_is_directory(directory))
                return 0;
        r = state_file_set_aside(directory);
        return r < 0 || g_mkdir(directory, 0755) >= 0 ? r : -errno;
}

int launch_dropin_write(const char *root, const UnitSpec *spec) {
        g_autofree char *directory = launch_dropin_directory(root, spec->name),
                        *path = g_build_filename(directory, DROPIN_NAME, NULL);
        g_autoptr(GError) error = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        int r;

        if (!spec->launch && unit_settings_are_none(spec))
                return 0;
        r = dropin_compose(directory, spec, text);
        if (r < 0)
                return r;
        r = dropin_make_directory(directory);
        if (r < 0)
                return r;
        if (!g_file_set_contents_full(path, text->str, (gssize)text->len,
                                      G_FILE_SET_CONTENTS_CONSISTENT, 0644, &error)) {
                (void)g_rmdir(directory);
                return dropin_errno(error);
        }
        /* Whatever our umask is: PID 1 warns of a unit's file that not everybody may read. */
        if (g_chmod(directory, 0755) < 0 || g_chmod(path, 0644) < 0)
                return -errno;
        return dropin_touch_root(root);
}

bool launch_dropin_is_of(const char *root, const char *unit, const char *nonce) {
        g_autofree char *directory = launch_dropin_directory(root, unit),
                        *path = g_build_filename(directory, DROPIN_NAME, NULL),
                        *wanted = g_strconcat(DROPIN_NONCE, nonce, "\n", NULL), *text = NULL;

        return state_file_read(path, DROPIN_BYTES_MAX, &text, NULL) >= 0 &&
               g_str_has_prefix(text, wanted);
}

/* Return: whether a file in such a directory is one of the launch step's. */
static bool dropin_owns(const char *name) {
        static const char *const kinds[] = {".started", ".ended", ".result", ".result-new"};

        if (g_str_has_prefix(name, DROPIN_NAME))
                return true;
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (g_str_has_suffix(name, kinds[i]))
                        return true;
        return false;
}

static void dropin_empty(const char *directory) {
        GDir *dir = g_dir_open(directory, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(directory, name, NULL);

                if (dropin_owns(name))
                        (void)g_unlink(path);
        }
        g_clear_pointer(&dir, g_dir_close);
}

/* The directory goes at once: while PID 1 has the unit, its steps may be executed just now, and a
 * marker that is gone would let it begin again. */
void launch_dropin_remove(const char *root, const char *unit) {
        g_autofree char *directory = launch_dropin_directory(root, unit),
                        *aside = g_strconcat(root, "/", unit, DROPIN_ASIDE, NULL);

        if (dropin_is_directory(aside)) { /* of a process that ended in the midst of it */
                dropin_empty(aside);
                (void)g_rmdir(aside);
        }
        if (!dropin_is_directory(directory) || rename(directory, aside) < 0)
                return;
        dropin_empty(aside);
        if (g_rmdir(aside) < 0)
                (void)rename(aside, directory); /* somebody else has something there */
}

int launch_dropin_try(const char *root) {
        g_autofree char *room = g_strnfill(DROPIN_ROOM, 'x');
        const char *const words[] = {room, NULL};
        const UnitSpec nobody = {.name = DROPIN_OF_NOBODY, .nonce = "none", .launch = words};
        int r = launch_dropin_write(root, &nobody);

        if (r >= 0)
                launch_dropin_remove(root, nobody.name);
        return r;
}

/* Return: newly allocated: the unit of which that is the directory; NULL: of none. */
static char *dropin_unit_of(const char *root, const char *name) {
        g_autofree char *path = NULL;

        if (!g_str_has_prefix(name, "jobkeeper-")) /* as all units of runs */
                return NULL;
        path = g_build_filename(root, name, DROPIN_NAME, NULL);
        if (g_str_has_suffix(name, ".service" DROPIN_ASIDE))
                return g_strndup(name, strlen(name) - strlen(DROPIN_ASIDE));
        return g_str_has_suffix(name, ".service.d") && g_file_test(path, G_FILE_TEST_EXISTS)
                   ? g_strndup(name, strlen(name) - strlen(".d"))
                   : NULL;
}

char **launch_dropin_list(const char *root) {
        GPtrArray *units = g_ptr_array_new();
        GDir *dir = g_dir_open(root, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                char *unit = dropin_unit_of(root, name);

                if (unit)
                        g_ptr_array_add(units, unit);
        }
        g_clear_pointer(&dir, g_dir_close);
        g_ptr_array_add(units, NULL);
        return (char **)g_ptr_array_free(units, FALSE);
}
