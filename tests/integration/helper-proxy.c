/* See helper-proxy.h.
 *
 * Each direction is a stream of frames, a length of 4 bytes and so many bytes more. A client's
 * first frame and a server's first one open the session; after that a request begins with its
 * number (xid) and opcode, an answer with the number of its request, and an event with the number
 * -1. A frame is looked at and passed on whole.
 */
#include "helper-proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define LENGTH_BYTES 4
#define XID_EVENT (-1)
#define XID_PING (-2)
#define OPCODE_CLOSE (-11)
/* Turns a request's number into that of none. */
#define XID_SPOILT 0x40000000

typedef struct Link Link;

typedef struct Stream {
        Link *link; /* weak: owns us */
        int fd;
        sd_event_source *source;
        GByteArray *bytes; /* read, but not a whole frame yet */
        bool begun;        /* the first frame has passed */
} Stream;

struct Link {
        Proxy *proxy; /* weak: owns us */
        Stream client, server;
        GHashTable *uncounted; /* numbers of requests whose answers are not counted either */
        bool mute;
        bool fated;
        ProxyFate fate;
        int32_t fated_xid, fated_opcode;
};

struct Proxy {
        sd_event *event;
        int listener;
        sd_event_source *accept;
        struct sockaddr_in target;
        char *address;
        GPtrArray *links;
        bool admit;
        unsigned grant_ms;
        unsigned connects, proofs;

        Opcode order;
        ProxyFate fate;
        unsigned ordered;

        bool marked;
        unsigned counts[OPCODE_MAX + 1];
        unsigned notifications;
        size_t asked, answered;
};

static int32_t number_at(const uint8_t *frame, size_t offset) {
        uint32_t number;

        memcpy(&number, frame + offset, sizeof(number));
        return (int32_t)ntohl(number);
}

static void set_number_at(uint8_t *frame, size_t offset, int32_t number) {
        uint32_t bytes = htonl((uint32_t)number);

        memcpy(frame + offset, &bytes, sizeof(bytes));
}

static void stream_clear(Stream *stream) {
        sd_event_source_disable_unref(stream->source);
        close_fdp(&stream->fd);
        g_clear_pointer(&stream->bytes, g_byte_array_unref);
}

static void link_destroy(gpointer data) {
        Link *link = data;

        stream_clear(&link->client);
        stream_clear(&link->server);
        g_hash_table_unref(link->uncounted);
        g_free(link);
}

/* A request, without its length: number, opcode, and for nearly all a path next. Of a multi, the
 * first operation's is behind that one's header of 9 bytes. Return: whether it has this path. */
static bool is_about(const uint8_t *frame, size_t length, const char *path) {
        size_t offset = number_at(frame, 4) == OPCODE_MULTI ? 8 + 9 : 8, expected = strlen(path);

        return length >= offset + LENGTH_BYTES + expected &&
               number_at(frame, offset) == (int32_t)expected &&
               memcmp(frame + offset + LENGTH_BYTES, path, expected) == 0;
}

static void count_request(Proxy *proxy, int32_t opcode, size_t length) {
        if (proxy->marked)
                return;
        cr_assert(opcode >= 0 && opcode <= OPCODE_MAX, "opcode %d", opcode);
        proxy->counts[opcode]++;
        proxy->asked += LENGTH_BYTES + length;
}

/* Return: whether it is to be passed on; false: the link is to be cut instead. */
static bool on_request(Link *link, const uint8_t *frame, size_t length) {
        Proxy *proxy = link->proxy;
        int32_t xid = number_at(frame, 0), opcode = number_at(frame, 4);

        if (xid == XID_PING || opcode == OPCODE_CLOSE)
                return true;
        if (opcode == OPCODE_SYNC && is_about(frame, length, PROXY_MARK))
                proxy->marked = true;
        if (opcode == OPCODE_MULTI && is_about(frame, length, "/"))
                proxy->proofs++;
        if (is_about(frame, length, "/") || is_about(frame, length, PROXY_MARK)) {
                g_hash_table_add(link->uncounted, GINT_TO_POINTER(xid));
                return true;
        }
        count_request(proxy, opcode, length);
        if (proxy->ordered == 0 || (int32_t)proxy->order != opcode || link->fated)
                return true;
        proxy->ordered--;
        link->fated = true;
        link->fate = proxy->fate;
        link->fated_xid = xid;
        link->fated_opcode = opcode;
        return proxy->fate != PROXY_CUT_BEFORE;
}

static bool on_client_frame(Stream *stream, uint8_t *frame, size_t length) {
        if (stream->begun)
                return on_request(stream->link, frame, length);
        stream->begun = true;
        stream->link->proxy->connects++;
        return true;
}

/* Behind the header stand the number of entries and, in an ACL, what the first one permits. */
static void spoil_text(uint8_t *frame, size_t length, int32_t opcode) {
        size_t offset = opcode == OPCODE_GET_ACL ? 16 + 4 + 4 : 16 + 4;

        cr_assert_geq(length, offset + 4, "there is no text in it");
        set_number_at(frame, offset, -1);
}

static bool on_answer(Link *link, uint8_t *frame, size_t length) {
        Proxy *proxy = link->proxy;
        int32_t xid = number_at(frame, 0);

        if (link->fated && xid == link->fated_xid) {
                link->fated = false;
                if (link->fate == PROXY_TEAR_ANSWER)
                        (void)send(link->client.fd, frame - LENGTH_BYTES, LENGTH_BYTES + length / 2,
                                   MSG_NOSIGNAL);
                if (link->fate == PROXY_LOSE_ANSWER || link->fate == PROXY_TEAR_ANSWER)
                        return false;
                if (link->fate == PROXY_STAY_SILENT)
                        link->mute = true;
                else if (link->fate == PROXY_NULL_ANSWER)
                        spoil_text(frame, length, link->fated_opcode);
                else
                        set_number_at(frame, 0, xid ^ XID_SPOILT);
        }
        if (link->mute || proxy->marked || xid == XID_PING ||
            g_hash_table_remove(link->uncounted, GINT_TO_POINTER(xid)))
                return true;
        proxy->notifications += xid == XID_EVENT;
        proxy->answered += LENGTH_BYTES + length;
        return true;
}

static bool on_server_frame(Stream *stream, uint8_t *frame, size_t length) {
        if (stream->begun)
                return on_answer(stream->link, frame, length);
        stream->begun = true;
        if (stream->link->proxy->grant_ms > 0) /* behind the protocol's version */
                set_number_at(frame, 4,
                              MIN(number_at(frame, 4), (int32_t)stream->link->proxy->grant_ms));
        return true;
}

/* Return: whether the link is to stay. */
static bool pass_frame(Stream *stream, Stream *other, size_t length) {
        bool from_client = stream == &stream->link->client;
        uint8_t *frame = stream->bytes->data + LENGTH_BYTES;
        ssize_t whole = (ssize_t)(LENGTH_BYTES + length);

        if (from_client ? !on_client_frame(stream, frame, length)
                        : !on_server_frame(stream, frame, length))
                return false;
        if (!from_client && stream->link->mute)
                return true;
        return send(other->fd, stream->bytes->data, (size_t)whole, MSG_NOSIGNAL) == whole;
}

static bool pass(Stream *stream, Stream *other) {
        uint8_t buffer[65536];
        ssize_t n = recv(stream->fd, buffer, sizeof(buffer), 0);

        if (n <= 0)
                return false;
        g_byte_array_append(stream->bytes, buffer, (guint)n);
        while (stream->bytes->len >= LENGTH_BYTES) {
                size_t length = (size_t)number_at(stream->bytes->data, 0);

                if (stream->bytes->len < LENGTH_BYTES + length)
                        break;
                if (!pass_frame(stream, other, length))
                        return false;
                g_byte_array_remove_range(stream->bytes, 0, (guint)(LENGTH_BYTES + length));
        }
        return true;
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Stream *stream = userdata;
        Link *link = stream->link;

        if (!pass(stream, stream == &link->client ? &link->server : &link->client))
                g_ptr_array_remove(link->proxy->links, link);
        return 0;
}

static void stream_begin(Stream *stream, Link *link, int fd) {
        const int yes = 1;

        stream->link = link;
        stream->fd = fd;
        stream->bytes = g_byte_array_new();
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

static void stream_listen(Stream *stream) {
        int r = sd_event_add_io(stream->link->proxy->event, &stream->source, stream->fd, EPOLLIN,
                                on_readable, stream);

        cr_assert_geq(r, 0);
}

static int on_accept(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Proxy *proxy = userdata;
        Link *link = g_new0(Link, 1);

        link->proxy = proxy;
        link->uncounted = g_hash_table_new(NULL, NULL);
        stream_begin(&link->client, link, accept4(fd, NULL, NULL, SOCK_CLOEXEC));
        stream_begin(&link->server, link, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (link->client.fd < 0 || link->server.fd < 0 || !proxy->admit ||
            connect(link->server.fd, (const struct sockaddr *)&proxy->target,
                    sizeof proxy->target) < 0) {
                link_destroy(link);
                return 0;
        }
        g_ptr_array_add(proxy->links, link);
        stream_listen(&link->client);
        stream_listen(&link->server);
        return 0;
}

static struct sockaddr_in loopback(uint16_t port) {
        return (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

Proxy *proxy_new(sd_event *event, const char *target) {
        return proxy_new_at(event, "127.0.0.1", target);
}

Proxy *proxy_new_at(sd_event *event, const char *host, const char *target) {
        Proxy *proxy = g_new0(Proxy, 1);
        struct sockaddr_in address = loopback(0);
        socklen_t length = sizeof address;
        int r;

        cr_assert_eq(inet_pton(AF_INET, host, &address.sin_addr), 1);
        proxy->admit = true;
        proxy->event = sd_event_ref(event);
        proxy->links = g_ptr_array_new_with_free_func(link_destroy);
        proxy_retarget(proxy, target);
        proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cr_assert_geq(proxy->listener, 0);
        cr_assert_eq(bind(proxy->listener, (const struct sockaddr *)&address, sizeof address), 0);
        cr_assert_eq(listen(proxy->listener, 16), 0);
        cr_assert_eq(getsockname(proxy->listener, (struct sockaddr *)&address, &length), 0);
        proxy->address = g_strdup_printf("%s:%u", host, ntohs(address.sin_port));
        r = sd_event_add_io(event, &proxy->accept, proxy->listener, EPOLLIN, on_accept, proxy);
        cr_assert_geq(r, 0);
        return proxy;
}

Proxy *proxy_free(Proxy *proxy) {
        if (!proxy)
                return NULL;
        g_ptr_array_unref(proxy->links);
        sd_event_source_disable_unref(proxy->accept);
        close_fdp(&proxy->listener);
        sd_event_unref(proxy->event);
        g_free(proxy->address);
        g_free(proxy);
        return NULL;
}

const char *proxy_address(const Proxy *proxy) {
        return proxy->address;
}

void proxy_mute(Proxy *proxy) {
        for (guint i = 0; i < proxy->links->len; i++)
                ((Link *)proxy->links->pdata[i])->mute = true;
}

void proxy_cut(Proxy *proxy) {
        g_ptr_array_set_size(proxy->links, 0);
}

void proxy_admit(Proxy *proxy, bool admit) {
        proxy->admit = admit;
}

void proxy_retarget(Proxy *proxy, const char *target) {
        proxy->target = loopback((uint16_t)strtoul(strrchr(target, ':') + 1, NULL, 10));
}

void proxy_grant(Proxy *proxy, unsigned timeout_ms) {
        proxy->grant_ms = timeout_ms;
}

void proxy_order(Proxy *proxy, Opcode opcode, ProxyFate fate, unsigned times) {
        proxy->order = opcode;
        proxy->fate = fate;
        proxy->ordered = times;
}

unsigned proxy_ordered(const Proxy *proxy) {
        return proxy->ordered;
}

void proxy_reset_counts(Proxy *proxy) {
        proxy->marked = false;
        memset(proxy->counts, 0, sizeof proxy->counts);
        proxy->notifications = 0;
        proxy->asked = proxy->answered = 0;
}

unsigned proxy_count(const Proxy *proxy, Opcode opcode) {
        return proxy->counts[opcode];
}

unsigned proxy_total(const Proxy *proxy) {
        unsigned total = 0;

        for (size_t i = 0; i <= OPCODE_MAX; i++)
                total += proxy->counts[i];
        return total;
}

unsigned proxy_writes(const Proxy *proxy) {
        return proxy->counts[OPCODE_DELETE] + proxy->counts[OPCODE_SET] +
               proxy->counts[OPCODE_MULTI] + proxy->counts[OPCODE_CREATE] +
               proxy->counts[OPCODE_CREATE_CONTAINER];
}

unsigned proxy_notifications(const Proxy *proxy) {
        return proxy->notifications;
}

size_t proxy_bytes_asked(const Proxy *proxy) {
        return proxy->asked;
}

size_t proxy_bytes_answered(const Proxy *proxy) {
        return proxy->answered;
}

unsigned proxy_connects(const Proxy *proxy) {
        return proxy->connects;
}

unsigned proxy_proofs(const Proxy *proxy) {
        return proxy->proofs;
}

char *proxy_describe(const Proxy *proxy) {
        static const char *const words[OPCODE_MAX + 1] = {
            [OPCODE_DELETE] = "delete",
            [OPCODE_EXISTS] = "exists",
            [OPCODE_GET] = "get",
            [OPCODE_SET] = "set",
            [OPCODE_SYNC] = "sync",
            [OPCODE_LIST] = "list",
            [OPCODE_MULTI] = "multi",
            [OPCODE_CREATE] = "create",
            [OPCODE_CREATE_CONTAINER] = "create-container",
            [OPCODE_SET_WATCHES] = "set-watches",
            [OPCODE_SET_WATCHES2] = "set-watches2",
        };
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i <= OPCODE_MAX; i++)
                if (proxy->counts[i] > 0)
                        g_string_append_printf(text, "%s %u, ", words[i] ? words[i] : "other",
                                               proxy->counts[i]);
        g_string_append_printf(text, "events %u, bytes %zu+%zu", proxy->notifications, proxy->asked,
                               proxy->answered);
        return g_strdup(text->str);
}
