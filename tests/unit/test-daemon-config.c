/* The daemon's configuration: its defaults, everything that it may have, and for every key what
 * people are told about a bad one. */
#include "expect-errors.h"
#include "temporary-tree.h"

#include <errno.h>

#include "daemon-file.h"
#include "daemon-keys.h"
#include "name.h"

/* Parses a configuration and expects these errors. Return: the configuration, NULL with errors. */
static DaemonConfig *parse(const char *text, const char *errors) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        DaemonConfig *config = NULL;
        int r = daemon_config_parse("f", text, strlen(text), diagnostics, &config);

        expect_errors(diagnostics, errors);
        cr_expect_eq(r, *errors ? -EBADMSG : 0, "%s", text);
        cr_expect_eq(config == NULL, *errors != 0, "%s", text);
        return config;
}

static const struct {
        const char *text;
        const char *errors;
} bad[] = {
    {"zookeeper: 127.0.0.1:2181",
     "f:1:12: error: \"zookeeper\" must be a mapping, not \"127.0.0.1:2181\""},
    {"zookeeper: {severs: a:1}",
     "f:1:13: error: unknown key \"severs\" (did you mean \"servers\"?)"},
    {"zookeeper: {servers: 5}",
     "f:1:22: error: \"servers\" must be a text or a list, not an integer (put it in quotes)"},
    {"zookeeper: {servers: {a: b}}",
     "f:1:22: error: \"servers\" must be a text or a list, not a mapping"},
    {"zookeeper: {servers: []}", "f:1:22: error: \"servers\" is empty"},
    {"zookeeper: {servers: \"\"}", "f:1:22: error: \"servers\" is empty"},
    {"zookeeper: {servers: [zk1]}",
     "f:1:23: error: server \"zk1\" has no port: it must be of the form HOST:PORT"},
    {"zookeeper: {servers: [zk1:2181, \"zk2:\", \":2181\", zk3:0, zk4:02181, zk5:65536, zk6:x]}",
     "f:1:33: error: server \"zk2:\" has no port: it must be of the form HOST:PORT\n"
     "f:1:41: error: server \":2181\" has no host: it must be of the form HOST:PORT\n"
     "f:1:50: error: server \"zk3:0\" has a port that is not from 1 to 65535\n"
     "f:1:57: error: server \"zk4:02181\" has a port that is not from 1 to 65535\n"
     "f:1:68: error: server \"zk5:65536\" has a port that is not from 1 to 65535\n"
     "f:1:79: error: server \"zk6:x\" has no port: it must be of the form HOST:PORT"},
    {"zookeeper: {servers: \"zk1:2181,zk2\"}",
     "f:1:22: error: server \"zk2\" has no port: it must be of the form HOST:PORT"},
    {"zookeeper: {servers: \"zk1:2181/jobkeeper\"}",
     "f:1:22: error: server \"zk1:2181/jobkeeper\" has a path: use the key \"root\" for it"},
    {"zookeeper: {servers: \"::1:2181\"}",
     "f:1:22: error: server \"::1:2181\" has several colons: put an IPv6 address in brackets"},
    {"zookeeper: {servers: \"[::1]\"}",
     "f:1:22: error: server \"[::1]\" has no port: it must be of the form HOST:PORT"},
    {"zookeeper: {servers: \"[zk1]:2181\"}",
     "f:1:22: error: server \"[zk1]:2181\" has brackets that are not around an IPv6 address"},
    {"zookeeper: {servers: \"[]:2181\"}",
     "f:1:22: error: server \"[]:2181\" has brackets that are not around an address"},
    {"zookeeper: {servers: \"a b:2181\"}",
     "f:1:22: error: server \"a b:2181\" has a space in it: put a comma between two servers"},
    {"zookeeper: {servers: [zk1 zk2]}",
     "f:1:23: error: server \"zk1 zk2\" has a space in it: put a comma between two servers"},
    {"zookeeper: {servers: \"a,b!:2181\"}",
     "f:1:22: error: server \"a\" has no port: it must be of the form HOST:PORT\n"
     "f:1:22: error: server \"b!:2181\" is not of the form HOST:PORT"},
    {"zookeeper: {servers: \"http://zk1:2181\"}",
     "f:1:22: error: server \"http://zk1:2181\" begins with a scheme: write HOST:PORT alone"},
    {"zookeeper.servers: a:1", "f:1:1: error: unknown key \"zookeeper.servers\": write "
                               "\"zookeeper:\", and below it \"servers\", "
                               "indented further"},
    {"servers: a:1", "f:1:1: error: unknown key \"servers\": it stands below \"zookeeper\""},
    {"labels: {a: b}", "f:1:1: error: unknown key \"labels\": it stands below \"node\""},
    {"jobs: {a: {exec: /bin/true}}",
     "f:1:1: error: unknown key \"jobs\": jobs stand in files of their own, "
     "/etc/jobkeeper/jobs.d/NAME.yaml"},
    {"zookeeper: {heartbeat: 1s}", "f:1:13: error: unknown key \"heartbeat\""},
    {"zookeeper: {servers: [[a:1]]}",
     "f:1:23: error: an entry of \"servers\" must be a text, not a list"},
    {"zookeeper: {root: 5}",
     "f:1:19: error: \"root\" must be a text, not an integer (put it in quotes)"},
    {"zookeeper: {root: jobkeeper}",
     "f:1:19: error: \"root\": \"jobkeeper\" is not an absolute path"},
    {"zookeeper: {root: /}", "f:1:19: error: \"root\": \"/\" must be a znode below \"/\""},
    {"zookeeper: {root: /a/}",
     "f:1:19: error: \"root\": \"/a/\" may not end with \"/\" or have an empty part"},
    {"zookeeper: {root: /a//b}",
     "f:1:19: error: \"root\": \"/a//b\" may not end with \"/\" or have an empty part"},
    {"zookeeper: {root: /a/../b}",
     "f:1:19: error: \"root\": \"/a/../b\" may not have \".\" or \"..\" in it"},
    {"zookeeper: {root: /zookeeper/x}",
     "f:1:19: error: \"root\": \"/zookeeper/x\" belongs to ZooKeeper itself"},
    {"zookeeper: {session-timeout: 500ms}",
     "f:1:30: error: \"session-timeout\" must be from 1s to 10min, not 500ms"},
    {"zookeeper: {session-timeout: infinity}",
     "f:1:30: error: \"session-timeout\" must be from 1s to 10min, not infinity"},
    {"zookeeper: {session-timeout: [30s]}", "f:1:30: error: \"session-timeout\" must be a duration "
                                            "(\"1h 30min\", or whole seconds), not a list"},
    {"zookeeper: {tick-time: 1ms}",
     "f:1:24: error: \"tick-time\" must be from 50ms to 1min, not 1ms"},
    {"zookeeper: {tick-time: 02}", "f:1:24: error: \"tick-time\" must be written in decimal digits "
                                   "without leading zeros, not 02"},
    {"zookeeper: {sync-limit: 0}", "f:1:25: error: \"sync-limit\" must be from 1 to 100, not 0"},
    {"zookeeper: {sync-limit: 5s}", "f:1:25: error: \"sync-limit\" must be an integer, not \"5s\""},
    {"zookeeper: {sync-limit: \"5\"}",
     "f:1:25: error: \"sync-limit\" must be an integer, not \"5\""},
    {"zookeeper: {auth: kerberos}", "f:1:19: error: \"auth\" must be \"digest\", not \"kerberos\""},
    {"zookeeper: {auth: [digest]}", "f:1:19: error: \"auth\" must be \"digest\", not a list"},
    {"zookeeper: {auth: digest}",
     "f:1:19: error: \"auth\" needs \"servers\": the secret is sent to whoever listens at their "
     "addresses, so none are assumed"},
    {"zookeeper: {tls: {ca: /x}}", "f:1:18: error: \"tls\" is not supported yet"},
    {"zookeeper: {tls: yes}", "f:1:18: error: \"tls\" must be a mapping, not \"yes\""},
    {"node: n1", "f:1:7: error: \"node\" must be a mapping, not \"n1\""},
    {"node: {name: N1}",
     "f:1:14: error: \"name\": \"N1\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"node: {name: \"\"}", "f:1:14: error: \"name\": \"\" is empty"},
    {"node: {name: [a]}", "f:1:14: error: \"name\" must be a text, not a list"},
    {"node: {name: }", "f:1:14: error: \"name\" must be a text, not nothing"},
    {"node: {labels: [a]}", "f:1:16: error: \"labels\" must be a mapping, not a list"},
    {"node: {labels: {Role: x}}",
     "f:1:17: error: label \"Role\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"node: {labels: {role: }}",
     "f:1:23: error: \"role\" of \"labels\" must be a text, not nothing"},
    {"node: {labels: {role: \"\"}}", "f:1:23: error: \"role\" of \"labels\": \"\" is empty"},
    {"node: {labels: {role: [a]}}",
     "f:1:23: error: \"role\" of \"labels\" must be a text, not a list"},
    {"node: {lables: {}}", "f:1:8: error: unknown key \"lables\" (did you mean \"labels\"?)"},
    {"node: {window: Sat 22:00}",
     "f:1:16: error: \"window\" must be a list or a mapping, not \"Sat 22:00\""},
    {"node: {window: [Sat]}",
     "f:1:17: error: an entry of \"window\" must be a mapping, not \"Sat\""},
    {"node: {window: {from: Sat 22:00}}",
     "f:1:16: error: a window needs \"for\": how long it lasts, such as 6h"},
    {"node: {window: [{for: 6h}]}",
     "f:1:17: error: a window needs \"from\": when it begins, such as \"Sat 22:00\""},
    {"node: {window: {from: 22, for: 0}}",
     "f:1:23: error: \"from\" must be a text, not an integer (put it in quotes)\n"
     "f:1:32: error: \"for\" must be from 1s to 366d, not 0"},
    {"node: {window: {from: daily, until: 06:00, for: 1h}}",
     "f:1:30: error: unknown key \"until\""},
    {"node: {window: {from: daily, for: 1500ms}}",
     "f:1:35: error: \"for\" must be whole seconds, from 1s to 366d"},
    {"node: {window: {from: someday, for: 1h}}",
     "f:1:23: error: \"window\": calendar expression \"someday\": \"someday\" is no weekday, date, "
     "time or "
     "word such as \"daily\""},
    {"node: {window: {from: \"*-02-30\", for: 1h}}",
     "f:1:23: error: \"window\": calendar expression \"*-02-30\": there is no such moment, so the "
     "window never begins, from 1970 to 2199"},
    {"node: {window: [{from: daily, for: 1h}, {from: daily, for: 24h}]}",
     "f:1:60: error: \"for\" must be shorter than the time between any two beginnings of the "
     "window, and from 2025-01-01 00:00:00 to 2025-01-02 00:00:00 UTC that is only 1d"},
    {"node: {for: 6h}", "f:1:8: error: unknown key \"for\": it stands below \"window\""},
    {"node: {timezone: Europe/Berlin, window: {from: daily, for: 1h}}",
     "f:1:8: error: unknown key \"timezone\": \"from\" of \"window\" names its zone itself, as in "
     "\"Sat 22:00 Europe/Berlin\""},
    {"heartbeat: 0", "f:1:12: error: \"heartbeat\" must be from 50ms to 1min, not 0"},
    {"heartbeat: 2min", "f:1:12: error: \"heartbeat\" must be from 50ms to 1min, not 2min"},
    {"heartbeat: maybe", "f:1:12: error: \"heartbeat\" must be a duration (\"1h 30min\", or whole "
                         "seconds), not \"maybe\""},
    {"fence-budget: 50ms", "f:1:15: error: \"fence-budget\" must be from 100ms to 5min, not 50ms"},
    {"fence-budget: infinity",
     "f:1:15: error: \"fence-budget\" must be from 100ms to 5min, not infinity"},
    {"fence-budget: [8s]", "f:1:15: error: \"fence-budget\" must be a duration (\"1h 30min\", or "
                           "whole seconds), not a list"},
    {"kill-slack: 0", "f:1:13: error: \"kill-slack\" must be from 10ms to 1min, not 0"},
    {"kill-slack: 08", "f:1:13: error: \"kill-slack\" must be written in decimal digits without "
                       "leading zeros, not 08"},
    {"kill-slack: 8s",
     "f:1:13: error: \"kill-slack\" (8s) must be less than \"fence-budget\" (8s)"},
    {"fence-budget: 2s",
     "f:1:15: error: \"kill-slack\" (2s) must be less than \"fence-budget\" (2s)"},
    {"takeover-delay: 0", "f:1:17: error: \"takeover-delay\" must be from 10ms to 5min, not 0"},
    {"takeover-delay: {a: b}", "f:1:17: error: \"takeover-delay\" must be a duration (\"1h "
                               "30min\", or whole seconds), not a mapping"},
    {"max-skew: 1h", "f:1:11: error: \"max-skew\" must be from 10ms to 5min, not 1h"},
    {"max-skew: true", "f:1:11: error: \"max-skew\" must be a duration (\"1h 30min\", or whole "
                       "seconds), not a boolean"},
    {"max-runs: -1", "f:1:11: error: \"max-runs\" must be from 0 to 10000, not -1"},
    {"max-runs: 10001", "f:1:11: error: \"max-runs\" must be from 0 to 10000, not 10001"},
    {"max-runs: \"5\"", "f:1:11: error: \"max-runs\" must be an integer, not \"5\""},
    {"max-runs: none", "f:1:11: error: \"max-runs\" must be an integer, not \"none\""},
    {"drain-timeout: 2d", "f:1:16: error: \"drain-timeout\" must be from 0 to 1d, not 2d"},
    {"drain-timeout: 1.5", "f:1:16: error: \"drain-timeout\" must be a duration (\"1h 30min\", or "
                           "whole seconds), not a fraction"},
    {"wait-for-clock: maybe", "f:1:17: error: \"wait-for-clock\" must be yes or no, not \"maybe\""},
    {"wait-for-clock: \"yes\"", "f:1:17: error: \"wait-for-clock\" must be yes or no, not \"yes\""},
    {"wait-for-clock: Yes", "f:1:17: error: \"wait-for-clock\" must be yes or no, not \"Yes\""},
    {"wait-for-clock: 1", "f:1:17: error: \"wait-for-clock\" must be yes or no, not an integer"},
    {"resources: {db: {path: 5}}",
     "f:1:24: error: \"path\" must be a text, not an integer (put it in quotes)"},
    {"resources: {db: {path: db}}", "f:1:24: error: \"path\": \"db\" is not an absolute path"},
    {"resources: {db: {path: /}}", "f:1:24: error: \"path\": \"/\" must be a znode below \"/\""},
    {"resources: {db: {path: /a/}}",
     "f:1:24: error: \"path\": \"/a/\" may not end with \"/\" or have an empty part"},
    {"resources: {db: {path: /zookeeper/quota}}",
     "f:1:24: error: \"path\": \"/zookeeper/quota\" belongs to ZooKeeper itself"},
    {"resources: {db: {path: /jobkeeper}}",
     "f:1:24: error: \"path\": /jobkeeper and the \"root\" of \"zookeeper\", /jobkeeper, must not "
     "be the same or contain one another"},
    {"resources: {db: {path: /jobkeeper/locks/x}}",
     "f:1:24: error: \"path\": /jobkeeper/locks/x and the \"root\" of \"zookeeper\", /jobkeeper, "
     "must not be the same or contain one another"},
    {"resources: {db: {path: /a/b}}\nzookeeper: {root: /a/b/c}",
     "f:1:24: error: \"path\": /a/b and the \"root\" of \"zookeeper\", /a/b/c, must not be the "
     "same or contain one another"},
    {"resources: {b: {path: /db}, a: {path: /db}}",
     "f:1:39: error: \"path\": /db and that of resource \"b\", /db, must not be the same or "
     "contain one another"},
    {"resources: {b: {path: /db/lock}, c: {path: /db2}, a: {path: /db}}",
     "f:1:61: error: \"path\": /db and that of resource \"b\", /db/lock, must not be the same or "
     "contain one another"},
    {"resources: {b: {path: /db}, a: {path: /db/lock}}",
     "f:1:39: error: \"path\": /db/lock and that of resource \"b\", /db, must not be the same or "
     "contain one another"},
    {"resources: {db: {naming: maybe}}",
     "f:1:26: error: \"naming\" must be \"curator-rw\", \"curator-mutex\", \"kazoo\" or "
     "\"single-node\", not \"maybe\""},
    {"resources: {db: {naming: [kazoo]}}",
     "f:1:26: error: \"naming\" must be \"curator-rw\", \"curator-mutex\", \"kazoo\" or "
     "\"single-node\", not a list"},
    {"resources: {db: {slots: 0}}", "f:1:25: error: \"slots\" must be from 1 to 1000, not 0"},
    {"resources: {db: {slots: 1001}}", "f:1:25: error: \"slots\" must be from 1 to 1000, not 1001"},
    {"resources: {db: {slots: many}}", "f:1:25: error: \"slots\" must be an integer, not \"many\""},
    {"resources: {db: {slots: 2, naming: kazoo}}",
     "f:1:25: error: \"slots\" and \"naming: kazoo\" cannot be used together"},
    {"resources: {db: {slots: 2, naming: curator-mutex}}",
     "f:1:25: error: \"slots\" and \"naming: curator-mutex\" cannot be used together"},
    {"resources: {db: {slots: 2, naming: single-node}}",
     "f:1:25: error: \"slots\" and \"naming: single-node\" cannot be used together"},
    {"resources: {db: {pth: /x}}", "f:1:18: error: unknown key \"pth\" (did you mean \"path\"?)"},
    {"resources: {db: kazoo}",
     "f:1:17: error: \"db\" of \"resources\" must be a mapping, not \"kazoo\""},
    {"resources: {Db: {}}",
     "f:1:13: error: resource \"Db\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"resources: {\"job:a\": {}}", "f:1:13: error: resource \"job:a\" is a job's own: the key "
                                   "\"lock\" says how a job holds that"},
    {"resources: [db]", "f:1:12: error: \"resources\" must be a mapping, not a list"},
    {"hartbeat: 1s", "f:1:1: error: unknown key \"hartbeat\" (did you mean \"heartbeat\"?)"},
    {"[a]", "f:1:1: error: the configuration must be a mapping, not a list"},
};

Test(daemon_config, bad) {
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                (void)daemon_config_free(parse(bad[i].text, bad[i].errors));
}

/* The table above must not forget a key. */
static void expect_bad_lines(const KeyTable *table, const char *before) {
        for (const Key *key = table->keys; key->name; key++) {
                g_autofree char *prefix = g_strdup_printf("%s%s:", before, key->name);
                bool found = false;

                for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                        found |= g_str_has_prefix(bad[i].text, prefix) &&
                                 strstr(bad[i].errors, " must ");
                cr_expect(found, "%s", prefix);
                cr_expect(key->documentation && g_str_has_suffix(key->documentation, "."), "%s",
                          prefix);
        }
}

Test(daemon_config, every_key_has_a_bad_line) {
        expect_bad_lines(&daemon_table, "");
        expect_bad_lines(key_table_find(&daemon_table, "zookeeper")->table, "zookeeper: {");
        expect_bad_lines(key_table_find(&daemon_table, "node")->table, "node: {");
        expect_bad_lines(key_table_find(&daemon_table, "resources")->entry->table,
                         "resources: {db: {");
}

/* Those of the manual. */
static void expect_defaults(const DaemonConfig *config) {
        cr_expect_str_eq(config->servers, "127.0.0.1:2181");
        cr_expect_str_eq(config->root, "/jobkeeper");
        cr_expect_eq(config->session_timeout, 30 * USEC_PER_SEC);
        cr_expect_eq(config->tick_time, 2 * USEC_PER_SEC);
        cr_expect_eq(config->sync_limit, 5);
        cr_expect_eq(config->auth, DAEMON_AUTH_NONE);
        cr_expect_null(daemon_config_resource(config, "db"));
        cr_expect_eq(g_hash_table_size(config->labels), 0);
        cr_expect_null(config->windows);
        cr_expect_eq(config->heartbeat, USEC_PER_SEC);
        cr_expect_eq(config->fence_budget, 8 * USEC_PER_SEC);
        cr_expect_eq(config->kill_slack, 2 * USEC_PER_SEC);
        cr_expect_eq(config->takeover_delay, 2 * USEC_PER_SEC);
        cr_expect_eq(config->max_skew, 2 * USEC_PER_SEC);
        cr_expect_eq(config->max_runs, 0);
        cr_expect(config->wait_for_clock);
}

Test(daemon_config, defaults) {
        static const char *const texts[] = {
            "", "# nothing\n", "{}\n",
            "zookeeper: {}\nnode: {labels: {}, window: []}\nwait-for-clock: true\nresources: {}\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autofree char *with_name = g_strdup_printf("%s\n", texts[i]);
                _cleanup_(daemon_config_freep) DaemonConfig *config = parse(with_name, "");

                expect_defaults(config);
                cr_expect(name_is_valid(config->node_name));
        }
}

/* The host name without its domain, in lower case, when it can be a name. */
Test(daemon_config, node_name_of_the_host) {
        char host[256] = "";
        g_autofree char *name = NULL;
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;

        cr_assert_eq(gethostname(host, sizeof host - 1), 0);
        host[strcspn(host, ".")] = 0;
        name = g_ascii_strdown(host, -1);
        config = parse("", "");
        cr_expect_str_eq(config->node_name, name);
}

Test(daemon_config, everything) {
        _cleanup_(daemon_config_freep) DaemonConfig *config =
            parse("zookeeper:\n"
                  "  servers: [zk1:2181, \"10.0.0.2:65535\", \"[2001:db8::1]:2181\"]\n"
                  "  root: /prod/jobkeeper\n"
                  "  session-timeout: 10s\n"
                  "  tick-time: 500ms\n"
                  "  sync-limit: 2\n"
                  "  auth: digest\n"
                  "  tls: {}\n"
                  "node:\n"
                  "  name: web-1.eu\n"
                  "  labels: {role: worker, zone: 1}\n"
                  "heartbeat: 250ms\n"
                  "fence-budget: 3\n"
                  "kill-slack: 500ms\n"
                  "takeover-delay: 1s\n"
                  "max-skew: 1s\n"
                  "max-runs: 4\n"
                  "drain-timeout: 0\n"
                  "wait-for-clock: no\n",
                  "");

        cr_expect_str_eq(config->servers, "zk1:2181,10.0.0.2:65535,2001:db8::1:2181");
        cr_expect_str_eq(config->root, "/prod/jobkeeper");
        cr_expect_eq(config->session_timeout, 10 * USEC_PER_SEC);
        cr_expect_eq(config->tick_time, 500 * USEC_PER_MSEC);
        cr_expect_eq(config->sync_limit, 2);
        cr_expect_eq(config->auth, DAEMON_AUTH_DIGEST);
        cr_expect_str_eq(config->node_name, "web-1.eu");
        cr_expect_eq(g_hash_table_size(config->labels), 2);
        cr_expect_str_eq(g_hash_table_lookup(config->labels, "role"), "worker");
        cr_expect_str_eq(g_hash_table_lookup(config->labels, "zone"), "1");
        cr_expect_eq(config->heartbeat, 250 * USEC_PER_MSEC);
        cr_expect_eq(config->fence_budget, 3 * USEC_PER_SEC);
        cr_expect_eq(config->kill_slack, 500 * USEC_PER_MSEC);
        cr_expect_eq(config->takeover_delay, USEC_PER_SEC);
        cr_expect_eq(config->max_skew, USEC_PER_SEC);
        cr_expect_eq(config->max_runs, 4);
        cr_expect_not(config->wait_for_clock);
}

/* In UTC where they name no other zone, and one or several. */
Test(daemon_config, windows) {
        static const struct {
                const char *text, *windows;
        } good[] = {
            {"node: {window: {from: \"Sat 22:00\", for: 6h}}", "\nSat *-*-* 22:00:00 UTC for 6h"},
            {"node: {window: [{from: \"Sat 22:00 Europe/Berlin\", for: 6h}, {from: daily, for: "
             "600}]}",
             "\nSat *-*-* 22:00:00 Europe/Berlin for 6h\n*-*-* 00:00:00 UTC for 10min"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                _cleanup_(daemon_config_freep) DaemonConfig *config = parse(good[i].text, "");
                g_autoptr(GString) text = g_string_new(NULL);

                windows_append(config->windows, "", text);
                cr_expect_str_eq(text->str, good[i].windows);
        }
}

Test(daemon_config, as_many_windows_as_a_job_has) {
        g_autoptr(GString) text = g_string_new("node: {window: [{from: daily, for: 1h}");

        for (unsigned i = 1; i <= WINDOWS_MAX; i++)
                g_string_append(text, ", {from: daily, for: 1h}");
        g_string_append(text, "]}");
        (void)parse(text->str, "f:1:792: error: \"window\": there are at most 32 windows, each of "
                               "at most 1024 characters");
}

/* Where to look when the deadline's sum does not come out. */
Test(daemon_config, the_first_key_that_the_sum_is_made_of_is_known) {
        static const struct {
                const char *text;
                unsigned line, column;
        } cases[] = {
            {"max-runs: 4\n", 0, 0},
            {"max-runs: 4\nfence-budget: 4s\n", 2, 15},
            {"heartbeat: 500ms\nfence-budget: 4s\n", 2, 15},
            {"heartbeat: 500ms\n", 1, 12},
            {"heartbeat: 500ms\nzookeeper:\n  tick-time: 1s\n", 3, 14},
            {"fence-budget: 4s\nzookeeper: {session-timeout: 20s}\n", 2, 30},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(daemon_config_freep) DaemonConfig *config = parse(cases[i].text, "");

                cr_expect_eq(config->sum_mark.line, cases[i].line, "%s: %u", cases[i].text,
                             config->sum_mark.line);
                cr_expect_eq(config->sum_mark.column, cases[i].column, "%s: %u", cases[i].text,
                             config->sum_mark.column);
        }
}

static void expect_resource(const DaemonConfig *config, const char *name, const char *path,
                            DaemonNaming naming, unsigned slots) {
        const DaemonResource *resource = daemon_config_resource(config, name);

        cr_assert_not_null(resource, "%s", name);
        cr_expect_str_eq(resource->name, name);
        cr_expect_eq(g_strcmp0(resource->path, path), 0, "%s", name);
        cr_expect_eq(resource->naming, naming, "%s", name);
        cr_expect_eq(resource->slots, slots, "%s", name);
}

Test(daemon_config, resources) {
        _cleanup_(daemon_config_freep) DaemonConfig *config =
            parse("resources:\n"
                  "  nothing: {}\n"
                  "  ours: {naming: curator-rw, slots: 3}\n"
                  "  one: {naming: kazoo, slots: 1}\n"
                  "  java: {path: /apps/java/lock, naming: curator-mutex}\n"
                  "  python: {path: /jobkeeper2, naming: kazoo}\n"
                  "  old: {path: /old, naming: single-node}\n"
                  "  many: {slots: 1000}\n",
                  "");

        expect_resource(config, "nothing", NULL, DAEMON_NAMING_CURATOR_RW, 0);
        expect_resource(config, "ours", NULL, DAEMON_NAMING_CURATOR_RW, 3);
        expect_resource(config, "one", NULL, DAEMON_NAMING_KAZOO, 1);
        expect_resource(config, "java", "/apps/java/lock", DAEMON_NAMING_CURATOR_MUTEX, 0);
        expect_resource(config, "python", "/jobkeeper2", DAEMON_NAMING_KAZOO, 0);
        expect_resource(config, "old", "/old", DAEMON_NAMING_SINGLE_NODE, 0);
        expect_resource(config, "many", NULL, DAEMON_NAMING_CURATOR_RW, 1000);
        cr_expect_null(daemon_config_resource(config, "other"));
        cr_expect_eq(daemon_config_resource(config, "java")->mark.line, 5);
        cr_expect_eq(daemon_config_resource(config, "java")->mark.column, 3);
}

Test(daemon_config, namings_have_words) {
        static const char *const words[] = {"curator-rw", "curator-mutex", "kazoo", "single-node"};

        for (int i = 0; i < (int)G_N_ELEMENTS(words); i++) {
                DaemonNaming naming = DAEMON_NAMING_CURATOR_RW;

                cr_expect_str_eq(daemon_naming_to_string((DaemonNaming)i), words[i]);
                cr_expect_eq(daemon_naming_from_string(words[i], &naming), 0);
                cr_expect_eq((int)naming, i);
        }
        cr_expect_eq(daemon_naming_from_string("zoo", &(DaemonNaming){0}), -EINVAL);
}

Test(daemon_config, servers_in_one_text) {
        _cleanup_(daemon_config_freep) DaemonConfig *config =
            parse("zookeeper: {servers: \"zk1:2181, zk2:2182\"}\n", "");

        cr_expect_str_eq(config->servers, "zk1:2181,zk2:2182");
}

Test(daemon_config, limits) {
        g_autoptr(GString) servers = g_string_new("zookeeper: {servers: [a0:1");
        g_autoptr(GString) labels = g_string_new("node: {labels: {l0: x");
        g_autoptr(GString) resources = g_string_new("resources: {r0: {}");

        for (unsigned i = 1; i <= DAEMON_SERVERS_MAX; i++)
                g_string_append_printf(servers, ", a%u:1", i);
        for (unsigned i = 1; i <= DAEMON_LABELS_MAX; i++)
                g_string_append_printf(labels, ", l%u: x", i);
        for (unsigned i = 1; i <= DAEMON_RESOURCES_MAX; i++)
                g_string_append_printf(resources, ", r%u: {}", i);
        g_string_append(servers, "]}");
        g_string_append(labels, "}}");
        g_string_append(resources, "}");
        (void)parse(resources->str, "f:1:12: error: \"resources\" has more than 256 entries");
        (void)parse(servers->str, "f:1:22: error: \"servers\" has more than 32 entries");
        (void)parse(labels->str, "f:1:16: error: \"labels\" has more than 64 entries");
}

Test(daemon_config, all_faults_at_once) {
        (void)parse("heartbeat: 010\nzookeper: {}\nnode: {name: N}\nmax-runs: many\n",
                    "f:1:12: error: \"heartbeat\" must be written in decimal digits without "
                    "leading zeros, not 010\n"
                    "f:2:1: error: unknown key \"zookeper\" (did you mean \"zookeeper\"?)\n"
                    "f:3:14: error: \"name\": \"N\" may only have the characters a-z, 0-9, '.', "
                    "'_' and '-'\n"
                    "f:4:11: error: \"max-runs\" must be an integer, not \"many\"");
}

Test(daemon_config, load) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *root = tree_make();
        g_autofree char *path = tree_path(root, "jobkeeper.yaml");
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;

        cr_assert_eq(daemon_config_load(path, diagnostics, &config), 0,
                     "a missing file means the defaults");
        expect_defaults(config);
        config = daemon_config_free(config);

        tree_write(root, "jobkeeper.yaml", "max-runs: 3\n");
        cr_assert_eq(daemon_config_load(path, diagnostics, &config), 0);
        cr_expect_eq(config->max_runs, 3);
        config = daemon_config_free(config);
        expect_errors(diagnostics, "");

        cr_assert_eq(chmod(path, 0666), 0);
        cr_expect_eq(daemon_config_load(path, diagnostics, &config), -EBADMSG);
        cr_expect_null(config);
        cr_expect_eq(diagnostics_count(diagnostics), 1);
        tree_remove(root);
}
