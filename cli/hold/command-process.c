/* See command-process.h.
 *
 * The child is made by fork, since other threads of ours live in the ZooKeeper client: until it
 * executes the command it only makes system calls. It waits at a gate, a socket, so that it can be
 * moved into its cgroup before it is anything. Whether the execution worked comes back through
 * another pipe, which closes itself when it did.
 *
 * The terminal: a process group of its own would be stopped when it reads from the terminal, so it
 * becomes the foreground group, and Ctrl-C then reaches the command and not us. A command stopped
 * by Ctrl-Z is continued at once: its shell would wait for us, who cannot stop without losing the
 * lock. */
#include "command-process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit-code.h"

struct CommandProcess {
        pid_t pid;  /* and its process group; 0 when there is none */
        int gate;   /* a byte written here lets the child execute its command, its end makes it
                       exit; -1 once it was let go */
        int report; /* tells whether that worked */
        bool ended; /* it is a zombie, which the loop is about to bury */
        bool has_terminal;
        sd_event_source *source;
        CommandProcessFunc func;
        void *userdata;
};

int exit_status_from_child(int code, int status) {
        return code == CLD_EXITED ? status : EXIT_CODE_SIGNAL + status;
}

static gint compare_ints(gconstpointer a, gconstpointer b) {
        const int *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* The descriptors above 2 that are open now. GDir has one open itself meanwhile: that one is closed
 * again afterwards. */
static GArray *open_fds(void) {
        GArray *fds = g_array_new(FALSE, FALSE, sizeof(int));
        GDir *directory = g_dir_open("/proc/self/fd", 0, NULL);
        const char *name = NULL;

        while (directory && (name = g_dir_read_name(directory))) {
                int fd = (int)g_ascii_strtoll(name, NULL, 10);

                if (fd > STDERR_FILENO)
                        g_array_append_val(fds, fd);
        }
        g_clear_pointer(&directory, g_dir_close);
        for (guint i = fds->len; i > 0; i--)
                if (fcntl(g_array_index(fds, int, i - 1), F_GETFD) < 0)
                        g_array_remove_index(fds, i - 1);
        g_array_sort(fds, compare_ints);
        return fds;
}

int inheritance_take(const int *signals, Inheritance *ret) {
        Inheritance taken = {0};
        sigset_t block;

        (void)sigemptyset(&block);
        (void)sigaddset(&block, SIGCHLD);
        (void)sigaddset(&block, SIGTTOU);
        for (const int *signal = signals; *signal; signal++)
                (void)sigaddset(&block, *signal);
        if (sigprocmask(SIG_BLOCK, &block, &taken.mask) < 0)
                return -errno;
        taken.fds = open_fds();
        *ret = taken;
        return 0;
}

void inheritance_done(Inheritance *inheritance) {
        g_clear_pointer(&inheritance->fds, g_array_unref);
}

/* Everything that was not inherited is closed by the execution. */
static void child_keep_only(const GArray *fds) {
        unsigned from = STDERR_FILENO + 1;

        for (guint i = 0; i < fds->len; i++) {
                unsigned fd = (unsigned)g_array_index(fds, int, i);

                if (fd > from)
                        (void)close_range(from, fd - 1, CLOSE_RANGE_CLOEXEC);
                from = fd + 1;
        }
        (void)close_range(from, ~0U, CLOSE_RANGE_CLOEXEC);
}

static bool terminal_is_ours(void) {
        return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Return: whether the child may go on; false when the parent gave up, or died. */
static bool child_wait_at(int gate) {
        char byte = 0;
        ssize_t n = 0;

        do
                n = read(gate, &byte, 1);
        while (n < 0 && errno == EINTR);
        return n == 1;
}

/* The child's part. Nothing here may take a lock or allocate. */
static void child_execute(char *const *argv, char *const *environment,
                          const Inheritance *inheritance, bool terminal, pid_t parent, int gate,
                          int report) {
        int error = 0;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(EXIT_CODE_NOT_HELD); /* it died before the kernel knew our wish */
        (void)setpgid(0, 0);
        if (!child_wait_at(gate))
                _exit(EXIT_CODE_NOT_HELD);
        if (terminal)
                (void)tcsetpgrp(STDIN_FILENO, getpid());
        child_keep_only(inheritance->fds);
        (void)sigprocmask(SIG_SETMASK, &inheritance->mask, NULL);
        (void)execvpe(argv[0], argv, environment);
        error = errno;
        while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
                ;
        _exit(EXIT_CODE_CANNOT_EXECUTE);
}

/* Waits until the child has executed its command. Return: 0, or what kept it from it. */
static int child_report(int report) {
        int error = 0;
        ssize_t n = 0;

        do
                n = read(report, &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        return n == sizeof(error) ? -error : 0;
}

static void command_on_stopped(CommandProcess *process, int signal) {
        bool brought_back = !process->has_terminal && terminal_is_ours();

        if (brought_back) {
                process->has_terminal = true;
                (void)tcsetpgrp(STDIN_FILENO, process->pid);
        }
        if (brought_back || (process->has_terminal && signal == SIGTSTP))
                (void)kill(-process->pid, SIGCONT);
}

static int command_on_child(sd_event_source *source, const siginfo_t *info, void *userdata) {
        CommandProcess *process = userdata;

        if (info->si_code == CLD_STOPPED || info->si_code == CLD_TRAPPED) {
                command_on_stopped(process, info->si_status);
                return sd_event_source_set_enabled(source, SD_EVENT_ON);
        }
        process->ended = true;
        process->func(process, exit_status_from_child(info->si_code, info->si_status),
                      process->userdata);
        return 0;
}

static int command_fork(CommandProcess *process, char *const *argv, char *const *environment,
                        const Inheritance *inheritance) {
        _cleanup_close_ int gate = -1, writer = -1;
        int gate_ends[2], report_ends[2];
        pid_t parent = getpid();

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate_ends) < 0)
                return -errno;
        gate = gate_ends[0];
        process->gate = gate_ends[1];
        if (pipe2(report_ends, O_CLOEXEC) < 0)
                return -errno;
        process->report = report_ends[0];
        writer = report_ends[1];
        process->has_terminal = terminal_is_ours();
        process->pid = fork();
        if (process->pid < 0) {
                process->pid = 0;
                return -errno;
        }
        if (process->pid == 0) {
                (void)close(process->gate); /* or it would never see its end */
                child_execute(argv, environment, inheritance, process->has_terminal, parent, gate,
                              writer);
        }
        return 0;
}

static int command_watch(CommandProcess *process, sd_event *event) {
        int r = sd_event_add_child(event, &process->source, process->pid, WEXITED | WSTOPPED,
                                   command_on_child, process);

        return r < 0 ? r : sd_event_source_set_enabled(process->source, SD_EVENT_ON);
}

int command_process_prepare(char *const *argv, char *const *environment,
                            const Inheritance *inheritance, CommandProcess **ret_process) {
        CommandProcess *process = g_new0(CommandProcess, 1);
        int r = 0;

        process->gate = process->report = -1;
        r = command_fork(process, argv, environment, inheritance);
        if (r < 0) {
                command_process_free(process);
                return r;
        }
        *ret_process = process;
        return 0;
}

pid_t command_process_pid(const CommandProcess *process) {
        return process->pid;
}

int command_process_execute(CommandProcess *process, sd_event *event, CommandProcessFunc func,
                            void *userdata) {
        int r = 0;

        process->func = func;
        process->userdata = userdata;
        /* A child that was killed at the gate is one that has ended, which its source tells. */
        (void)send(process->gate, "", 1, MSG_NOSIGNAL);
        close_fdp(&process->gate);
        r = child_report(process->report);
        close_fdp(&process->report);
        return r < 0 ? r : command_watch(process, event);
}

int command_process_start(sd_event *event, char *const *argv, char *const *environment,
                          const Inheritance *inheritance, CommandProcessFunc func, void *userdata,
                          CommandProcess **ret_process) {
        _cleanup_(command_process_freep) CommandProcess *process = NULL;
        int r = command_process_prepare(argv, environment, inheritance, &process);

        if (r >= 0)
                r = command_process_execute(process, event, func, userdata);
        if (r >= 0)
                *ret_process = g_steal_pointer(&process);
        return r;
}

void command_process_signal(CommandProcess *process, int signal) {
        if (process->pid <= 0)
                return;
        if (kill(-process->pid, signal) < 0 && errno == ESRCH)
                (void)kill(process->pid, signal); /* it has left the group that it led */
        (void)kill(-process->pid, SIGCONT);
}

CommandProcess *command_process_free(CommandProcess *process) {
        if (!process)
                return NULL;
        sd_event_source_disable_unref(process->source);
        close_fdp(&process->gate);
        close_fdp(&process->report);
        if (process->pid > 0 && !process->ended) {
                command_process_signal(process, SIGKILL);
                (void)waitpid(process->pid, NULL, 0);
        }
        if (process->has_terminal)
                (void)tcsetpgrp(STDIN_FILENO, getpgrp());
        g_free(process);
        return NULL;
}
