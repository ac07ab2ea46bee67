/* See server-address.h. */
#include "server-address.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define PORT_MAX 65535

/* Return: what is wrong with a port, or NULL. No leading zero: libzookeeper would read it as octal.
 */
static const char *port_fault(const char *port) {
        size_t length = strlen(port);

        if (length == 0 || port[strspn(port, "0123456789")])
                return "has no port: it must be of the form HOST:PORT";
        if (*port == '0' || length > 5 || g_ascii_strtoull(port, NULL, 10) > PORT_MAX)
                return "has a port that is not from 1 to 65535";
        return NULL;
}

static const char *host_fault(const char *host, size_t length) {
        bool bracketed = length > 0 && host[0] == '[';

        if (length == 0)
                return "has no host: it must be of the form HOST:PORT";
        if (bracketed) {
                if (length < 3 || host[length - 1] != ']' ||
                    memchr(host, ']', length) != host + length - 1)
                        return "has brackets that are not around an address";
                return strspn(host + 1, "0123456789abcdefABCDEF:.%") < length - 2
                           ? "has brackets that are not around an IPv6 address"
                           : NULL;
        }
        if (memchr(host, ':', length))
                return "has several colons: put an IPv6 address in brackets";
        for (size_t i = 0; i < length; i++)
                if (!g_ascii_isalnum(host[i]) && !strchr(".-_", host[i]))
                        return "is not of the form HOST:PORT";
        return NULL;
}

const char *server_address_fault(const char *server) {
        const char *colon = strrchr(server, ':');
        const char *fault;

        if (strstr(server, "://"))
                return "begins with a scheme: write HOST:PORT alone";
        if (strpbrk(server, " \t"))
                return "has a space in it: put a comma between two servers";
        if (strchr(server, '/'))
                return "has a path: use the key \"root\" for it";
        if (!colon || g_str_has_suffix(server, "]"))
                return "has no port: it must be of the form HOST:PORT";
        fault = host_fault(server, (size_t)(colon - server));
        return fault ? fault : port_fault(colon + 1);
}
