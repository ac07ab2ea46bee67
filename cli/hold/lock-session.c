/* See lock-session.h. */
#include "lock-session.h"

#include <errno.h>

#include "daemon-file.h"
#include "jobset.h"
#include "lock-resource.h"
#include "output.h"
#include "secret.h"

static int config_load(const char *path, DaemonConfig **ret_config) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        int r = daemon_config_load(path, diagnostics, ret_config);
        g_auto(GStrv) lines = diagnostics_to_strv(diagnostics);

        if (r == -EBADMSG)
                for (char **line = lines; *line; line++)
                        complain("%s", *line);
        else if (r < 0)
                complain("%s: %s", path, g_strerror(-r));
        return r;
}

int lock_session_config(const char *path, DaemonConfig **ret_config) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;
        g_autofree char *fault = NULL;
        DeadlineRule rule;
        int r = 0;

        /* No file means the defaults, but not when somebody has named it. */
        if (path && access(path, R_OK) < 0) {
                complain("%s: %s", path, g_strerror(errno));
                return -EBADMSG;
        }
        r = config_load(path ? path : DAEMON_CONFIG_PATH, &config);
        if (r < 0)
                return r;
        rule = deadline_rule_of(config);
        fault = deadline_fault(&rule, config->session_timeout);
        if (fault) {
                complain("%s: %s", path ? path : DAEMON_CONFIG_PATH, fault);
                return -EBADMSG;
        }
        *ret_config = g_steal_pointer(&config);
        return 0;
}

int lock_session_new(sd_event *event, const DaemonConfig *config, SessionEventFunc func,
                     void *userdata, Session **ret_session) {
        _cleanup_(secret_freep) char *secret = NULL;
        g_autofree char *fault = NULL;
        SessionOptions options = {
            .servers = config->servers,
            .session_timeout = config->session_timeout,
            .rule = deadline_rule_of(config),
        };

        if (lock_resource_secret(config, &secret, &fault) < 0) {
                complain("%s", fault);
                return -EACCES;
        }
        options.auth = secret;
        return session_new(event, &options, func, userdata, ret_session);
}
