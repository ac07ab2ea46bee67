/* What a command asks for when it asks for a lock: what is taken from its request, what is added
 * from this machine's configuration, and the words for what cannot be. */
#include "expect-errors.h"

#include <string.h>

#include "command-request.h"
#include "daemon-file.h"
#include "json-line.h"
#include "lock.h"

static DaemonConfig *config;

static void setup(void) {
        static const char text[] = "node: {name: n1}\n"
                                   "zookeeper: {root: /r}\n"
                                   "resources:\n"
                                   "  pool: {slots: 3}\n"
                                   "  java: {path: /java, naming: curator-mutex}\n";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();

        (void)daemon_config_parse("c", text, strlen(text), diagnostics, &config);
        expect_errors(diagnostics, "");
}

static void teardown(void) {
        config = daemon_config_free(config);
}

TestSuite(command_request, .init = setup, .fini = teardown);

/* `text` has single quotes instead of double ones. */
static char *read_text(const char *text, CommandRequest **ret_request) {
        g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
        json_t *object = json_loads(json, 0, NULL);
        char *fault;

        cr_assert_not_null(object, "%s", json);
        fault = command_request_read(config, object, ret_request);
        json_decref(object);
        return fault;
}

static CommandRequest *read_good(const char *text) {
        CommandRequest *request = NULL;
        g_autofree char *fault = read_text(text, &request);

        cr_assert_null(fault, "%s: %s", text, fault);
        return request;
}

/* Several resources, "[{'resource':'r0'},...]", as one newly allocated request. */
static char *request_of_many(unsigned n) {
        g_autoptr(GString) text = g_string_new("{'resources':[");

        for (unsigned i = 0; i < n; i++)
                g_string_append_printf(text, "%s{'resource':'r%u'}", i ? "," : "", i);
        g_string_append(text, "]}");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- what is refused ---- */

#define ONE(members) "{'resources':[{'resource':'db'," members "}]}"
#define BESIDE(members) "{'resources':[{'resource':'db'}]," members "}"

static const struct {
        const char *text, *fault;
} bad[] = {
    {"{}", "between 1 and 64 resources are required"},
    {"{'resources':[]}", "between 1 and 64 resources are required"},
    {"{'resources':'db'}", "between 1 and 64 resources are required"},
    {"{'resources':{'resource':'db'}}", "between 1 and 64 resources are required"},
    {"{'resources':['db']}", "the resource name \"\" is empty"},
    {"{'resources':[{}]}", "the resource name \"\" is empty"},
    {"{'resources':[{'resource':''}]}", "the resource name \"\" is empty"},
    {"{'resources':[{'resource':7}]}", "the resource name \"\" is empty"},
    {"{'resources':[{'resource':'-x'}]}",
     "the resource name \"-x\" must begin with a letter or a digit"},
    {"{'resources':[{'resource':'a/b'}]}",
     "the resource name \"a/b\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"{'resources':[{'resource':'job:a'}]}",
     "\"job:a\" is a job's own lock, which only its runs take"},
    {"{'resources':[{'resource':'db'},{'resource':'DB'}]}",
     "the resource name \"DB\" may only have the characters a-z, 0-9, '.', '_' and '-'"},
    {"{'resources':[{'resource':'db'},{'resource':'x'},{'resource':'db'}]}",
     "the resource db is given twice"},
    {ONE("'naming':'zoo'"), "\"zoo\" is not a naming"},
    {ONE("'naming':1"), "\"naming\" must be a string"},
    {ONE("'shared':'true'"), "\"shared\" must be true or false"},
    {ONE("'shared':1"), "\"shared\" must be true or false"},
    {ONE("'slots':-1"), "slots must be between 1 and 1000"},
    {ONE("'slots':1001"), "slots must be between 1 and 1000"},
    {ONE("'slots':4294967298"), "slots must be between 1 and 1000"},
    {ONE("'slots':'2'"), "\"slots\" must be an integer"},
    {ONE("'slots':2.0"), "\"slots\" must be an integer"},
    {ONE("'slots':2,'shared':true"), "resource \"db\" has slots: it is not held shared"},
    {ONE("'slots':2,'naming':'kazoo'"),
     "resource \"db\" cannot have slots: 2: its naming is kazoo, which knows no slots"},
    {"{'resources':[{'resource':'pool','slots':2}]}",
     "resource \"pool\" has slots: 2 here, but slots: 3 in c:4:3"},
    {"{'resources':[{'resource':'java','naming':'kazoo'}]}",
     "the naming of resource \"java\" is kazoo here, but curator-mutex in c:5:3"},
    {BESIDE("'wait':-1"), "\"wait\" must be a number of seconds"},
    {BESIDE("'wait':'5'"), "\"wait\" must be a number of seconds"},
    {BESIDE("'wait':true"), "\"wait\" must be a number of seconds"},
    {BESIDE("'go_on':'yes'"), "\"go_on\" must be true or false"},
    {BESIDE("'who':'root'"), "\"who\" must be an object"},
};

Test(command_request, what_cannot_be_is_refused_in_words) {
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                CommandRequest *request = NULL;
                g_autofree char *fault = read_text(bad[i].text, &request);

                cr_expect_str_eq(fault ? fault : "none", bad[i].fault, "%s: %s", bad[i].text,
                                 fault);
                cr_expect_null(request, "%s", bad[i].text);
                command_request_free(request);
        }
}

Test(command_request, there_are_at_most_64_resources) {
        g_autofree char *most = request_of_many(64), *too_many = request_of_many(65), *fault = NULL;
        _cleanup_(command_request_freep) CommandRequest *request = read_good(most), *none = NULL;

        cr_expect_eq(request->resources->len, 64);
        cr_expect_eq(g_strv_length(request->directories), 64);
        fault = read_text(too_many, &none);
        cr_expect_str_eq(fault, "between 1 and 64 resources are required");
        cr_expect_null(none);
}

/* ---- what is taken from it ---- */

static void expect_resource(const CommandRequest *request, guint i, const LockRequest *wanted) {
        const LockRequest *got = &g_array_index(request->resources, LockRequest, i);

        cr_expect_str_eq(got->resource, wanted->resource);
        cr_expect_eq(got->mode, wanted->mode, "%s", wanted->resource);
        cr_expect_eq(got->slots, wanted->slots, "%s: %u", wanted->resource, got->slots);
        cr_expect_eq(got->naming, wanted->naming, "%s", wanted->resource);
        cr_expect_eq(g_strcmp0(got->path, wanted->path), 0, "%s", wanted->resource);
}

/* The request is gone before it is used: nothing of it is borrowed. */
Test(command_request, resources_are_as_asked_for_or_else_as_declared) {
        static const LockRequest wanted[] = {
            {.resource = "db", .mode = LOCK_SHARED, .naming = LOCK_NAMING_KAZOO},
            {.resource = "pool", .slots = 3},
            {.resource = "java", .naming = LOCK_NAMING_CURATOR_MUTEX, .path = "/java"},
            {.resource = "four", .slots = 4},
        };
        _cleanup_(command_request_freep) CommandRequest *request =
            read_good("{'resources':[{'resource':'db','shared':true,'naming':'kazoo','slots':null},"
                      "{'resource':'pool','shared':false},{'resource':'java'},"
                      "{'resource':'four','slots':4,'naming':null}]}");

        cr_assert_eq(request->resources->len, G_N_ELEMENTS(wanted));
        for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
                expect_resource(request, i, &wanted[i]);
        cr_expect_str_eq(request->label, "db pool java four");
        cr_assert_eq(g_strv_length(request->directories), 4);
        cr_expect_str_eq(request->directories[0], "/r/locks/db");
        cr_expect_str_eq(request->directories[1], "/r/locks/pool");
        cr_expect_str_eq(request->directories[2], "/java");
        cr_expect_str_eq(request->directories[3], "/r/locks/four");
}

static void expect_payload(const char *who, const char *wanted) {
        g_autofree char *text = g_strdup_printf(BESIDE("'who':%s"), who),
                        *payload = g_strdelimit(g_strdup(wanted), "'", '"');
        _cleanup_(command_request_freep) CommandRequest *request = read_good(text);

        cr_expect_str_eq(request->payload, payload);
}

/* The node is ours to say, whatever the caller says. */
Test(command_request, the_queue_is_told_who_asks) {
        g_autofree char *long_name = g_strnfill(SAID_TEXT_MAX + 1, 'x'),
                        *cut = g_strnfill(SAID_TEXT_MAX, 'x'),
                        *who = g_strdup_printf("{'command':'%s'}", long_name),
                        *payload = g_strdup_printf("{'node':'n1','command':'%s'}", cut);

        expect_payload("{'command':'sh','pid':12,'user':'root'}",
                       "{'node':'n1','command':'sh','pid':12,'user':'root'}");
        expect_payload("{'node':'n9','job':'a','pid':12}", "{'node':'n1','pid':12}");
        expect_payload("{'command':7,'pid':'12','user':null}", "{'node':'n1'}");
        expect_payload("null", "{'node':'n1'}");
        expect_payload(who, payload);
}

Test(command_request, a_loss_stops_the_command_unless_told_otherwise) {
        static const struct {
                const char *text;
                bool go_on;
        } said[] = {
            {BESIDE("'go_on':true"), true},
            {BESIDE("'go_on':false"), false},
            {BESIDE("'go_on':null"), false},
            {BESIDE("'wait':1"), false},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(said); i++) {
                _cleanup_(command_request_freep) CommandRequest *request = read_good(said[i].text);

                cr_expect_eq(request->go_on, said[i].go_on, "%s", said[i].text);
        }
}

/* ---- how long ---- */

/* Reads it, and expects that it gives up so many seconds after now. */
static void expect_wait(const char *wait, bool is_try, double seconds) {
        g_autofree char *text = g_strdup_printf(BESIDE("'wait':%s"), wait);
        usec_t before = clock_monotonic(), span = (usec_t)(seconds * (double)USEC_PER_SEC);
        _cleanup_(command_request_freep) CommandRequest *request = read_good(text);

        cr_expect_eq(request->is_try, is_try, "%s", wait);
        cr_expect_geq(request->give_up_at, before + span, "%s", wait);
        cr_expect_leq(request->give_up_at, clock_monotonic() + span, "%s", wait);
}

static void expect_for_ever(const char *text) {
        _cleanup_(command_request_freep) CommandRequest *request = read_good(text);

        cr_expect_eq(request->give_up_at, USEC_INFINITY, "%s", text);
        cr_expect(!request->is_try, "%s", text);
}

/* Who does not wait for the lock still gives a daemon that has just started time to connect. */
Test(command_request, the_wait_is_in_seconds) {
        expect_wait("0", true, 5);
        expect_wait("0.0", true, 5);
        expect_wait("0.25", false, 0.25);
        expect_wait("90", false, 90);
        expect_for_ever("{'resources':[{'resource':'db'}]}");
        expect_for_ever(BESIDE("'wait':null"));
        expect_for_ever(BESIDE("'wait':1e300"));
}

Test(command_request, nothing_can_be_freed) {
        cr_expect_null(command_request_free(NULL));
}
