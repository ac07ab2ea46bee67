/* See rubbish.h. */
#include "rubbish.h"

#include "temporary-tree.h"

#define LENGTH (100L * 1024 * 1024)
#define OTHER 65534

const char *rubbish_word(Rubbish kind) {
        static const char *const words[RUBBISH_KINDS] = {"empty",  "binary", "newlines", "types",
                                                         "array",  "length", "dir",      "fifo",
                                                         "socket", "link",   "dangling", "others"};

        return words[kind];
}

static void rubbish_text(const char *path, const char *text, gssize size) {
        cr_assert(g_file_set_contents(path, text, size, NULL));
}

static void rubbish_directory(const char *path) {
        g_autofree char *inside = g_build_filename(path, "inside", NULL);

        cr_assert_eq(g_mkdir(path, 0755), 0);
        rubbish_text(inside, "", 0);
}

void rubbish_put(const char *root, const char *name, Rubbish kind) {
        g_autofree char *path = tree_path(root, name);
        static const char binary[] = "\0\xff\xfe\x01\x80jobkeeper\0\n\0";

        (void)g_remove(path);
        switch (kind) {
        case RUBBISH_EMPTY:
                rubbish_text(path, "", 0);
                break;
        case RUBBISH_BINARY:
                rubbish_text(path, binary, sizeof binary);
                break;
        case RUBBISH_NEWLINES:
                rubbish_text(path, "\n\n\n\n\n\n\n\n\n\n\n\n", -1);
                break;
        case RUBBISH_TYPES:
                rubbish_text(path,
                             "{\"locks\":7,\"swept\":{},\"a\":[],\"id\":{},\"paths\":\"/x\","
                             "\"directories\":[1],\"token\":\"\",\"pid\":-1e99}",
                             -1);
                break;
        case RUBBISH_ARRAY:
                rubbish_text(path, "[[[]],null,1e400]", -1);
                break;
        case RUBBISH_LENGTH:
                rubbish_text(path, "{", -1);
                cr_assert_eq(truncate(path, LENGTH), 0);
                break;
        case RUBBISH_DIRECTORY:
                rubbish_directory(path);
                break;
        case RUBBISH_FIFO:
                cr_assert_eq(mkfifo(path, 0600), 0);
                break;
        case RUBBISH_SOCKET:
                cr_assert_eq(mknod(path, S_IFSOCK | 0600, 0), 0);
                break;
        case RUBBISH_LINK:
                tree_link(root, name, "/etc/passwd");
                break;
        case RUBBISH_DANGLING:
                tree_link(root, name, "/nonexistent/name");
                break;
        case RUBBISH_OTHERS:
                rubbish_text(path, "yes\n", -1);
                cr_assert(geteuid() != 0 || chown(path, OTHER, OTHER) == 0);
                break;
        case RUBBISH_KINDS:
                break;
        }
}
