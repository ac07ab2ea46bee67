/* The keys of a job, one by one: for every key what people are told about a value of a wrong type,
 * a wrong value, one that is not supported yet, and one too many. */
#include "job-keys.h"

#include <criterion/criterion.h>
#include <string.h>

#include "job-file-fixture.h"

/* Every key, each with wrong types, wrong values and values that are not supported yet. */
static const struct {
        const char *line;
        const char *errors;
} bad_lines[] = {
    {"description: 5",
     "f:4:18: error: \"description\" must be a text, not an integer (put it in quotes)"},
    {"description: [x]", "f:4:18: error: \"description\" must be a text, not a list"},
    {"description: {a: b}", "f:4:18: error: \"description\" must be a text, not a mapping"},
    {"description:", "f:4:17: error: \"description\" must be a text, not nothing"},
    {"description: \"a\\tb\"", "f:4:18: error: \"description\": \"a\\x09b\" may not have line "
                               "breaks or other control characters"},
    {"after:", "f:4:11: error: \"after\" must be a text, a list or a mapping, not nothing"},
    {"after: A",
     "f:4:12: error: \"after\": \"A\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"after: {on: any}", "f:4:12: error: \"after\" names no job: write \"job: NAME\" in it"},
    {"after: {job: b, on: sometimes}", "f:4:25: error: \"on\" must be \"success\", \"failure\" or "
                                       "\"any\", not \"sometimes\""},
    {"after: {jobs: b}", "f:4:13: error: unknown key \"jobs\" (did you mean \"job\"?)"},
    {"after: [b, [c]]",
     "f:4:16: error: an entry of \"after\" must be a text or a mapping, not a list"},
    {"after: [b, {job: c, on: any}, b]",
     "f:4:35: error: job \"a\": \"after\" names \"b\" twice: write it once, with \"on: any\" for a "
     "success and a failure"},
    {"after: a", "f:4:12: error: job \"a\" cannot run after itself: for a further attempt of what "
                 "failed use \"retries\""},
    {"after: {all: [b, c], any: [d]}", "f:4:26: error: \"after\" has both \"all\" and \"any\": "
                                       "write one of them; what is to run after "
                                       "several jobs together and after others alone, is two jobs"},
    {"after: {all: [b, c], on: any}", "f:4:26: error: in \"after\" nothing stands beside \"all\" "
                                      "or \"any\": write \"{job: NAME, on: "
                                      "END}\" as an entry of its list"},
    {"after: {job: b, any: [c, d]}", "f:4:21: error: in \"after\" nothing stands beside \"all\" or "
                                     "\"any\": write \"{job: NAME, on: "
                                     "END}\" as an entry of its list"},
    {"after: {all: []}", "f:4:18: error: \"all\" names no job: name those that are followed, or "
                         "leave \"after\" out"},
    {"after: {any: []}", "f:4:18: error: \"any\" names no job: name those that are followed, or "
                         "leave \"after\" out"},
    {"after: {all: [b]}",
     "f:4:18: error: \"all\" names one job alone: write it without \"all\", as "
     "\"after: NAME\" or \"after: {job: NAME, on: END}\""},
    {"after: {all: b}", "f:4:18: error: \"all\" must be a list, not \"b\""},
    {"after: {any: {job: b}}", "f:4:18: error: \"any\" must be a list, not a mapping"},
    {"after: {each: [b, c]}", "f:4:13: error: unknown key \"each\""},
    {"after: {al: [b, c]}", "f:4:13: error: unknown key \"al\" (did you mean \"all\"?)"},
    {"after: {all: [b, c], wait: 1h}", "f:4:26: error: unknown key \"wait\""},
    {"after: {all: [b, {all: [c, d]}]}", "f:4:23: error: unknown key \"all\""},
    {"after: {all: [b, {on: any}]}",
     "f:4:22: error: an entry of \"all\" names no job: write \"job: NAME\" in it"},
    {"after: {all: [b, {job: b, on: any}]}",
     "f:4:22: error: job \"a\": \"after\" names \"b\" twice: write it once, with \"on: any\" for a "
     "success and a failure"},
    {"after: {all: [b, a]}",
     "f:4:22: error: job \"a\" cannot run after itself: for a further attempt "
     "of what failed use \"retries\""},
    {"on-failure: [b]", "f:4:17: error: \"on-failure\" must be a text or [] for none, not a list"},
    {"on-failure: B b", "f:4:17: error: \"on-failure\": \"B b\" may only have the characters a-z, "
                        "0-9, '.', '_' and '-'"},
    {"on-failure: a", "f:4:17: error: job \"a\": \"on-failure\" names the job itself: name another "
                      "one, and where \"defaults\" says it, give this job \"on-failure: []\""},
    {"on-recovery: {job: b}",
     "f:4:18: error: \"on-recovery\" must be a text or [] for none, not a mapping"},
    {"on-recovery: a",
     "f:4:18: error: job \"a\": \"on-recovery\" names the job itself: name another one, and where "
     "\"defaults\" says it, give this job \"on-recovery: []\""},
    {"was: [b]", "f:4:10: error: \"was\" must be a text, not a list"},
    {"was: B b", "f:4:10: error: \"was\": \"B b\" may only have the characters a-z, 0-9, '.', '_' "
                 "and '-'"},
    {"was: a", "f:4:10: error: job \"a\": \"was\" names the job itself: write the name that it had "
               "before, or take \"was\" out"},
    {"depends-on: b", "f:4:5: error: unknown key \"depends-on\": here it is \"after\""},
    {"OnSuccess: b", "f:4:5: error: unknown key \"OnSuccess\": here the job that follows says "
                     "\"after\", and which job it follows"},
    {"on-success: b", "f:4:5: error: unknown key \"on-success\": here the job that follows says "
                      "\"after\", and which job it follows"},
    {"needs: b", "f:4:5: error: unknown key \"needs\": here it is \"after\""},
    {"mode: 5",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not an integer"},
    {"mode: twice",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not \"twice\""},
    {"mode: each-node", ""},
    {"mode: each-node\nslots: 2\nlock-wait: 1h\non-failure: b", ""},
    {"mode: each-node\nslots: 2\noverlap: queue", ""},
    {"mode: each-node\nlock: none\non-lock-loss: continue", ""},
    {"mode: each-node\nmax-failures: 1", ""},
    {"mode: each-node\nmax-failures: 100\nlock: shared", ""},
    {"max-failures: none", "f:4:19: error: \"max-failures\" must be an integer, not \"none\""},
    {"max-failures: 1",
     "f:4:19: error: job \"a\": \"max-failures\" is for \"mode: each-node\", where a tick is run "
     "on "
     "one node after the other: a job of \"mode: once\" has \"retries\" and \"on-failure\""},
    {"mode: each-node\nmax-failures: 0",
     "f:5:19: error: \"max-failures\" must be from 1 to 100, not 0"},
    {"mode: each-node\nmax-failures: 101",
     "f:5:19: error: \"max-failures\" must be from 1 to 100, not 101"},
    {"mode: each-node\nmax-failures: 10%",
     "f:5:19: error: \"max-failures\" must be an integer, not \"10%\""},
    {"mode: each-node\nmax-failures: []",
     "f:5:19: error: \"max-failures\" must be an integer, not a list"},
    {"mode: each-node\nrejoin-timeout: 10min", ""},
    {"mode: each-node\nrejoin-timeout: 15\nslots: 3\nreboot: success", ""},
    {"mode: each-node\nrejoin-timeout: 1d\nlock-wait: 1d\nreboot: fail\nmax-failures: 2", ""},
    {"rejoin-timeout: 10min",
     "f:4:21: error: job \"a\": \"rejoin-timeout\" is for \"mode: each-node\", where the next node "
     "begins when the one before is back: a job of \"mode: once\" waits for no node"},
    {"mode: each-node\nrejoin-timeout: 10min\nlock: shared",
     "f:5:21: error: job \"a\": \"rejoin-timeout\" and \"lock: shared\" cannot be used together: "
     "by "
     "that the nodes do not wait for each other; use \"lock: exclusive\""},
    {"mode: each-node\nrejoin-timeout: 10min\nlock: none",
     "f:5:21: error: job \"a\": \"rejoin-timeout\" and \"lock: none\" cannot be used together: by "
     "that the nodes do not wait for each other; use \"lock: exclusive\""},
    {"mode: each-node\nrejoin-timeout: 10min\nlock-wait: 9min",
     "f:5:21: error: job \"a\": \"rejoin-timeout\" is 10min, which is longer than \"lock-wait\" "
     "(9min): the nodes behind would have given up by then; set \"lock-wait\" to more, or take it "
     "out"},
    {"mode: each-node\nrejoin-timeout: 14s",
     "f:5:21: error: \"rejoin-timeout\" must be from 15s to 1d, not 14s"},
    {"mode: each-node\nrejoin-timeout: 25h",
     "f:5:21: error: \"rejoin-timeout\" must be from 15s to 1d, not 25h"},
    {"mode: each-node\nrejoin-timeout: infinity",
     "f:5:21: error: \"rejoin-timeout\" must be from 15s to 1d, not infinity"},
    {"rejoin-timeout: soon",
     "f:4:21: error: \"rejoin-timeout\" must be a duration (\"1h 30min\", or whole seconds), not "
     "\"soon\""},
    {"reboot: success",
     "f:4:13: error: job \"a\": \"reboot\" is for \"mode: each-node\", where each node settles its "
     "own run when it is back: in \"mode: once\" a run that its node's reboot ended is interrupted "
     "or unknown"},
    {"mode: each-node\nreboot: fail",
     "f:5:13: error: job \"a\": \"reboot\" needs \"rejoin-timeout\": so long the other nodes wait "
     "for one that is rebooted before they record its run as unknown"},
    {"reboot: yes", "f:4:13: error: \"reboot\" must be \"success\" or \"fail\", not \"yes\""},
    {"mode: each-node\nlock: shared\nslots: 2",
     "f:6:12: error: job \"a\": \"slots\" and \"lock: shared\" cannot be used together: by that "
     "the nodes do not wait for each other; use \"lock: exclusive\", by which that many run it at "
     "a "
     "time"},
    {"mode: each-node\nwas: b",
     "f:5:10: error: job \"a\": \"was\" and \"mode: each-node\" cannot be used together: nodes "
     "with "
     "the old file would not wait for those with the new one; give all of them the new name "
     "without it"},
    {"mode: each-node\nafter: b",
     "f:5:12: error: job \"a\": \"after\" and \"mode: each-node\" cannot be used together: the end "
     "of one run would ask for one on each node; use a \"schedule\", or \"mode: once\""},
    {"mode: each-node\nlock: shared\noverlap: allow",
     "f:6:14: error: job \"a\": \"overlap: allow\" and \"mode: each-node\" cannot be used "
     "together: "
     "on a node one run follows the other; \"slots: 3\" or \"lock: shared\" lets several nodes run "
     "it at the same time"},
    {"mode: each-node\non-lock-loss: continue",
     "f:5:19: error: job \"a\": \"on-lock-loss: continue\" and \"mode: each-node\" cannot be used "
     "together: the next node would not be kept from beginning by a run that has lost the lock; "
     "only "
     "with \"lock: none\" do the nodes not wait for each other at all"},
    {"mode: each-node\nevery: 1h\non-owner-lost: rerun",
     "f:4:11: error: job \"a\": \"on-owner-lost: rerun\" and \"mode: each-node\" cannot be used "
     "together: what was to run on the node that was lost cannot run on another one; use "
     "\"on-owner-lost: fail\""},
    {"mode: [once]",
     "f:4:11: error: \"mode\" must be \"once\", \"each-node\" or \"service\", not a list"},
    {"ready: [notify]\nmode: service",
     "f:4:12: error: \"ready\" must be \"at-start\" or \"notify\", not a list"},
    {"restart: 5s\nmode: service", "f:4:14: error: \"restart\" must be a mapping, not \"5s\""},
    {"mode: service\nrestart: {delay: 25h}",
     "f:5:22: error: \"delay\" must be from 1s to 1d, not 25h"},
    {"schedule: 5",
     "f:4:15: error: \"schedule\" must be a text or a list, not an integer (put it in quotes)"},
    {"schedule: {a: b}", "f:4:15: error: \"schedule\" must be a text or a list, not a mapping"},
    {"schedule: [daily, 5]",
     "f:4:23: error: an entry of \"schedule\" must be a text, not an integer (put it in quotes)"},
    {"schedule: []",
     "f:4:15: error: \"schedule\" is empty: omit it for a job that is started only on request"},
    {"schedule: \"maybe\"", "f:4:15: error: \"schedule\": calendar expression \"maybe\": \"maybe\" "
                            "is no weekday, date, time or word such as \"daily\""},
    {"schedule: [daily, maybe, sometimes]",
     "f:4:23: error: \"schedule\": calendar expression \"maybe\": \"maybe\" is no weekday, date, "
     "time or word such as \"daily\"\n"
     "f:4:30: error: \"schedule\": calendar expression \"sometimes\": \"sometimes\" is no weekday, "
     "date, time or word such as \"daily\""},
    {"schedule: \"*-02-30 00:00\"",
     "f:4:15: error: \"schedule\": calendar expression \"*-02-30 00:00\": it never elapses: no "
     "such moment exists from 1970 to 2199"},
    {"schedule: \"every 5 minutes\"",
     "f:4:15: error: \"schedule\": calendar expression \"every 5 minutes\": this is an interval: "
     "use \"every: 5min\" instead"},
    {"schedule: 5min", "f:4:15: error: \"schedule\": calendar expression \"5min\": this is an "
                       "interval: use \"every: 5min\" instead"},
    {"every: daily", "f:4:12: error: \"every\": \"daily\" is no interval but times of the "
                     "calendar: use \"schedule:\" instead"},
    {"every: \"*/5 * * * *\"", "f:4:12: error: \"every\": \"*/5 * * * *\" is no interval but "
                               "times of the calendar: use \"schedule:\" instead"},
    {"schedule: daily\nevery: 5min",
     "f:5:5: error: \"every\" and \"schedule\" cannot be used together"},
    {"every: maybe",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not \"maybe\""},
    {"every: [5min]",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not a list"},
    {"every: 010",
     "f:4:12: error: \"every\" must be written in decimal digits without leading zeros, not 010"},
    {"every: 0x10",
     "f:4:12: error: \"every\" must be written in decimal digits without leading zeros, not 0x10"},
    {"every: 0", "f:4:12: error: \"every\" must be from 1s to 366d, not 0"},
    {"every: 1500ms", "f:4:12: error: \"every\": an interval is whole seconds, at least one"},
    {"every: -5", "f:4:12: error: \"every\" must be from 1s to 366d, not -5"},
    {"every: 1.5", "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), "
                   "not a fraction"},
    {"every: infinity", "f:4:12: error: \"every\" must be from 1s to 366d, not infinity"},
    {"every: true",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not a boolean"},
    {"every: \"1e3\"",
     "f:4:12: error: \"every\" must be a duration (\"1h 30min\", or whole seconds), not \"1e3\""},
    {"every: 99999999999999999999",
     "f:4:12: error: \"every\" must be from 1s to 366d, not 99999999999999999999"},
    {"schedule: 30 2 * * 1-5", "f:4:15: error: \"schedule\": calendar expression \"30 2 * * 1-5\": "
                               "this is cron's form; here it is \"Mon..Fri *-*-* 02:30\". Its "
                               "times are UTC where no \"timezone\" is set; cron's are local"},
    {"schedule: \"@reboot\"", "f:4:15: error: \"schedule\": calendar expression \"@reboot\": this "
                              "is cron's, and no schedule "
                              "can say it: for something at each boot, enable a systemd service"},
    {"nodes: [web, \"web-[0-9\"]",
     "f:4:18: error: the pattern \"web-[0-9\" has a \"[\" that no \"]\" closes"},
    {"nodes: [\"web-[]0-9\"]",
     "f:4:13: error: the pattern \"web-[]0-9\" has a \"[\" that no \"]\" closes"},
    {"nodes: {role: \"a\\\\\"}", "f:4:13: error: the pattern \"a\\\" ends with a backslash"},
    {"timezone: 5",
     "f:4:15: error: \"timezone\" must be a text, not an integer (put it in quotes)"},
    {"timezone: Mars/Base", "f:4:15: error: \"timezone\": \"Mars/Base\" is not the name of a time "
                            "zone (such as \"Europe/Berlin\")"},
    {"timezone: right/UTC", "f:4:15: error: \"timezone\": \"right/UTC\" is not the name of a time "
                            "zone (such as \"Europe/Berlin\")"},
    {"dst: skip", "f:4:10: error: \"dst\" must be a mapping, not \"skip\""},
    {"dst: {gap: leap}", "f:4:16: error: \"gap\" must be \"shift\" or \"skip\", not \"leap\""},
    {"dst: {overlap: second}",
     "f:4:20: error: \"overlap\" must be \"first\", \"last\" or \"both\", "
     "not \"second\""},
    {"timezone: Europe/Berlin\ndst: {gap: skip}\nschedule: \"2023-03-26 02:30\"",
     "f:6:15: error: \"schedule\": calendar expression \"2023-03-26 02:30\": it never elapses: no "
     "such moment exists from 1970 to 2199"},
    {"dst: {gab: shift}", "f:4:11: error: unknown key \"gab\" (did you mean \"gap\"?)"},
    {"dst: {gap: 5, overlap: [first]}",
     "f:4:16: error: \"gap\" must be \"shift\" or \"skip\", not an integer\n"
     "f:4:28: error: \"overlap\" must be \"first\", \"last\" or \"both\", not a list"},
    {"except: 5\nschedule: daily",
     "f:4:13: error: \"except\" must be a text or a list, not an integer (put it in quotes)"},
    {"schedule: daily\nexcept: {a: b}",
     "f:5:13: error: \"except\" must be a text or a list, not a mapping"},
    {"schedule: daily\nexcept: [Sun, 5]",
     "f:5:19: error: an entry of \"except\" must be a text, not an integer (put it in quotes)"},
    {"schedule: daily\nexcept: [Sun, holidays, often]",
     "f:5:19: error: \"except\": calendar expression \"holidays\": \"holidays\" is no weekday, "
     "date, "
     "time or word such as \"daily\"\n"
     "f:5:29: error: \"except\": calendar expression \"often\": \"often\" is no weekday, date, "
     "time "
     "or word such as \"daily\""},
    {"schedule: daily\nexcept: \"*-02-30\"",
     "f:5:13: error: \"except\": calendar expression \"*-02-30\": there is no such moment, so "
     "nothing is excepted, from 1970 to 2199"},
    {"schedule: daily\nexcept: 0 0 * * 0",
     "f:5:13: error: \"except\": calendar expression \"0 0 * * 0\": this is cron's form; here it "
     "is "
     "\"Sun *-*-* 00:00\". Its times are UTC where no \"timezone\" is set; cron's are local"},
    {"schedule: Mon..Fri 02:00\nexcept: [Mon..Wed, \"Thu,Fri\"]",
     "f:5:13: error: job \"a\": \"except\" leaves nothing of its schedule"},
    {"except: Sun", "f:4:5: error: \"except\" needs \"schedule\" or \"every\": what is started by "
                    "hand has no ticks"},
    {"window: Sat 22:00\nschedule: daily",
     "f:4:13: error: \"window\" must be a list or a mapping, not \"Sat 22:00\""},
    {"schedule: daily\nwindow: [Sat]",
     "f:5:14: error: an entry of \"window\" must be a mapping, not \"Sat\""},
    {"schedule: daily\nwindow: {from: Sat 22:00}",
     "f:5:13: error: a window needs \"for\": how long it lasts, such as 6h"},
    {"schedule: daily\nwindow: [{for: 6h}]",
     "f:5:14: error: a window needs \"from\": when it begins, such as \"Sat 22:00\""},
    {"schedule: daily\nwindow: {from: 22, for: 0}",
     "f:5:20: error: \"from\" must be a text, not an integer (put it in quotes)\n"
     "f:5:29: error: \"for\" must be from 1s to 366d, not 0"},
    {"schedule: daily\nwindow: {from: daily, for: 0}",
     "f:5:32: error: \"for\" must be from 1s to 366d, not 0"},
    {"schedule: daily\nwindow: {from: daily, until: 06:00, for: 1h}",
     "f:5:27: error: unknown key \"until\""},
    {"schedule: daily\nwindow: {from: daily, for: 1500ms}",
     "f:5:32: error: \"for\" must be whole seconds, from 1s to 366d"},
    {"schedule: daily\nwindow: {from: \"*-02-30\", for: 1h}",
     "f:5:20: error: \"window\": calendar expression \"*-02-30\": there is no such moment, so the "
     "window never begins, from 1970 to 2199"},
    {"schedule: daily\nwindow: [{from: daily, for: 1h}, {from: daily, for: 24h}]",
     "f:5:57: error: \"for\" must be shorter than the time between any two beginnings of the "
     "window, and from 2025-01-01 00:00:00 to 2025-01-02 00:00:00 UTC that is only 1d"},
    {"schedule: \"02:30\"\nwindow: {from: \"22:00\", for: 4h}",
     "f:5:13: error: job \"a\": no tick of its schedule is ever in its \"window\": it would never "
     "run"},
    {"window: {from: daily, for: 1h}",
     "f:4:5: error: \"window\" needs \"schedule\" or \"every\": what is started by hand begins at "
     "once"},
    {"random-delay: 5s", "f:4:5: error: \"random-delay\" needs \"schedule\" or \"every\": what is "
                         "started by hand begins at once"},
    {"every: 5min\nrandom-delay: 5min",
     "f:5:19: error: job \"a\": \"random-delay\" must be shorter than the time between any two "
     "ticks, and from 2025-01-01 00:00:00 to 2025-01-01 00:05:00 UTC that is only 5min: write 4min "
     "59s or less"},
    {"random-delay: 1h\nschedule: [\"02:00\", \"02:30\"]",
     "f:4:19: error: job \"a\": \"random-delay\" must be shorter than the time between any two "
     "ticks, and from 2025-01-01 02:00:00 to 2025-01-01 02:30:00 UTC that is only 30min: write "
     "29min 59s or less"},
    {"every: 5min\nrandom-delay: 1500ms",
     "f:5:19: error: job \"a\": \"random-delay\" must be whole seconds"},
    {"every: 5min\nrandom-delay: [5s]", "f:5:19: error: \"random-delay\" must be a duration (\"1h "
                                        "30min\", or whole seconds), not a list"},
    {"every: 5min\nrandom-delay: -1",
     "f:5:19: error: \"random-delay\" must be from 0 to 1d, not -1"},
    {"random-delay: no", "f:4:19: error: \"random-delay\" must be a duration (\"1h 30min\", or "
                         "whole seconds), not \"no\""},
    {"random-delay: infinity",
     "f:4:19: error: \"random-delay\" must be from 0 to 1d, not infinity"},
    {"lock: maybe",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not \"maybe\""},
    {"lock: yes",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not \"yes\""},
    {"lock: [shared]",
     "f:4:11: error: \"lock\" must be \"exclusive\", \"shared\" or \"none\", not a list"},
    {"slots: 2", ""},
    {"slots: 24", ""},
    {"slots: 1\nlock: shared", ""},
    {"slots: 1\noverlap: replace", ""},
    {"slots: 0", "f:4:12: error: \"slots\" must be from 1 to 24, not 0"},
    {"slots: 25", "f:4:12: error: \"slots\" must be from 1 to 24, not 25"},
    {"slots: 2\nlock: shared",
     "f:4:12: error: job \"a\": \"slots\" and \"lock: shared\" cannot be used together: such runs "
     "are not counted; use \"lock: exclusive\", where each run holds one slot"},
    {"slots: 2\nlock: none",
     "f:4:12: error: job \"a\": \"slots\" and \"lock: none\" cannot be used together: such runs "
     "are not counted; use \"lock: exclusive\", where each run holds one slot"},
    {"slots: 2\noverlap: queue",
     "f:5:14: error: job \"a\": \"overlap: queue\" is for runs that are one after the other: with "
     "\"slots: 2\" use \"overlap: skip\", by which a tick is skipped when all slots are taken"},
    {"slots: 2\noverlap: replace",
     "f:5:14: error: job \"a\": \"overlap: replace\" is for runs that are one after the other: "
     "with \"slots: 2\" use \"overlap: skip\", by which a tick is skipped when all slots are "
     "taken"},
    {"slots: \"1\"", "f:4:12: error: \"slots\" must be an integer, not \"1\""},
    {"slots: 01",
     "f:4:12: error: \"slots\" must be written in decimal digits without leading zeros, not 01"},
    {"slots: [1]", "f:4:12: error: \"slots\" must be an integer, not a list"},
    {"locks: [orders-db]", "f:4:12: error: \"locks\" must be a mapping, not a list"},
    {"locks: orders-db", "f:4:12: error: \"locks\" must be a mapping, not \"orders-db\""},
    {"locks: {orders-db: maybe}", "f:4:24: error: \"orders-db\" of \"locks\" must be "
                                  "\"exclusive\", \"shared\" or a mapping, not \"maybe\""},
    {"locks: {orders-db: 5}", "f:4:24: error: \"orders-db\" of \"locks\" must be \"exclusive\", "
                              "\"shared\" or a mapping, not an integer"},
    {"locks: {orders-db: {mode: shared, slots: 3}}",
     "f:4:46: error: \"slots\" and \"mode: shared\" cannot be used together"},
    {"locks: {orders-db: {slots: 0}}", "f:4:32: error: \"slots\" must be from 1 to 1000, not 0"},
    {"locks: {orders-db: {slots: 1001}}",
     "f:4:32: error: \"slots\" must be from 1 to 1000, not 1001"},
    {"locks: {orders-db: {slots: many}}",
     "f:4:32: error: \"slots\" must be an integer, not \"many\""},
    {"locks: {orders-db: {slot: 3}}",
     "f:4:25: error: unknown key \"slot\" (did you mean \"slots\"?)"},
    {"locks: {orders-db: {mood: shared}}",
     "f:4:25: error: unknown key \"mood\" (did you mean \"mode\"?)"},
    {"locks: {orders-db: {mode: none}}",
     "f:4:31: error: \"mode\" must be \"exclusive\" or \"shared\", not \"none\""},
    {"locks: {\"job:a\": shared}", "f:4:13: error: resource \"job:a\" is a job's own: the key "
                                   "\"lock\" says how a job holds that"},
    {"locks: {Orders: shared}",
     "f:4:13: error: resource \"Orders\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"locks: {orders-db: }", "f:4:24: error: \"orders-db\" of \"locks\" must be \"exclusive\", "
                             "\"shared\" or a mapping, not nothing"},
    {"lock-wait: maybe", "f:4:16: error: \"lock-wait\" must be a duration (\"1h 30min\", or whole "
                         "seconds), not \"maybe\""},
    {"lock-wait: []", "f:4:16: error: \"lock-wait\" must be a duration (\"1h 30min\", or whole "
                      "seconds), not a list"},
    {"lock-wait: -1", "f:4:16: error: \"lock-wait\" must be from 0 to infinity, not -1"},
    {"overlap: queue", ""},
    {"overlap: replace", ""},
    {"catch-up: all\noverlap: replace",
     "f:5:14: error: job \"a\": \"overlap: replace\" and \"catch-up: all\" cannot be used "
     "together: of the ticks that were missed each would take the place of the one before; use "
     "\"catch-up: latest\""},
    {"overlap: allow", "f:4:14: error: job \"a\": \"overlap: allow\" needs \"lock: shared\" or "
                       "\"lock: none\": a run that holds the job's own lock exclusively keeps the "
                       "next one from beginning beside it (\"slots: 3\" without \"overlap\" lets "
                       "three be side by side)"},
    {"lock: exclusive\noverlap: allow",
     "f:5:14: error: job \"a\": \"overlap: allow\" needs \"lock: shared\" or \"lock: none\": a run "
     "that holds the job's own lock exclusively keeps the next one from beginning beside it "
     "(\"slots: 3\" without \"overlap\" lets three be side by side)"},
    {"lock: shared\noverlap: allow", ""},
    {"lock: none\noverlap: allow", ""},
    {"overlap: maybe", "f:4:14: error: \"overlap\" must be \"skip\", \"queue\", \"replace\" or "
                       "\"allow\", not \"maybe\""},
    {"overlap: no", "f:4:14: error: \"overlap\" must be \"skip\", \"queue\", \"replace\" or "
                    "\"allow\", not \"no\""},
    {"catch-up: all", ""},
    {"catch-up: maybe",
     "f:4:15: error: \"catch-up\" must be \"latest\", \"none\" or \"all\", not \"maybe\""},
    {"catch-up: yes",
     "f:4:15: error: \"catch-up\" must be \"latest\", \"none\" or \"all\", not \"yes\""},
    {"catch-up: 1",
     "f:4:15: error: \"catch-up\" must be \"latest\", \"none\" or \"all\", not an integer"},
    {"start-deadline: infinity",
     "f:4:21: error: \"start-deadline\" must be from 1s to 366d, not infinity"},
    {"start-deadline: 500ms",
     "f:4:21: error: \"start-deadline\" must be from 1s to 366d, not 500ms"},
    {"start-deadline: {a: b}", "f:4:21: error: \"start-deadline\" must be a duration (\"1h "
                               "30min\", or whole seconds), not a mapping"},
    {"retries: 3", "f:4:14: error: \"retries\" must be a mapping, not an integer"},
    {"retries: {attempts: 0}", "f:4:25: error: \"attempts\" must be from 1 to 100, not 0"},
    {"retries: {attempts: \"1\"}", "f:4:25: error: \"attempts\" must be an integer, not \"1\""},
    {"retries: {attempts: 101}", "f:4:25: error: \"attempts\" must be from 1 to 100, not 101"},
    {"retries: {delay: 2d}", "f:4:22: error: \"delay\" must be from 0 to 1d, not 2d"},
    {"retries: {max-delay: infinity}",
     "f:4:26: error: \"max-delay\" must be from 0 to 1d, not infinity"},
    {"retries: {delay: 10min}", "f:4:22: error: job \"a\": \"delay\" is 10min, which is longer "
                                "than \"max-delay\" (5min): set that, too"},
    {"retries: {delay: 5s, max-delay: 1s}",
     "f:4:22: error: job \"a\": \"delay\" is 5s, which is longer than \"max-delay\" (1s): set "
     "that, too"},
    {"retries: {max-delay: 1s}", "f:4:26: error: job \"a\": \"delay\" is 10s, which is longer than "
                                 "\"max-delay\" (1s): set \"delay\", too"},
    {"no-retry: 2", "f:4:15: error: \"no-retry\" must be a list, not an integer"},
    {"no-retry: {2: 3}", "f:4:15: error: \"no-retry\" must be a list, not a mapping"},
    {"no-retry: [0]", "f:4:16: error: an entry of \"no-retry\": \"0\" is no exit status from 1 to "
                      "255, and no range of them such as 64..78"},
    {"no-retry: [2, 64..256]",
     "f:4:19: error: an entry of \"no-retry\": \"64..256\" is no exit status from 1 to 255, and no "
     "range of them such as 64..78"},
    {"no-retry: [78..64]",
     "f:4:16: error: an entry of \"no-retry\": \"78..64\" is a range that ends before it begins"},
    {"no-retry: [64-78]", "f:4:16: error: an entry of \"no-retry\": \"64-78\" is no exit status "
                          "from 1 to 255, and no range of them such as 64..78"},
    {"no-retry: [[2]]", "f:4:16: error: an entry of \"no-retry\" must be a text, not a list"},
    {"noretry: [2]", "f:4:5: error: unknown key \"noretry\" (did you mean \"no-retry\"?)"},
    {"retries: {delay: maybe}",
     "f:4:22: error: \"delay\" must be a duration (\"1h 30min\", or whole seconds), not \"maybe\""},
    {"retires: 5", "f:4:5: error: unknown key \"retires\" (did you mean \"retries\"?)"},
    {"on-lock-loss: no",
     "f:4:19: error: \"on-lock-loss\" must be \"stop\" or \"continue\", not \"no\""},
    {"on-lock-loss: continue\nstop-timeout: 2min",
     "f:5:19: error: job \"a\": \"stop-timeout\" may be 1min at most with \"on-lock-loss: "
     "continue\": jobkeeperd, when it is stopped, could not wait for the end of a run and record "
     "it, and the job would not run anywhere until \"takeover-after\""},
    {"on-lock-loss: continue\nlocks: {r: shared}",
     "f:4:19: error: job \"a\": \"on-lock-loss: continue\" and \"locks\" cannot be used together: "
     "whoever waits for \"r\" would not be kept from it by a run that has lost it"},
    {"takeover-after: 0", "f:4:21: error: \"takeover-after\" must be from 1s to infinity, not 0"},
    {"takeover-after: maybe", "f:4:21: error: \"takeover-after\" must be a duration (\"1h 30min\", "
                              "or whole seconds), not \"maybe\""},
    {"takeover-after: 1h",
     "f:4:5: error: \"takeover-after\" needs \"on-lock-loss: continue\": a run "
     "that is stopped when its locks cannot be held is over by the time that "
     "others have them"},
    {"takeover-after: 1h\non-lock-loss: no",
     "f:5:19: error: \"on-lock-loss\" must be \"stop\" or \"continue\", not \"no\""},
    {"expect-within: 59s",
     "f:4:20: error: \"expect-within\" must be from 1min to infinity, not 59s"},
    {"expect-within: 367d",
     "f:4:20: error: job \"a\": \"expect-within\" may be 366d at most, or infinity"},
    {"expect-within: daily", "f:4:20: error: \"expect-within\" must be a duration (\"1h 30min\", "
                             "or whole seconds), not \"daily\""},
    {"on-owner-lost: retry",
     "f:4:20: error: \"on-owner-lost\" must be \"fail\" or \"rerun\", not \"retry\""},
    {"on-owner-lost: [fail]",
     "f:4:20: error: \"on-owner-lost\" must be \"fail\" or \"rerun\", not a list"},
    {"timeout: 0", "f:4:14: error: \"timeout\" must be from 1ms to infinity, not 0"},
    {"timeout: maybe", "f:4:14: error: \"timeout\" must be a duration (\"1h 30min\", or whole "
                       "seconds), not \"maybe\""},
    {"timeout: 00",
     "f:4:14: error: \"timeout\" must be written in decimal digits without leading zeros, not 00"},
    {"stop-timeout: infinity",
     "f:4:19: error: \"stop-timeout\" must be from 1ms to 1h, not infinity"},
    {"stop-timeout: 0", "f:4:19: error: \"stop-timeout\" must be from 1ms to 1h, not 0"},
    {"stop-timeout: [1s]", "f:4:19: error: \"stop-timeout\" must be a duration (\"1h 30min\", or "
                           "whole seconds), not a list"},
    {"nodes: {Role: worker}",
     "f:4:13: error: label \"Role\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"nodes: {role: [a, b]}", "f:4:19: error: \"role\" of \"nodes\" must be a text, not a list"},
    {"nodes: []", "f:4:12: error: \"nodes\" is empty: omit it for every node"},
    {"nodes: [a, [b]]", "f:4:16: error: an entry of \"nodes\" must be a text, not a list"},
    {"nodes: [\"\"]", "f:4:13: error: an empty pattern matches no node"},
    {"nodes:", "f:4:11: error: \"nodes\" must be a text, a list or a mapping, not nothing"},
    {"command: /bin/true", "f:4:5: error: unknown key \"command\": here it is \"exec\""},
    {"cmd: /bin/true", "f:4:5: error: unknown key \"cmd\": here it is \"exec\""},
    {"cron: 0 2 * * *", "f:4:5: error: unknown key \"cron\": here it is \"schedule\""},
    {"OnCalendar: daily", "f:4:5: error: unknown key \"OnCalendar\": here it is \"schedule\""},
    {"env: {A: b}", "f:4:5: error: unknown key \"env\": here it is \"environment\""},
    {"EnvironmentFile: /etc/a",
     "f:4:5: error: unknown key \"EnvironmentFile\": here it is \"environment-file\""},
    {"env-file: /etc/a", "f:4:5: error: unknown key \"env-file\": here it is \"environment-file\""},
    {"env_file: /etc/a", "f:4:5: error: unknown key \"env_file\": here it is \"environment-file\""},
    {"LoadCredential: a:/etc/a",
     "f:4:5: error: unknown key \"LoadCredential\": here it is \"credentials\""},
    {"secrets: {a: /etc/a}", "f:4:5: error: unknown key \"secrets\": here it is \"credentials\""},
    {"attempts: 3", "f:4:5: error: unknown key \"attempts\": it stands below \"retries\""},
    {"retries.delay: 3",
     "f:4:5: error: unknown key \"retries.delay\": write \"retries:\", and below it \"delay\", "
     "indented further"},
    {"exec: \"\"", "f:3:11: error: \"exec\" is empty"},
    {"exec: []", "f:3:11: error: \"exec\" is empty"},
    {"exec: 5",
     "f:3:11: error: \"exec\" must be a text or a list, not an integer (put it in quotes)"},
    {"exec: {a: b}", "f:3:11: error: \"exec\" must be a text or a list, not a mapping"},
    {"exec: true",
     "f:3:11: error: \"exec\" must be a text or a list, not a boolean (put it in quotes)"},
    {"exec: backup --all",
     "f:3:11: error: \"exec\" must begin with an absolute path, not \"backup\""},
    {"exec: -/bin/true", "f:3:11: error: \"exec\" begins with ExecStart='s prefix \"-\", which is "
                         "not possible for a job"},
    {"exec: [/bin/true, [x]]", "f:3:23: error: an entry of \"exec\" must be a text, not a list"},
    {"exec: [+/bin/true]", "f:3:11: error: \"exec\" begins with ExecStart='s prefix \"+\", which "
                           "is not possible for a job"},
    {"exec: [/bin/true, ~]", "f:3:23: error: an entry of \"exec\" must be a text, not nothing"},
    {"exec: '/bin/true \"x'", "f:3:11: error: \"exec\" has a quote (\") that is not closed"},
    {"user: [a]", "f:4:11: error: \"user\" must be a text, not a list"},
    {"user: \"\"", "f:4:11: error: \"user\": \"\" is empty"},
    {"user: \"a b\"", "f:4:11: error: \"user\": \"a b\" is not a name of a user or group"},
    {"user:", "f:4:10: error: \"user\" must be a text, not nothing"},
    {"group: {a: b}", "f:4:12: error: \"group\" must be a text, not a mapping"},
    {"group: -x", "f:4:12: error: \"group\": \"-x\" is not a name of a user or group"},
    {"environment: PATH=x",
     "f:4:18: error: \"environment\" must be a list or a mapping, not \"PATH=x\""},
    {"environment: [PATH]", "f:4:19: error: \"PATH\" is not of the form NAME=value"},
    {"environment: [A=1, A=2]", "f:4:24: error: environment variable \"A\" is given twice"},
    {"environment: [{A: 1}]",
     "f:4:19: error: an entry of \"environment\" must be a text, not a mapping"},
    {"environment: {A: [1]}", "f:4:22: error: \"A\" of \"environment\" must be a text, not a list"},
    {"environment: {A: }", "f:4:22: error: \"A\" of \"environment\" must be a text, not nothing"},
    {"environment: {1A: x}",
     "f:4:19: error: environment variable \"1A\" must begin with a letter or '_'"},
    {"environment: {A-B: x}",
     "f:4:19: error: environment variable \"A-B\" may only have letters, digits and '_'"},
    {"environment: {JOBKEEPER_JOB: x}",
     "f:4:19: error: environment variable \"JOBKEEPER_JOB\" is set by jobkeeper itself"},
    {"environment: {SERVICE_RESULT: success}",
     "f:4:19: error: environment variable \"SERVICE_RESULT\" is set by systemd, to say how the "
     "command ended"},
    {"environment: [EXIT_STATUSES=1, EXIT_CODE=exited]",
     "f:4:36: error: environment variable \"EXIT_CODE\" is set by systemd, to say how the command "
     "ended"},
    {"environment: {EXIT_STATUS: x}", "f:4:19: error: environment variable \"EXIT_STATUS\" is set "
                                      "by systemd, to say how the command "
                                      "ended"},
    {"environment: {A: \"\\x01\"}",
     "f:4:19: error: environment variable \"A\" may not have control characters in its value"},
    {"working-directory: tmp",
     "f:4:24: error: \"working-directory\": \"tmp\" is not an absolute path"},
    {"working-directory: /tmp/../etc",
     "f:4:24: error: \"working-directory\": \"/tmp/../etc\" may not have \".\" or \"..\" in it"},
    {"working-directory: 5",
     "f:4:24: error: \"working-directory\" must be a text, not an integer (put it in quotes)"},
    {"working-directory: [/tmp]",
     "f:4:24: error: \"working-directory\" must be a text, not a list"},
    {"credentials: [a]", "f:4:18: error: \"credentials\" must be a mapping, not a list"},
    {"credentials: /etc/a", "f:4:18: error: \"credentials\" must be a mapping, not \"/etc/a\""},
    {"credentials: {a: [/etc/a]}",
     "f:4:22: error: \"a\" of \"credentials\" must be a text, not a list"},
    {"credentials: {a: }", "f:4:22: error: \"a\" of \"credentials\" must be a text, not nothing"},
    {"environment-file: 5", "f:4:23: error: \"environment-file\" must be a text or a list, not an "
                            "integer (put it in quotes)"},
    {"environment-file: {A: b}",
     "f:4:23: error: \"environment-file\" must be a text or a list, not a mapping"},
    {"environment-file: [[/etc/a]]",
     "f:4:24: error: an entry of \"environment-file\" must be a text, not a list"},
    {"unit: {Nice: }", "f:4:18: error: \"Nice\" of \"unit\" must be a text or a list, not nothing"},
    {"unit: [Nice=5]", "f:4:11: error: \"unit\" must be a mapping, not a list"},
    {"unit: 5", "f:4:11: error: \"unit\" must be a mapping, not an integer"},
    {"history: 0", "f:4:14: error: \"history\" must be from 1 to 1000, not 0"},
    {"history: 1001", "f:4:14: error: \"history\" must be from 1 to 1000, not 1001"},
    {"history: -1", "f:4:14: error: \"history\" must be from 1 to 1000, not -1"},
    {"history: \"5\"", "f:4:14: error: \"history\" must be an integer, not \"5\""},
    {"history: 5s", "f:4:14: error: \"history\" must be an integer, not \"5s\""},
    {"history: 010",
     "f:4:14: error: \"history\" must be written in decimal digits without leading zeros, not 010"},
    {"history: 5.0", "f:4:14: error: \"history\" must be an integer, not a fraction"},
    {"x-note: hello", "f:4:5: error: unknown key \"x-note\""},
    {"Exec: /bin/true", "f:4:5: error: unknown key \"Exec\" (did you mean \"exec\"?)"},
    {"start_deadline: 5s",
     "f:4:5: error: unknown key \"start_deadline\" (did you mean \"start-deadline\"?)"},
};

Test(job_keys, bad_lines) {
        for (size_t i = 0; i < G_N_ELEMENTS(bad_lines); i++) {
                g_autofree char *text = job_file_with_line(bad_lines[i].line);

                expect_job_file(text, bad_lines[i].errors);
        }
}

/* The table above must not forget a key: of each there is a value of a wrong type or form. */
Test(job_keys, every_key_has_a_bad_line) {
        for (const Key *key = job_table.keys; key->name; key++) {
                g_autofree char *prefix = g_strconcat(key->name, ":", NULL);
                bool found = false;

                for (size_t i = 0; i < G_N_ELEMENTS(bad_lines); i++)
                        found |= g_str_has_prefix(bad_lines[i].line, prefix) &&
                                 strstr(bad_lines[i].errors, " must ");
                cr_expect(found, "%s", key->name);
        }
}

/* Return: what a line with that choice needs beside it. */
static const char *beside_choice(const Key *key, const KeyChoice *choice) {
        if (g_str_equal(key->name, "reboot"))
                return "\nmode: each-node\nrejoin-timeout: 5min";
        if (g_str_equal(key->name, "ready"))
                return "\nmode: service";
        return g_str_equal(key->name, "lock") || g_str_equal(choice->name, "service")
                   ? ""
                   : "\nlock: shared";
}

/* Beside what it needs. */
Test(job_keys, every_choice_is_taken) {
        for (const Key *key = job_table.keys; key->name; key++)
                for (const KeyChoice *choice = key->choices; choice && choice->name; choice++) {
                        g_autofree char *line = g_strdup_printf("%s: %s%s", key->name, choice->name,
                                                                beside_choice(key, choice));
                        g_autofree char *text = job_file_with_line(line);

                        expect_job_file(text, "");
                }
}

Test(job_keys, every_key_is_documented) {
        for (const Key *key = job_table.keys; key->name; key++)
                cr_expect(key->documentation && g_str_has_suffix(key->documentation, "."), "%s",
                          key->name);
}

/* Return: a flow list or mapping of `count` entries, each of `format` with its number. */
static char *entries(unsigned count, char open, const char *format, char close) {
        GString *text = g_string_new(NULL);

        g_string_append_c(text, open);
        for (unsigned i = 0; i < count; i++) {
                g_auto(GStrv) parts = g_strsplit(format, "#", -1);
                g_autofree char *number = g_strdup_printf("%u", i);
                g_autofree char *entry = g_strjoinv(number, parts);

                g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", entry);
        }
        g_string_append_c(text, close);
        return g_string_free(text, FALSE);
}

/* `count` entries are one too many, and one fewer are fine. */
static void expect_limit(const char *key, unsigned count, char open, const char *format, char close,
                         const char *error) {
        g_autofree char *few = entries(count - 1, open, format, close);
        g_autofree char *many = entries(count, open, format, close);
        const char *end = strchr(key, '{') ? "}" : "";
        g_autofree char *few_line = g_strdup_printf("%s: %s%s", key, few, end);
        g_autofree char *many_line = g_strdup_printf("%s: %s%s", key, many, end);
        g_autofree char *good = job_file_with_line(few_line);
        g_autofree char *bad = job_file_with_line(many_line);

        expect_job_file(good, "");
        expect_job_file(bad, error);
}

Test(job_keys, limits) {
        g_autofree char *argument = g_strnfill(JOB_COMMAND_SIZE_MAX, 'x');
        g_autofree char *line = g_strdup_printf("exec: [/bin/echo, %s]", argument);
        g_autofree char *text = job_file_with_line(line);

        expect_job_file(text,
                        "f:3:11: error: the command and its environment have 128 KiB or more");
        expect_limit("exec", JOB_ARGV_MAX + 1, '[', "/bin/a#", ']',
                     "f:3:11: error: \"exec\" has more than 256 words");
        expect_limit("locks", JOB_RESOURCES_MAX + 1, '{', "r#: shared", '}',
                     "f:4:12: error: \"locks\" names more than 16 resources");
        expect_limit("after", JOB_AFTER_MAX + 1, '[', "j#", ']',
                     "f:4:12: error: \"after\" names more than 64 jobs");
        expect_limit("after: {all", JOB_AFTER_ALL_MAX + 1, '[', "j#", ']',
                     "f:4:18: error: \"all\" names more than 16 jobs");
        expect_limit("nodes", JOB_NODE_MATCHES_MAX + 1, '[', "n#", ']',
                     "f:4:12: error: \"nodes\" has more than 64 entries");
        expect_limit("credentials", JOB_CREDENTIALS_MAX + 1, '{', "c#: /etc/c#", '}',
                     "f:4:18: error: \"credentials\" has more than 64 entries");
        expect_limit("environment-file", JOB_ENVIRONMENT_FILES_MAX + 1, '[', "/etc/e#", ']',
                     "f:4:23: error: \"environment-file\" has more than 16 entries");
        expect_limit("environment", JOB_ENVIRONMENT_MAX + 1, '[', "A#=1", ']',
                     "f:4:1957: error: environment variable \"A256\" is one variable too many");
}
