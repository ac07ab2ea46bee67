/* See helper-zookeeper.h. Test code: unlike the programs, it may block. */
#include "helper-zookeeper.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define START_LIMIT (60 * USEC_PER_SEC)
#define POLL_USEC (20 * USEC_PER_MSEC)

struct ZooKeeperServer {
        char *directory;
        char *address;
        unsigned port;
        unsigned tick_ms;
        char *quorum; /* lines of its configuration; NULL: alone */
        pid_t pid;    /* 0 when it does not run */
};

static G_GNUC_NORETURN void die(const char *what) {
        fprintf(stderr, "ZooKeeper test server: %s: %s\n", what, strerror(errno));
        abort();
}

static struct sockaddr_in loopback(unsigned port) {
        return (struct sockaddr_in){
            .sin_family = AF_INET,
            .sin_port = htons((uint16_t)port),
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
}

static bool is_free(int fd, unsigned port) {
        struct sockaddr_in address = loopback(port);

        return bind(fd, (struct sockaddr *)&address, sizeof(address)) >= 0;
}

/* Below the range from which the kernel takes ports of outgoing connections: a server must get its
 * port again after a restart, and a connect() to a port of that range without a listener may be
 * answered by itself. */
unsigned zookeeper_free_ports(unsigned n) {
        for (unsigned attempt = 0; attempt < 1000; attempt++) {
                unsigned first = (unsigned)g_random_int_range(12000, 30000), free = 0;

                while (free < n) {
                        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

                        if (!is_free(fd, first + free))
                                break;
                        free++;
                }
                if (free == n)
                        return first;
        }
        die("no free port");
}

static char *path_in(const ZooKeeperServer *server, const char *name) {
        return g_build_filename(server->directory, name, NULL);
}

static void write_configuration(const ZooKeeperServer *server, const char *lines) {
        g_autofree char *path = path_in(server, "zoo.cfg"), *data = path_in(server, "data");
        g_autofree char *text = g_strdup_printf("tickTime=%u\n"
                                                "initLimit=10\n"
                                                "syncLimit=5\n"
                                                "dataDir=%s\n"
                                                "clientPort=%u\n"
                                                "clientPortAddress=127.0.0.1\n"
                                                "maxClientCnxns=0\n"
                                                "maxSessionTimeout=60000\n"
                                                "admin.enableServer=false\n"
                                                "4lw.commands.whitelist=*\n%s%s",
                                                server->tick_ms, data, server->port,
                                                server->quorum ? server->quorum : "", lines);

        if (!g_file_set_contents(path, text, -1, NULL))
                die(path);
}

static G_GNUC_NORETURN void execute(const char *main_class, const char *configuration,
                                    const char *log, pid_t parent) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t none;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || fd < 0 || null < 0)
                _exit(127);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        dup2(null, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        close_range(STDERR_FILENO + 1, ~0U, 0);
        execlp("java", "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
               "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-cp",
               "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar", main_class,
               configuration, NULL);
        _exit(127);
}

/* From an address of its own, so that it is none of the connections that a server grants to that of
 * the clients. */
static char *ask(const char *address, const char *word, usec_t limit) {
        const struct sockaddr_in from = {.sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = loopback((unsigned)strtoul(strchr(address, ':') + 1, NULL, 10));
        struct timeval tv = {.tv_sec = (time_t)(limit / USEC_PER_SEC),
                             .tv_usec = (suseconds_t)(limit % USEC_PER_SEC)};
        g_autoptr(GString) answer = g_string_new(NULL);
        char buffer[4096];
        ssize_t n;

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
        if (bind(fd, (const struct sockaddr *)&from, sizeof(from)) < 0 ||
            connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
            send(fd, word, strlen(word), MSG_NOSIGNAL) < 0)
                return NULL;
        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                g_string_append_len(answer, buffer, n);
        return n < 0 ? NULL : g_strdup(answer->str);
}

char *zookeeper_ask(const char *address, const char *word) {
        return ask(address, word, 5 * USEC_PER_SEC);
}

uint64_t zookeeper_server_count(const ZooKeeperServer *server, const char *name) {
        g_autofree char *answer = zookeeper_ask(server->address, "mntr"),
                        *line = g_strdup_printf("zk_%s\t", name);
        const char *found = answer ? strstr(answer, line) : NULL;

        return found ? strtoull(found + strlen(line), NULL, 10) : 0;
}

/* Whether it serves clients: a member without its ensemble does not. A server that is only just
 * starting may accept a connection and never answer on it: ask again soon. */
static bool answers(const ZooKeeperServer *server) {
        g_autofree char *answer = ask(server->address, "srvr", 200 * USEC_PER_MSEC);

        return answer && strstr(answer, "Mode: ");
}

static void print_log(const ZooKeeperServer *server) {
        g_autofree char *path = path_in(server, "log"), *text = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL))
                fputs(text, stderr);
}

void zookeeper_server_launch(ZooKeeperServer *server) {
        g_autofree char *configuration = path_in(server, "zoo.cfg"), *log = path_in(server, "log");
        const char *main_class = server->quorum
                                     ? "org.apache.zookeeper.server.quorum.QuorumPeerMain"
                                     : "org.apache.zookeeper.server.ZooKeeperServerMain";
        pid_t parent = getpid();

        server->pid = fork();
        if (server->pid < 0)
                die("fork");
        if (server->pid == 0)
                execute(main_class, configuration, log, parent);
}

void zookeeper_server_await(ZooKeeperServer *server) {
        usec_t limit = clock_monotonic() + START_LIMIT;

        while (!answers(server)) {
                if (clock_monotonic() > limit || waitpid(server->pid, NULL, WNOHANG) != 0) {
                        print_log(server);
                        die("does not start");
                }
                g_usleep(POLL_USEC);
        }
}

void zookeeper_server_start(ZooKeeperServer *server) {
        zookeeper_server_launch(server);
        zookeeper_server_await(server);
}

static ZooKeeperServer *new_server(unsigned tick_ms, unsigned port, const char *quorum,
                                   const char *lines) {
        ZooKeeperServer *server = g_new0(ZooKeeperServer, 1);

        server->directory = g_dir_make_tmp("jobkeeper-zookeeper-XXXXXX", NULL);
        if (!server->directory)
                die("temporary directory");
        server->port = port;
        server->address = g_strdup_printf("127.0.0.1:%u", server->port);
        server->tick_ms = tick_ms;
        server->quorum = g_strdup(quorum);
        write_configuration(server, lines);
        return server;
}

ZooKeeperServer *zookeeper_server_new_with(unsigned tick_ms, const char *lines) {
        ZooKeeperServer *server = new_server(tick_ms, zookeeper_free_ports(1), NULL, lines);

        zookeeper_server_start(server);
        return server;
}

ZooKeeperServer *zookeeper_server_new(unsigned tick_ms) {
        return zookeeper_server_new_with(tick_ms, "");
}

ZooKeeperServer *zookeeper_member_new(unsigned tick_ms, unsigned port, unsigned id,
                                      const char *quorum) {
        ZooKeeperServer *server = new_server(tick_ms, port, quorum, "");
        g_autofree char *data = path_in(server, "data"), *file = path_in(server, "data/myid"),
                        *text = g_strdup_printf("%u\n", id);

        if (g_mkdir(data, 0700) < 0 || !g_file_set_contents(file, text, -1, NULL))
                die(file);
        return server;
}

void zookeeper_server_kill(ZooKeeperServer *server) {
        if (server->pid <= 0)
                return;
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
        server->pid = 0;
}

void zookeeper_server_configure(ZooKeeperServer *server, unsigned tick_ms, const char *lines) {
        server->tick_ms = tick_ms;
        write_configuration(server, lines);
}

/* It is heard of when each of its threads has stopped: until then it may serve something. */
void zookeeper_server_freeze(ZooKeeperServer *server) {
        siginfo_t stopped;

        kill(server->pid, SIGSTOP);
        (void)waitid(P_PID, (id_t)server->pid, &stopped, WSTOPPED);
}

void zookeeper_server_thaw(ZooKeeperServer *server) {
        kill(server->pid, SIGCONT);
}

const char *zookeeper_server_address(const ZooKeeperServer *server) {
        return server->address;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
        (void)st;
        (void)flag;
        (void)ftw;
        return remove(path);
}

static void remove_tree(const char *path) {
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void zookeeper_server_wipe(ZooKeeperServer *server) {
        g_autofree char *data = path_in(server, "data");

        remove_tree(data);
}

ZooKeeperServer *zookeeper_server_free(ZooKeeperServer *server) {
        if (!server)
                return NULL;
        zookeeper_server_kill(server);
        remove_tree(server->directory);
        g_free(server->directory);
        g_free(server->address);
        g_free(server->quorum);
        g_free(server);
        return NULL;
}

const char *zookeeper_shared(void) {
        return getenv(ZOOKEEPER_SHARED_VARIABLE);
}

bool loop_until(sd_event *event, bool (*condition)(void *userdata), void *userdata, usec_t limit) {
        usec_t end = usec_add(clock_monotonic(), limit);

        while (!condition(userdata)) {
                usec_t now = clock_monotonic();

                if (now >= end)
                        return false;
                if (sd_event_run(event, MIN(end - now, POLL_USEC)) < 0)
                        return false;
        }
        return true;
}

static bool never(void *userdata) {
        (void)userdata;
        return false;
}

void loop_for(sd_event *event, usec_t duration) {
        (void)loop_until(event, never, NULL, duration);
}

unsigned count_descriptors(void) {
        DIR *directory = opendir("/proc/self/fd");
        unsigned count = 0;

        while (directory && readdir(directory))
                count++;
        if (directory)
                closedir(directory);
        return count;
}

bool await_descriptors(unsigned count) {
        usec_t end = clock_monotonic() + 5 * USEC_PER_SEC;

        while (count_descriptors() > count) {
                if (clock_monotonic() > end)
                        return false;
                g_usleep(POLL_USEC);
        }
        return true;
}
