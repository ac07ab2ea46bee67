/* `jobkeeper`: the command that people type. This file only finds the subcommand; each has a file
 * pair of its own, cmd-*.c. */
#include <glib.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd-admin.h"
#include "cmd-drain.h"
#include "cmd-explain.h"
#include "cmd-history.h"
#include "cmd-lock.h"
#include "cmd-locks.h"
#include "cmd-next.h"
#include "cmd-pause.h"
#include "cmd-rerun.h"
#include "cmd-resolve.h"
#include "cmd-run.h"
#include "cmd-status.h"
#include "cmd-stop.h"
#include "cmd-verify.h"
#include "command.h"
#include "exit-code.h"

static int cmd_help(int argc, char **argv);

static const Command commands[] = {
    {"status", "Show this node, its session, the members and the jobs", cmd_status},
    {"history", "Show the runs of a job", cmd_history},
    {"run", "Run a job now", cmd_run},
    {"rerun", "Attempt the tick of a run again", cmd_rerun},
    {"stop", "Stop a run", cmd_stop},
    {"resolve", "Say how a run ended whose result is unknown", cmd_resolve},
    {"next", "Show the coming ticks of a job or a calendar expression", cmd_next},
    {"explain", "Say why a tick is run, was run, or is not", cmd_explain},
    {"verify", "Check configuration and job files", cmd_verify},
    {"lock", "Hold a lock around a command", cmd_lock},
    {"locks", "Show who holds locks and who waits for them", cmd_locks},
    {"drain", "Have a node begin no job any more", cmd_drain},
    {"undrain", "Let jobs begin on a node again", cmd_undrain},
    {"pause", "Have nothing of a job, or of all, begin any more", cmd_pause},
    {"resume", "Let a job begin again", cmd_resume},
    {"admin", "Accept a ZooKeeper that was wiped or restored", cmd_admin},
    {"help", "Show a command's options", cmd_help},
    {0},
};

static int unknown_command(const char *typed) {
        const Command *nearest = command_nearest(commands, typed);

        if (nearest)
                fprintf(stderr, "jobkeeper: there is no command \"%s\" (did you mean \"%s\"?)\n",
                        typed, nearest->name);
        else
                fprintf(stderr,
                        "jobkeeper: there is no command \"%s\" (jobkeeper --help lists them)\n",
                        typed);
        return EXIT_CODE_USAGE;
}

static int overview(FILE *out, int code) {
        g_autofree char *text = command_overview(commands);

        fputs(text, out);
        return code;
}

static bool is_common_option(const char *word) {
        return strcmp(word, "--json") == 0 || strcmp(word, "-j") == 0;
}

static int cmd_help(int argc, char **argv) {
        char option[] = "--help";
        char *arguments[] = {argc > 1 ? argv[1] : NULL, option, NULL};
        const Command *command = argc > 1 ? command_find(commands, argv[1]) : NULL;

        if (argc < 2 || (command && command->run == cmd_help) || strcmp(argv[1], option) == 0)
                return overview(stdout, EXIT_CODE_OK);
        return command ? command->run(2, arguments) : unknown_command(argv[1]);
}

/* `jobkeeper --json status` is what some are used to: options that every command may have stand
 * after its name. */
static void options_after_command(int argc, char **argv) {
        int command = 1;

        while (command < argc && is_common_option(argv[command]))
                command++;
        if (command > 1 && command < argc) {
                char *name = argv[command];

                memmove(&argv[2], &argv[1], (size_t)(command - 1) * sizeof(char *));
                argv[1] = name;
        }
}

static int dispatch(int argc, char **argv) {
        const Command *command = NULL;

        if (argc < 2)
                return overview(stderr, EXIT_CODE_USAGE);
        options_after_command(argc, argv);
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
                return overview(stdout, EXIT_CODE_OK);
        if (strcmp(argv[1], "--version") == 0) {
                (void)puts("jobkeeper " JOBKEEPER_VERSION);
                return EXIT_CODE_OK;
        }
        command = command_find(commands, argv[1]);
        return command ? command->run(argc - 1, argv + 1) : unknown_command(argv[1]);
}

int main(int argc, char **argv) {
        int code = 0;

        (void)setlocale(LC_ALL, "");
        code = dispatch(argc, argv);
        /* An answer that was not written was not given. */
        if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_CODE_OK) {
                perror("jobkeeper: cannot write");
                code = EXIT_CODE_FAILED;
        }
        return code;
}
