/* What blocks, on a short-lived thread: resolving names, making the library's handle, and closing
 * it.
 *
 * Names. The library calls getaddrinfo not only when a handle is made but, unless told otherwise,
 * in *every* round of its I/O thread, heartbeats and all. So names are resolved here, once a
 * handle, and the library is given numeric addresses; a change in the DNS is seen by the next
 * handle, which a session makes after its deadline at the latest.
 *
 * Abandoning. zookeeper_close() on a connected handle tells the server to end the session, which is
 * the opposite of what a process that is being restarted wants. There is no call that forgets
 * quietly, but the library sends nothing when it is not connected: so its list of servers is first
 * replaced by an address to which no connection can be made. That closes its socket, and it cannot
 * come back between that and the close, however long this thread is kept from running.
 *
 * Log lines. Only errors are asked for. The warning that all servers were tried in vain reads the
 * handle's list of servers, which zoo_set_servers() frees on another thread at that moment, as may
 * happen whenever a handle without a connection is closed; and DEBUG has a use-after-free, too.
 *
 * What is in flight. A server drops what it has not read when the connection ends, the last
 * requests of a session that is closed in order among them: so the helper, which holds up nobody,
 * closes only when all are answered, or a server that is busy has had its time. Without a
 * connection there is nobody to wait for, but a request whose answer is still in the library when
 * zookeeper_close() is called may never be called back, and the library leaks its copy: so they
 * have a moment to come back as lost.
 *
 * Credentials. The library is told them at the first CONNECTED, before the loop hears of it: so
 * they go before the first request that needs them. Told earlier, it may send them twice or, where
 * it was just being connected, not before the loop's first request. From then on it sends them by
 * itself at each reconnect, before the watches and whatever waits to be sent. A server that does
 * not like them answers at once and hangs up: AUTH_FAILED. The library keeps a copy until
 * zookeeper_close(), and does not wipe it.
 *
 * Descriptors. The library opens its wake-up pipe and its sockets without CLOEXEC. The flag is set
 * right after the handle is made (on the pipe: whatever pipe was not there before) and at each
 * connect (on sockets to our servers), and the loop hears of the first connection after both. A
 * child that is forked by another thread in between could still inherit one: a program that starts
 * children besides should call close_range() in them.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zk-handle.h"

#define DEFAULT_PORT "2181"
/* The limited broadcast address: connect() fails at once, in the kernel. */
#define NOWHERE "255.255.255.255:1"
/* How long the answers to requests in flight are awaited before a handle is closed: those of a
 * server, so that it and the 1.5 s for which the library waits for the server's goodbye are within
 * what a session has for its end (CLOSE_LIMIT in session-life.c), and those that the library makes
 * up once it has no server. */
#define ANSWERED_TIMEOUT_MS 2000
#define LOST_TIMEOUT_MS 500

static bool port_is_valid(const char *text) {
        return text[0] >= '1' && text[0] <= '9' && strspn(text, "0123456789") == strlen(text) &&
               strlen(text) <= 5 && strtoul(text, NULL, 10) <= UINT16_MAX;
}

void zk_handle_init(ZkHandle *handle, ZkQueue *queue, const ZkOptions *options) {
        handle->queue = queue;
        pthread_mutex_init(&handle->opening, NULL);
        handle->servers = g_strdup(options->servers);
        handle->auth = g_strdup(options->auth);
        handle->timeout_ms = (int)MIN(options->session_timeout / USEC_PER_MSEC, (usec_t)INT32_MAX);
        if (options->session)
                handle->wanted = *options->session;
}

void zk_handle_clear(ZkHandle *handle) {
        g_queue_clear(&handle->unsent);
        if (handle->auth)
                explicit_bzero(handle->auth, strlen(handle->auth));
        g_free(handle->auth);
        g_free(handle->servers);
        g_free(handle->addresses);
        pthread_mutex_destroy(&handle->opening);
}

/* host:port, [v6]:port or host -> its two parts, in place. Return: false when it is none of these.
 */
static bool split_server(char *server, const char **ret_host, const char **ret_port) {
        char *colon, *host = server;

        if (*host == '[') {
                char *end = strchr(++host, ']');

                if (!end || (end[1] && end[1] != ':'))
                        return false;
                *end = '\0';
                colon = end[1] ? end + 1 : NULL;
        } else
                colon = strrchr(host, ':');

        *ret_port = DEFAULT_PORT;
        if (colon) {
                *colon = '\0';
                *ret_port = colon + 1;
        }
        *ret_host = host;
        return **ret_host && port_is_valid(*ret_port);
}

/* "127.0.0.1:2181"; an IPv6 address without brackets, as this library wants it. */
static char *format_address(const struct sockaddr *address, socklen_t length) {
        char host[INET6_ADDRSTRLEN + 32], port[8];

        if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
                        NI_NUMERICHOST | NI_NUMERICSERV) != 0)
                return NULL;
        return g_strdup_printf("%s:%s", host, port);
}

static void add_addresses(const struct addrinfo *found, GString *numeric, GArray *addresses) {
        for (; found; found = found->ai_next) {
                struct sockaddr_storage address = {0};
                g_autofree char *text = NULL;

                if (found->ai_addrlen > sizeof(address))
                        continue;
                text = format_address(found->ai_addr, found->ai_addrlen);
                if (!text)
                        continue;
                memcpy(&address, found->ai_addr, found->ai_addrlen);
                g_array_append_val(addresses, address);
                g_string_append_printf(numeric, "%s%s", numeric->len ? "," : "", text);
        }
}

/* Return: newly allocated, a sentence on why one server's address cannot be used, or NULL. */
static char *resolve_one(char *server, GString *numeric, GArray *addresses) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
        g_autofree char *whole = g_strdup(server);
        struct addrinfo *found = NULL;
        const char *host, *port;
        int r;

        if (!split_server(server, &host, &port))
                return g_strdup_printf("\"%s\" is not a host:port", whole);
        r = getaddrinfo(host, port, &hints, &found);
        if (r != 0)
                return g_strdup_printf("the ZooKeeper server name \"%s\" does not resolve: %s",
                                       host, r == EAI_SYSTEM ? g_strerror(errno) : gai_strerror(r));
        add_addresses(found, numeric, addresses);
        freeaddrinfo(found);
        return NULL;
}

/* Resolves the servers into the numeric form of the library's own syntax. One name that resolves is
 * enough. Return: newly allocated, or NULL and *ret_fault. */
static char *handle_resolve(ZkHandle *handle, char **ret_fault) {
        g_auto(GStrv) servers = g_strsplit(handle->servers, ",", -1);
        g_autoptr(GString) numeric = g_string_new(NULL);
        GArray *addresses = g_array_new(FALSE, TRUE, sizeof(struct sockaddr_storage));
        g_autofree char *fault = NULL;

        for (char **server = servers; *server; server++) {
                g_autofree char *one = resolve_one(g_strstrip(*server), numeric, addresses);

                if (one && !fault)
                        fault = g_steal_pointer(&one);
        }
        handle->n_addresses = addresses->len;
        handle->addresses = (struct sockaddr_storage *)(void *)g_array_free(addresses, FALSE);
        if (numeric->len > 0)
                return g_strdup(numeric->str);
        *ret_fault =
            fault ? g_steal_pointer(&fault) : g_strdup("no ZooKeeper server is configured");
        return NULL;
}

/* Calls `visit` for every open descriptor above the standard three. */
static void each_descriptor(void (*visit)(int fd, void *userdata), void *userdata) {
        DIR *directory = opendir("/proc/self/fd");
        struct dirent *entry;

        if (!directory)
                return;
        while ((entry = readdir(directory))) {
                int fd = (int)strtol(entry->d_name, NULL, 10);

                if (fd > STDERR_FILENO && fd != dirfd(directory))
                        visit(fd, userdata);
        }
        closedir(directory);
}

static void set_cloexec(int fd) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0 && !(flags & FD_CLOEXEC))
                (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/* "pipe:[12345]": names a pipe for as long as it is open. Asking /proc rather than the descriptor
 * itself does not disturb whoever is opening or closing it at this moment on another thread.
 * Return: newly allocated, or NULL when it is no pipe. */
static char *pipe_name(int fd) {
        char path[32], name[64];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        n = readlink(path, name, sizeof(name));
        if (n <= 0 || !g_str_has_prefix(name, "pipe:"))
                return NULL;
        return g_strndup(name, (gsize)n);
}

static void remember_pipe(int fd, void *userdata) {
        char *name = pipe_name(fd);

        if (name)
                g_hash_table_add(userdata, name);
}

static void seal_new_pipe(int fd, void *userdata) {
        g_autofree char *name = pipe_name(fd);

        if (name && !g_hash_table_contains(userdata, name))
                set_cloexec(fd);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
        const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
        const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

        if (a->ss_family != b->ss_family)
                return false;
        if (a->ss_family == AF_INET)
                return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
        return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
               memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static void seal_socket(int fd, void *userdata) {
        const ZkHandle *handle = userdata;
        struct sockaddr_storage peer = {0};
        socklen_t length = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0)
                return;
        for (size_t i = 0; i < handle->n_addresses; i++)
                if (same_address(&peer, &handle->addresses[i]))
                        set_cloexec(fd);
}

static bool handle_authenticate(ZkHandle *handle, zhandle_t *theirs) {
        if (!handle->auth || handle->authenticated)
                return true;
        handle->authenticated = zoo_add_auth(theirs, "digest", handle->auth,
                                             (int)strlen(handle->auth), NULL, NULL) == ZOK;
        return handle->authenticated;
}

/* Returns once the helper is through with making the handle: a server on the same machine may be
 * connected before that, and whoever hears of it may start children. */
static void handle_await_opened(ZkHandle *handle) {
        pthread_mutex_lock(&handle->opening);
        pthread_mutex_unlock(&handle->opening);
}

/* The library's session watcher, on its completion thread. */
static void handle_on_session(zhandle_t *theirs, int type, int state, const char *path,
                              void *context) {
        ZkHandle *handle = context;
        ZkItem *item;

        if (type != ZOO_SESSION_EVENT)
                return;
        if (state == ZOO_CONNECTED_STATE && !handle_authenticate(handle, theirs))
                state = ZOO_AUTH_FAILED_STATE;
        item = zk_item_new(ZK_ITEM_SESSION);
        item->code = state;
        item->handle = theirs;
        if (state == ZOO_CONNECTED_STATE) {
                const clientid_t *id = zoo_client_id(theirs);
                struct sockaddr_storage peer = {0};
                socklen_t length = sizeof(peer);

                handle_await_opened(handle);
                each_descriptor(seal_socket, handle);
                item->asked = handle->asked;
                item->timeout = (usec_t)zoo_recv_timeout(theirs) * USEC_PER_MSEC;
                item->session.id = id->client_id;
                memcpy(item->session.password, id->passwd, sizeof(item->session.password));
                if (zookeeper_get_connected_host(theirs, (struct sockaddr *)&peer, &length))
                        item->text = format_address((struct sockaddr *)&peer, length);
        }
        zk_post(handle->queue, item);
}

/* Return: the handle, or NULL and *ret_fault. */
static zhandle_t *handle_open(ZkHandle *handle, char **ret_fault) {
        g_autoptr(GHashTable) pipes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autofree char *numeric = handle_resolve(handle, ret_fault);
        clientid_t session = {.client_id = handle->wanted.id};
        zhandle_t *theirs = NULL;

        memcpy(session.passwd, handle->wanted.password, sizeof(session.passwd));
        if (numeric) {
                zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR); /* process-wide */
                each_descriptor(remember_pipe, pipes);
                handle->asked = clock_boottime();
                pthread_mutex_lock(&handle->opening);
                theirs = zookeeper_init2(numeric, handle_on_session, handle->timeout_ms,
                                         handle->wanted.id ? &session : NULL, handle,
                                         ZOO_NO_LOG_CLIENTENV, zk_log_line);
                if (!theirs)
                        *ret_fault = g_strdup_printf("the ZooKeeper client does not start: %s",
                                                     g_strerror(errno));
                each_descriptor(seal_new_pipe, pipes);
                pthread_mutex_unlock(&handle->opening);
        }
        if (theirs)
                (void)zoo_set_servers_resolution_delay(theirs, -1);
        return theirs;
}

/* What still waits in the port goes out before the end: here, because thousands of requests take
 * longer than a turn of the loop may. Those that the library does not take were answered by the
 * port, as all others. */
static void handle_send_rest(ZkHandle *handle, zhandle_t *theirs) {
        ZkSending *sending;

        while ((sending = g_queue_pop_head(&handle->unsent))) {
                _cleanup_(zk_request_freep) ZkRequest *request = g_steal_pointer(&sending->waiting);

                zk_queue_expect(handle->queue);
                if (zk_send(theirs, request, sending) != ZOK)
                        zk_queue_unexpect(handle->queue);
        }
}

/* The answer to the helper's own request: nobody waits for it in the loop. */
static void handle_on_woken(int rc, const char *value, const void *data) {
        zk_queue_unexpect((ZkQueue *)data);
}

/* One more request, which wakes the I/O thread; when it is answered, everything before it has been
 * delivered. */
static void handle_wake(ZkHandle *handle, zhandle_t *theirs) {
        zk_queue_expect(handle->queue);
        if (zoo_async(theirs, "/", handle_on_woken, handle->queue) != ZOK)
                zk_queue_unexpect(handle->queue);
}

static void handle_close(ZkHandle *handle, zhandle_t *theirs, ZkWish wish) {
        bool served = wish == ZK_WISH_CLOSE && zoo_state(theirs) == ZOO_CONNECTED_STATE;

        /* Without a connection there is nobody to tell, so it makes no difference but for an
         * orderly end. */
        if (!served)
                if (zoo_set_servers(theirs, NOWHERE) != ZOK) {
                        /* No memory: rather keep the handle, and what it points to, than end the
                         * session. */
                        (void)zk_queue_ref(handle->queue);
                        return;
                }
        if (served)
                handle_send_rest(handle, theirs);
        handle_wake(handle, theirs);
        zk_queue_await_answers(handle->queue, served ? ANSWERED_TIMEOUT_MS : LOST_TIMEOUT_MS);
        (void)zookeeper_close(theirs);
}

static ZkWish handle_wish(ZkHandle *handle) {
        ZkWish wish;

        pthread_mutex_lock(&handle->queue->mutex);
        wish = handle->wish;
        pthread_mutex_unlock(&handle->queue->mutex);
        return wish;
}

/* Ends the helper's turn with the handle it leaves, unless a wish came meanwhile. */
static bool handle_finish(ZkHandle *handle, zhandle_t *theirs, ZkWish done) {
        bool through;

        pthread_mutex_lock(&handle->queue->mutex);
        through = handle->wish == done || done != ZK_WISH_RUN;
        handle->made = theirs;
        if (through)
                handle->running = false;
        pthread_mutex_unlock(&handle->queue->mutex);
        return through;
}

static void *helper_main(void *userdata) {
        ZkHandle *handle = userdata;
        zhandle_t *theirs = handle->made;
        ZkWish wish = handle_wish(handle);
        ZkItem *item;

        if (!theirs && wish == ZK_WISH_RUN) {
                char *fault = NULL;

                theirs = handle_open(handle, &fault);
                item = zk_item_new(ZK_ITEM_STARTED);
                item->text = fault;
                zk_post(handle->queue, item);
                if (handle_finish(handle, theirs, ZK_WISH_RUN)) {
                        (void)zk_queue_unref(handle->queue);
                        return NULL;
                }
                wish = handle_wish(handle);
        }
        if (theirs)
                handle_close(handle, theirs, wish);
        (void)handle_finish(handle, NULL, wish);
        zk_post(handle->queue, zk_item_new(ZK_ITEM_CLOSED));
        (void)zk_queue_unref(handle->queue);
        return NULL;
}

/* All signals stay with the loop's thread: the library's threads inherit the helper's mask. */
static int handle_start_thread(ZkHandle *handle) {
        sigset_t all, before;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        (void)zk_queue_ref(handle->queue);
        r = pthread_create(&handle->helper, NULL, helper_main, handle);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0) {
                (void)zk_queue_unref(handle->queue);
                return -r;
        }
        handle->joinable = true;
        return 0;
}

int zk_handle_start(ZkHandle *handle, ZkWish wish) {
        bool running;
        int r;

        pthread_mutex_lock(&handle->queue->mutex);
        running = handle->running;
        handle->running = true;
        handle->wish = wish;
        pthread_mutex_unlock(&handle->queue->mutex);
        if (running)
                return 0;

        zk_handle_join(handle);
        r = handle_start_thread(handle);
        if (r < 0) {
                pthread_mutex_lock(&handle->queue->mutex);
                handle->running = false;
                pthread_mutex_unlock(&handle->queue->mutex);
        }
        return r;
}

bool zk_handle_is_idle(ZkHandle *handle) {
        bool idle;

        pthread_mutex_lock(&handle->queue->mutex);
        idle = !handle->running && !handle->made;
        pthread_mutex_unlock(&handle->queue->mutex);
        return idle;
}

void zk_handle_detach(ZkHandle *handle) {
        if (handle->joinable)
                pthread_detach(handle->helper);
        handle->joinable = false;
}

void zk_handle_join(ZkHandle *handle) {
        if (handle->joinable)
                pthread_join(handle->helper, NULL);
        handle->joinable = false;
}
