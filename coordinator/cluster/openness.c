/* See openness.h. The kernel lists who listens: one question for each family, answered at once. */
#include "openness.h"

#include <arpa/inet.h>
#include <glib.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"

#define ANSWER_SIZE 32768

typedef struct ListenersRequest {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
} ListenersRequest;

static bool is_loopback(int family, const uint32_t address[4]) {
        const struct in6_addr *v6 = (const void *)address;

        if (family == AF_INET)
                return ntohl(address[0]) >> 24 == IN_LOOPBACKNET;
        return IN6_IS_ADDR_LOOPBACK(v6) ||
               (IN6_IS_ADDR_V4MAPPED(v6) && ntohl(address[3]) >> 24 == IN_LOOPBACKNET);
}

/* Return: 1 when a listener of this answer is what we look for, 0 when none is, -1 when it is the
 * last one. */
static int look_at_answer(const char *answer, ssize_t size, uint16_t port) {
        const struct nlmsghdr *header = (const void *)answer;

        for (size_t left = size < 0 ? 0 : (size_t)size; NLMSG_OK(header, left);
             header = NLMSG_NEXT(header, left)) {
                const struct inet_diag_msg *listener = NLMSG_DATA(header);

                if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
                        return -1; /* done, or an error */
                if (ntohs(listener->id.idiag_sport) == port &&
                    !is_loopback(listener->idiag_family, listener->id.idiag_src))
                        return 1;
        }
        return size <= 0 ? -1 : 0;
}

static bool family_is_public(int fd, uint8_t family, uint16_t port) {
        const ListenersRequest request = {
            .header = {.nlmsg_len = sizeof(request),
                       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
            .body = {.sdiag_family = family,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = 1U << TCP_LISTEN},
        };
        _Alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
        int found = 0;

        if (send(fd, &request, sizeof(request), 0) < 0)
                return false;
        while (found == 0)
                found =
                    look_at_answer(answer, recv(fd, answer, sizeof(answer), MSG_DONTWAIT), port);
        return found > 0;
}

bool port_is_public(uint16_t port) {
        static const uint8_t families[] = {AF_INET, AF_INET6};

        for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
                _cleanup_close_ int fd =
                    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

                if (fd >= 0 && family_is_public(fd, families[i], port))
                        return true;
        }
        return false;
}

/* Return: whether the server is one of this machine that only this machine reaches. */
static bool is_local(const char *server) {
        const char *colon = strrchr(server, ':');

        if (!colon || !(g_str_has_prefix(server, "127.") || g_str_has_prefix(server, "[::1]") ||
                        g_str_has_prefix(server, "::1:")))
                return false;
        return !port_is_public((uint16_t)g_ascii_strtoull(colon + 1, NULL, 10));
}

char *openness_warning(const char *others, const char *server) {
        const char *who = !strstr(others, "world:anyone") ? others
                          : is_local(server)              ? "every user of this machine"
                                             : "everybody who reaches it over the network";

        return g_strdup_printf(
            "ZooKeeper at %s is used without \"auth\", so that %s can start jobs, "
            "forge their results and end what is held; see WHO MAY DO WHAT in "
            "jobkeeperd(8)",
            server, who);
}
