/* See connect.h. */
#include "connect.h"

#include <errno.h>
#include <glib.h>

#include "fence-link.h"
#include "jobset.h"
#include "log.h"
#include "message-id.h"
#include "secret.h"

/* What the client library says of itself is for debugging; the session's own lines are for people.
 */
static void connect_log(int priority, const char *message, void *userdata) {
        if (priority < LOG_DEBUG)
                log_write(priority, &(LogAbout){.message_id = MESSAGE_SESSION_WARNING}, "%s",
                          message);
        else
                log_debug(NULL, "zookeeper: %s", message);
}

static void connect_on_moved(void *userdata) {
        fence_link_follow(((const Node *)userdata)->fence);
}

/* Return: 0 with the secret for `auth: digest`, NULL where none is asked for; -ENOKEY when it
 * cannot be had, which is logged. */
static int connect_take_secret(const DaemonConfig *config, char **ret_secret) {
        g_autofree char *credential = NULL, *fault = NULL;

        if (config->auth == DAEMON_AUTH_NONE)
                return 0;
        credential = secret_credential_path();
        if (secret_read(credential ? credential : SECRET_STORED_PATH, ret_secret, &fault) >= 0)
                return 0;
        log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s", fault);
        return -ENOKEY;
}

/* Return: 0, or -EBADMSG where no session could be held by these figures. */
static int connect_check_deadlines(const DaemonConfig *config, const DeadlineRule *rule,
                                   const char *config_path) {
        g_autofree char *sum = deadline_explain(rule, config->session_timeout);
        g_autofree char *fault = deadline_fault(rule, config->session_timeout);

        if (fault) {
                Mark mark = config->sum_mark;
                g_autofree char *place =
                    mark.line > 0 ? g_strdup_printf(":%u:%u", mark.line, mark.column) : NULL;

                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s%s: %s", config_path,
                          place ? place : "", fault);
                return -EBADMSG;
        }
        log_info(NULL, "%s", sum);
        return 0;
}

int connect_session(Node *node, const char *config_path, SessionEventFunc func, void *userdata,
                    Session **ret_session) {
        const DaemonConfig *config = node->config;
        g_autofree char *state_file = g_build_filename(node->runtime_dir, "session", NULL),
                        *identity = node_identity(node);
        _cleanup_(secret_freep) char *secret = NULL;
        SessionOptions options = {
            .servers = config->servers,
            .session_timeout = config->session_timeout,
            .rule = deadline_rule_of(config),
            .state_file = state_file,
            .identity = identity,
            .log = connect_log,
            .moved = connect_on_moved,
            .moved_userdata = node,
        };
        int r;

        if ((r = connect_check_deadlines(config, &options.rule, config_path)) < 0 ||
            (r = connect_take_secret(config, &secret)) < 0)
                return r;
        options.auth = secret;
        r = session_new(node->event, &options, func, userdata, ret_session);
        if (r < 0)
                return r;
        node->session = *ret_session;
        return 0;
}
