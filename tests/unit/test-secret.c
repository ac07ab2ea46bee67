/* The secret for ZooKeeper: where it is looked for, what is refused, and that no message has it. */
#include "temporary-tree.h"

#include <errno.h>
#include <sys/prctl.h>

#include "lock-resource.h"
#include "secret.h"

static char *root, *path;

static void setup(void) {
        root = tree_make();
        path = tree_path(root, SECRET_CREDENTIAL);
}

static void teardown(void) {
        g_free(path);
        tree_remove(root);
        g_free(root);
}

TestSuite(secret, .init = setup, .fini = teardown);

static void write_secret(const char *text, gssize length) {
        cr_assert(g_file_set_contents(path, text, length, NULL));
        cr_assert_eq(chmod(path, 0400), 0);
}

/* Expects this secret, or (NULL) this fault after the path. */
static void expect_secret(const char *text, gssize length, const char *secret, const char *fault) {
        _cleanup_(secret_freep) char *got = NULL;
        g_autofree char *said = NULL, *wanted = NULL;

        write_secret(text, length);
        wanted = fault ? g_strdup_printf("the secret %s for ZooKeeper %s", path, fault) : NULL;
        cr_expect_eq(secret_read(path, &got, &said), secret ? 0 : -EBADMSG, "%s", text);
        cr_expect_eq(g_strcmp0(got, secret), 0, "%s", text);
        cr_expect_eq(g_strcmp0(said, wanted), 0, "%s: %s", text, said);
}

Test(secret, good) {
        g_autofree char *longest = g_strnfill(SECRET_LENGTH_MAX, 'x');

        longest[4] = ':';
        expect_secret("jobkeeper:hush", -1, "jobkeeper:hush", NULL);
        expect_secret("jobkeeper:hush\n", -1, "jobkeeper:hush", NULL);
        expect_secret("a:b:c d€", -1, "a:b:c d€", NULL);
        expect_secret(longest, -1, longest, NULL);
}

Test(secret, whoever_has_read_it_leaves_no_core_file) {
        cr_assert_eq(prctl(PR_GET_DUMPABLE), 1);
        expect_secret("jobkeeper", -1, NULL, "is not one line of the form USER:PASSWORD");
        cr_expect_eq(prctl(PR_GET_DUMPABLE), 1);
        expect_secret("jobkeeper:hush", -1, "jobkeeper:hush", NULL);
        cr_expect_eq(prctl(PR_GET_DUMPABLE), 0);
}

Test(secret, badly_formed) {
        static const char form[] = "is not one line of the form USER:PASSWORD";
        g_autofree char *long_one = g_strnfill(SECRET_LENGTH_MAX + 1, 'x'),
                        *huge = g_strnfill((gsize)64 * 1024, 'x');

        expect_secret("", -1, NULL, "is empty");
        expect_secret("\n", -1, NULL, "is empty");
        expect_secret("hush", -1, NULL, form);
        expect_secret(":hush", -1, NULL, form);
        expect_secret("jobkeeper:", -1, NULL, form);
        expect_secret("jobkeeper:hush\n\n", -1, NULL, form);
        expect_secret("jobkeeper:hush\r\n", -1, NULL, form);
        expect_secret("# a comment\njobkeeper:hush\n", -1, NULL, form);
        expect_secret("jobkeeper:hu\0sh", 15, NULL, form);
        expect_secret(long_one, -1, NULL, "is longer than 1024 bytes");
        expect_secret(huge, -1, NULL, "is longer than 1024 bytes");
}

Test(secret, in_no_file_for_it) {
        g_autofree char *fault = NULL, *none = g_build_filename(root, "none", NULL);
        char *secret = NULL;

        cr_expect_eq(secret_read(none, &secret, &fault), -ENOENT);
        cr_expect_null(secret);
        cr_expect(strstr(fault, "there is no secret at ") && strstr(fault, none) &&
                      strstr(fault, "put USER:PASSWORD into " SECRET_STORED_PATH),
                  "%s", fault);
        g_clear_pointer(&fault, g_free);
        cr_expect_eq(secret_read(root, &secret, &fault), -EBADMSG);
        cr_expect(g_str_has_suffix(fault, "is not a regular file"), "%s", fault);
}

/* What systemd made a copy of is mended where it comes from. */
Test(secret, of_a_copy_the_original_is_named) {
        g_autofree char *fault = NULL;
        char *secret = NULL;

        write_secret("hush", -1);
        cr_assert_eq(setenv("CREDENTIALS_DIRECTORY", root, 1), 0);
        cr_expect_eq(secret_read(path, &secret, &fault), -EBADMSG);
        cr_expect(g_str_has_suffix(fault, " (systemd's copy of " SECRET_STORED_PATH
                                          ": mend that, and restart jobkeeperd)"),
                  "%s", fault);
}

Test(secret, that_others_can_read) {
        static const mode_t modes[] = {0404, 0402, 0420, 0401, 0666};
        char *secret = NULL;

        write_secret("jobkeeper:hush", -1);
        for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
                g_autofree char *fault = NULL;

                cr_assert_eq(chmod(path, modes[i]), 0);
                cr_expect_eq(secret_read(path, &secret, &fault), -EBADMSG, "%o", modes[i]);
                cr_expect(strstr(fault, "is open to others than its owner"), "%s", fault);
        }
}

Test(secret, only_root_s_file_is_one) {
        struct stat st = {.st_mode = S_IFREG | 0400};

        cr_expect_null(secret_stat_fault(&st));
        st.st_uid = geteuid() + 1;
        cr_expect_str_eq(secret_stat_fault(&st), "belongs to another user: it must be root's");
        st = (struct stat){.st_mode = S_IFREG | 0440};
        cr_expect_null(secret_stat_fault(&st));
        st.st_gid = 4;
        cr_expect(strstr(secret_stat_fault(&st), "is open to others"));
        st = (struct stat){.st_mode = S_IFREG | 0640, .st_gid = 4};
        cr_expect(strstr(secret_stat_fault(&st), "is open to others"));
}

Test(secret, where_the_service_manager_puts_it) {
        g_autofree char *found = NULL;

        g_unsetenv("CREDENTIALS_DIRECTORY");
        cr_expect_null(secret_credential_path());
        g_setenv("CREDENTIALS_DIRECTORY", root, TRUE);
        found = secret_credential_path();
        cr_expect_str_eq(found, path);
}

/* `jobkeeper lock` without a daemon reads it only where the configuration asks for it. */
Test(secret, of_the_command) {
        DaemonConfig config = {.auth = DAEMON_AUTH_NONE};
        g_autofree char *fault = NULL;
        char *secret = NULL;

        g_setenv("CREDENTIALS_DIRECTORY", root, TRUE);
        cr_expect_eq(lock_resource_secret(&config, &secret, &fault), 0);
        cr_expect_null(secret);
        config.auth = DAEMON_AUTH_DIGEST;
        write_secret("jobkeeper:hush\n", -1);
        cr_expect_eq(lock_resource_secret(&config, &secret, NULL), 0);
        cr_expect_str_eq(secret, "jobkeeper:hush");
        secret = secret_free(secret);
}
