/* The locks that commands hold, over the life of the daemon and of the bus (bus-fixture.h): what
 * the process before this one had is found again or ended, and what it only waited for is swept.
 */
#include "bus-fixture.h"
#include "command-locks.h"
#include "fence-link.h"
#include "fence-stand-in.h"
#include "lock-caller.h"
#include "service-scopes.h"

#define DB "{'resources':[{'resource':'db'}]}"
#define CALLER_PATIENCE (10 * USEC_PER_SEC) /* as in command-lock.c */

static Caller *first, *second;
static char *id; /* of the first one's lock */

static void setup_callers(void) {
        setup_bus();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
}

static void teardown_callers(void) {
        first = caller_free(first);
        second = caller_free(second);
        g_clear_pointer(&id, g_free);
        teardown_bus();
}

TestSuite(command_locks, .init = setup_callers, .fini = teardown_callers, .timeout = 60);

static void begin(void) {
        open_daemon_on_bus();
        first = caller_new();
        second = caller_new();
}

/* ---- what is remembered ---- */

#define HELD                                                                                       \
        "{\"locks\":[{\"id\":\"0123abcd\",\"label\":\"orders-db reports\","                        \
        "\"directories\":[\"/jobkeeper/locks/orders-db\",\"/jobkeeper/locks/reports\"],"           \
        "\"paths\":[\"/jobkeeper/locks/orders-db/x-0000000001\","                                  \
        "\"/jobkeeper/locks/reports/x-0000000007\"],\"token\":42,\"go-on\":true,"                  \
        "\"ending\":false,\"session-over\":true}],\"swept\":[]}"

static void lock_is_over(void *userdata) {
}

static const char *nothing_is_wrong(const void *userdata) {
        return "";
}

static const CommandLocksEvents events = {lock_is_over, nothing_is_wrong};

static char *memory_path(void) {
        return g_build_filename(root, "run", LOCK_MEMORY_DIRECTORY, NULL);
}

/* Return: what stands in each file of the daemon's memory, by its name; g_hash_table_unref(). */
static GHashTable *remembered(void) {
        GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autofree char *path = memory_path();
        g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
        const char *name;

        while (directory && (name = g_dir_read_name(directory))) {
                g_autofree char *file = g_build_filename(path, name, NULL);
                char *text = NULL;

                if (g_file_get_contents(file, &text, NULL, NULL))
                        g_hash_table_insert(files, g_strdup(name), text);
        }
        return files;
}

/* Return: what is remembered of that one, a new reference. */
static json_t *remembered_of(const char *lock) {
        g_autofree char *path = memory_path(), *name = g_strconcat(lock, ".json", NULL),
                        *file = g_build_filename(path, name, NULL);
        json_t *object = json_load_file(file, JSON_REJECT_DUPLICATES, NULL);

        cr_assert_not_null(object, "nothing of %s", lock);
        return object;
}

static void expect_same(const json_t *lock, const json_t *before, const char *member) {
        cr_expect(json_equal(json_object_get(lock, member), json_object_get(before, member)), "%s",
                  member);
        cr_expect_not_null(json_object_get(lock, member), "%s", member);
}

/* Nothing of a lock is lost however often its daemon is restarted, nor by an upgrade. */
Test(command_locks, what_is_recalled_is_remembered) {
        static const char *const members[] = {"id",    "label", "directories", "paths",
                                              "token", "go-on", "session-over"};
        json_t *written = json_loads(HELD, 0, NULL), *lock = NULL;
        const json_t *before = json_array_get(json_object_get(written, "locks"), 0);
        CommandLocks *locks = NULL;

        open_daemon();
        tree_write(root, "run/" LOCK_MEMORY_OF_ALL, HELD);
        locks = command_locks_new(coordinator->node, coordinator->units, &events, NULL);
        cr_expect_eq(command_locks_count(locks), 1);
        cr_expect_not(command_locks_idle(locks));
        lock = remembered_of("0123abcd");
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
                expect_same(lock, before, members[i]);
        cr_expect(!json_is_true(json_object_get(lock, "ending")));
        command_locks_free(locks);
        json_decref(lock);
        json_decref(written);
        cr_expect_null(command_locks_free(NULL));
}

/* What stands at the paths of a session that is over is another's. */
Test(command_locks, what_is_recalled_is_spared_unless_its_session_is_over) {
        g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free),
                             keep = g_ptr_array_new_with_free_func(g_free);
        CommandLocks *locks = NULL;

        open_daemon();
        tree_write(root, "run/" LOCK_MEMORY_OF_ALL,
                   "{\"locks\":[{\"id\":\"01\",\"directories\":[\"/l/a\",\"/l/b\"],"
                   "\"paths\":[\"/l/a/x-1\",\"/l/b/x-2\"]},"
                   "{\"id\":\"02\",\"directories\":[\"/l/b\"],\"paths\":[\"/l/b/x-3\"],"
                   "\"session-over\":true}],\"swept\":[\"/l/c\"]}");
        locks = command_locks_new(coordinator->node, coordinator->units, &events, NULL);
        command_locks_keep(locks, directories, keep);
        cr_expect_eq(directories->len, 3);
        cr_assert_eq(keep->len, 2);
        cr_expect_str_eq(keep->pdata[0], "/l/a/x-1");
        cr_expect_str_eq(keep->pdata[1], "/l/b/x-2");
        command_locks_free(locks);
}

static bool nothing_is_remembered(void) {
        g_autoptr(GHashTable) files = remembered();

        return g_hash_table_size(files) == 0;
}

static bool its_end_is_remembered(void) {
        json_t *lock = remembered_of(id);
        bool ending = json_is_true(json_object_get(lock, "ending"));

        json_decref(lock);
        return ending;
}

/* ---- the fence ---- */

static bool is_unfenced(void) {
        return !fence_link_instance(coordinator->fence);
}

Test(command_locks, what_waits_for_a_fence_queues_when_there_is_one) {
        Question *waits = NULL;

        begin();
        fence_stand_in.absent = true;
        fence_stand_in_hang_up();
        await(is_unfenced, "there is none");
        waits = caller_acquire(first, DB);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(waits->answered);
        expect_queue("db", 0);
        fence_stand_in.absent = false;
        (void)expect_held(waits);
}

/* ---- a restart ---- */

static bool has_left(void) {
        return session_state(coordinator->session) == SESSION_CLOSED;
}

/* SIGTERM, and this is what PID 1 has queued for us. */
static void terminate(SystemdJob systemd_job) {
        service_manager.busy = true; /* the loop stays for a moment */
        service_manager.query_error = 0;
        service_manager.systemd_job = systemd_job;
        coordinator_terminate(coordinator);
}

static void restart(void) {
        terminate(SYSTEMD_JOB_RESTART);
        await(has_left, "the session is left");
        close_daemon();
        open_daemon_again();
        await_daemon_on_bus();
}

/* It is killed: nobody was told, and what stands in its files is what stood there then. */
static void crash(void) {
        g_autoptr(GHashTable) files = remembered();
        g_autofree char *path = memory_path();
        GHashTableIter iterator;
        gpointer name, text;

        close_daemon();
        tree_remove(path);
        g_hash_table_iter_init(&iterator, files);
        while (g_hash_table_iter_next(&iterator, &name, &text)) {
                g_autofree char *file =
                    g_build_filename("run", LOCK_MEMORY_DIRECTORY, (char *)name, NULL);

                tree_write(root, file, text);
        }
}

static void crash_and_restart(void) {
        crash();
        open_daemon_again();
        await_daemon_on_bus();
}

/* Has the first caller hold a lock for a command. Return: the command's scope. */
static ServiceScope *hold(const char *request) {
        g_free(id);
        id = g_strdup(expect_held(caller_acquire(first, request)));
        (void)expect_answer(caller_ask(first, "AttachLock", "su", id, 4711U));
        return service_scope_newest();
}

static void expect_lease(Question *question, const char *state) {
        const json_t *lease = expect_answer(question);

        cr_expect_str_eq(json_string_value(json_object_get(lease, "state")), state);
        if (g_str_equal(state, "held"))
                cr_expect_gt((usec_t)json_integer_value(json_object_get(lease, "held_until")),
                             clock_boottime());
}

Test(command_locks, a_restart_costs_no_lock) {
        ServiceScope *scope = NULL;
        const char *path = NULL;
        Question *waits = NULL;

        begin();
        scope = hold(DB);
        path = first_in_queue("db");
        restart();
        cr_expect_str_eq(first_in_queue("db"), path);
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "held");
        expect_lease(caller_ask(first, "LockLease", "s", id), "held");
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(waits->answered);
        cr_expect_eq(scope->stops + scope->kills, 0);
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        (void)expect_held(waits);
        cr_expect_eq(first->signals->len, 0);
}

static void expect_attached(Question *question, const ServiceScope *scope) {
        const json_t *answer = expect_answer(question);

        cr_expect_str_eq(json_string_value(json_object_get(answer, "scope")), scope->name);
        cr_expect_str_eq(json_string_value(json_object_get(answer, "cgroup")), scope->cgroup);
}

static bool a_scope_is_asked_for(void) {
        return service_scope_newest();
}

/* Asks for the process to be moved, which PID 1 takes its time for. */
static Question *begin_to_attach(void) {
        Question *attaches = NULL;

        begin();
        id = g_strdup(caller_hold(first, "db"));
        service_manager.hold_starts = true;
        attaches = caller_ask(first, "AttachLock", "su", id, 4711U);
        await(a_scope_is_asked_for, "the process is to be moved");
        return attaches;
}

/* The answer was on its way when the daemon died, or the daemon when it was to be given. */
Test(command_locks, a_process_that_was_moved_before_a_crash_is_attached_when_that_is_asked_again) {
        const ServiceScope *scope = NULL;

        (void)begin_to_attach();
        scope = service_scope_newest();
        crash_and_restart();
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "held");
        expect_error(caller_ask(first, "AttachLock", "su", id, 4712U), SD_BUS_ERROR_INVALID_ARGS,
                     "the process cannot be moved");
        for (unsigned n = 0; n < 2; n++)
                expect_attached(caller_ask(first, "AttachLock", "su", id, 4711U), scope);
        cr_expect_eq(service_scope_newest(), scope, "it is moved once");
        cr_expect_eq(scope->stops + scope->kills, 0);
}

Test(command_locks, a_process_that_was_not_moved_before_a_crash_is_moved_when_that_is_asked_again) {
        ServiceScope *before = NULL;

        (void)begin_to_attach();
        before = service_scope_newest();
        crash();
        before->alive = false;
        service_manager.hold_starts = false;
        open_daemon_again();
        await_daemon_on_bus();
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "held");
        expect_attached(caller_ask(first, "AttachLock", "su", id, 4711U), service_scope_newest());
        cr_expect_neq(service_scope_newest(), before);
}

/* Nobody comes back: what was moved, if it was, is ended. */
Test(command_locks, a_process_that_was_moved_before_a_crash_is_found_by_the_next_daemon) {
        const ServiceScope *scope = NULL;

        (void)begin_to_attach();
        scope = service_scope_newest();
        crash();
        first = caller_free(first);
        open_daemon_again();
        terminate(SYSTEMD_JOB_STOP);
        await(has_left, "the lock is given back");
        cr_expect_eq(scope->stops, 1);
        cr_expect_not(scope->alive);
}

/* What was in the scope ends while there is no daemon. */
Test(command_locks, what_was_ending_before_a_crash_and_has_ended_since_is_given_back) {
        ServiceScope *scope = NULL;

        begin();
        scope = hold(DB);
        service_manager.deaf = true;
        first = caller_free(first);
        await(its_end_is_remembered, "its end is written down");
        cr_expect_eq(scope->stops, 1);
        crash();
        service_scope_empty(scope);
        open_daemon_again();
        await(nothing_is_remembered, "the lock is given back");
        expect_queue("db", 0);
}

/* The daemon stays, and its answer does not reach who asked. */
Test(command_locks, a_process_is_moved_once_when_that_is_asked_again_over_another_bus) {
        Question *attaches = NULL;
        ServiceScope *scope = NULL;

        (void)begin_to_attach();
        scope = service_scope_newest();
        bus_end();
        bus_begin();
        first = caller_free(first);
        second = caller_free(second);
        await_daemon_on_bus();
        first = caller_new();
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "held");
        attaches = caller_ask(first, "AttachLock", "su", id, 4711U);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_not(attaches->answered);
        service_scope_begin(scope);
        expect_attached(attaches, scope);
        expect_attached(caller_ask(first, "AttachLock", "su", id, 4711U), scope);
        cr_expect_eq(service_scope_newest(), scope);
}

/* Nobody waits for a daemon that goes: he asks the next one. */
Test(command_locks, who_waits_is_sent_to_the_next_daemon) {
        Question *waits = NULL;
        const char *holder = NULL;

        begin();
        (void)caller_hold(first, "db");
        holder = first_in_queue("db");
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        terminate(SYSTEMD_JOB_RESTART);
        expect_error(waits, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        expect_error(caller_acquire(second, DB), BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        await(has_left, "the session is left");
        close_daemon();
        open_daemon_again();
        expect_queue("db", 1);
        cr_expect_str_eq(first_in_queue("db"), holder);
}

Test(command_locks, what_a_daemon_that_was_killed_waited_for_is_swept) {
        const char *holder = NULL;

        begin();
        (void)caller_hold(first, "db");
        holder = first_in_queue("db");
        (void)caller_acquire(second, "{'resources':[{'resource':'a'},{'resource':'db'}]}");
        expect_queue("db", 2);
        expect_queue("a", 1);
        crash_and_restart();
        expect_queue("db", 1);
        expect_queue("a", 0);
        cr_expect_str_eq(first_in_queue("db"), holder);
}

static ServerWay keep_all(const ZkCall *call);

static ServerWay keep_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_attached(void) {
        return session_zk(coordinator->session);
}

/* Nobody deletes it but the one that lives long enough. */
Test(command_locks, what_no_daemon_came_to_sweep_is_swept_by_the_next) {
        begin();
        server_create("/jobkeeper/locks/db", "", 0);
        server_create("/jobkeeper/locks/db/_c_1-__WRIT__0000000001", "", 0x77);
        (void)caller_acquire(second, DB);
        expect_queue("db", 2);
        server.way = keep_lists;
        crash_and_restart();
        await(is_attached, "the session is found again");
        serve_for(2500 * USEC_PER_MSEC); /* it has looked what is gone */
        crash();
        server.way = NULL;
        open_daemon_again();
        expect_queue("db", 1);
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- what was given back, but is not gone yet ---- */

static ServerWay keep_deletions(const ZkCall *call) {
        return call->request == REQUEST_DELETE || call_has(call, ZK_OP_DELETE, "/locks/")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

/* Nobody but the next process could delete it: its session lives on. */
Test(command_locks, what_was_about_to_be_deleted_is_swept_by_the_next_daemon) {
        begin();
        (void)caller_hold(second, "other");
        (void)hold(DB);
        server.way = keep_deletions;
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        (void)caller_hold(first, "another");
        expect_queue("db", 1);
        server.way = NULL;
        crash_and_restart();
        expect_queue("db", 0);
        expect_queue("other", 1);
        expect_queue("another", 1);
}

static bool is_suspended(void) {
        return session_state(coordinator->session) == SESSION_SUSPENDED;
}

Test(command_locks, who_waits_while_no_server_answers_is_swept_after_a_restart) {
        begin();
        (void)caller_hold(first, "other");
        server_create("/jobkeeper/locks/db", "", 0);
        server_create("/jobkeeper/locks/db/_c_1-__WRIT__0000000001", "", 0x77);
        (void)caller_acquire(second, DB);
        expect_queue("db", 2);
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        await(is_suspended, "no server answers");
        server.way = keep_all;
        terminate(SYSTEMD_JOB_RESTART);
        await(has_left, "the session is left");
        close_daemon();
        server.way = NULL;
        open_daemon_again();
        expect_queue("db", 1);
        cr_expect_str_eq(first_in_queue("db"), "/jobkeeper/locks/db/_c_1-__WRIT__0000000001");
        expect_queue("other", 1);
}

/* They do not grow with every lock that there ever was. */
Test(command_locks, what_is_gone_is_forgotten) {
        begin();
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", caller_hold(first, "db")));
        expect_queue("db", 0);
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- who comes back ---- */

static ServerWay keep_all(const ZkCall *call) {
        (void)call;
        return SERVER_KEEP;
}

/* What the memory says may be over by now. */
Test(command_locks, who_comes_back_is_answered_when_the_lock_is_found_again) {
        ServiceScope *scope = NULL;
        Question *comes_back = NULL;

        begin();
        scope = hold(DB);
        server.way = keep_all;
        crash_and_restart();
        comes_back = caller_ask(first, "AdoptLock", "s", id);
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(comes_back->answered);
        expect_error(caller_ask(second, "AdoptLock", "s", id), BUS_ERROR_NO_SUCH_LOCK,
                     "there is no such lock");
        server.way = NULL;
        server_release();
        expect_lease(comes_back, "held");
        cr_expect_eq(scope->stops + scope->kills, 0);
}

Test(command_locks, what_is_given_back_before_it_is_found_again_is_swept) {
        Question *comes_back = NULL;

        begin();
        (void)hold(DB);
        server.way = keep_all;
        crash_and_restart();
        comes_back = caller_ask(first, "AdoptLock", "s", id);
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        expect_error(comes_back, BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        server.way = NULL;
        server_release();
        expect_queue("db", 0);
        await(nothing_is_remembered, "it is forgotten");
}

Test(command_locks, a_lock_that_is_gone_after_a_restart_is_lost) {
        ServiceScope *scope = NULL;
        g_autofree char *told = NULL;
        Question *comes_back = NULL;

        begin();
        scope = hold(DB);
        told = g_strdup_printf("LockLost %s the lock is lost 1", id);
        service_manager.deaf = true;
        server.way = keep_all;
        crash();
        server_delete(first_in_queue("db"));
        open_daemon_again();
        await_daemon_on_bus();
        comes_back = caller_ask(first, "AdoptLock", "s", id);
        serve_for(100 * USEC_PER_MSEC);
        server.way = NULL;
        server_release();
        expect_signal(first, told);
        cr_expect_eq(scope->kills, 1);
        service_scope_empty(scope);
        expect_error(comes_back, BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        await(nothing_is_remembered, "it is forgotten");
}

/* Return: whether it took the patience to the end, and not much longer. */
static void expect_stopped_in_patience(const ServiceScope *scope, usec_t since) {
        while (scope->stops == 0 && clock_monotonic() < since + 2 * CALLER_PATIENCE)
                turn();
        cr_assert_eq(scope->stops, 1);
        cr_expect_geq(clock_monotonic(), since + CALLER_PATIENCE);
        cr_expect_lt(clock_monotonic(), since + CALLER_PATIENCE + 5 * USEC_PER_SEC);
}

/* He may have died with the daemon. It is stopped even where a loss would have let it run. */
Test(command_locks, what_nobody_comes_back_for_is_ended) {
        ServiceScope *scope = NULL;
        usec_t since = 0;

        begin();
        scope = hold("{'resources':[{'resource':'db'}],'go_on':true}");
        crash();
        service_manager.deaf = true;
        since = clock_monotonic();
        open_daemon_again();
        expect_stopped_in_patience(scope, since);
        cr_expect_eq(scope->kills, 0);
        expect_queue("db", 1);
        service_scope_empty(scope);
        expect_queue("db", 0);
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- what was ending ---- */

Test(command_locks, what_was_ending_before_a_restart_ends_after_it) {
        ServiceScope *scope = NULL;

        begin();
        scope = hold("{'resources':[{'resource':'a'},{'resource':'b'}]}");
        service_manager.deaf = true;
        server_delete(first_in_queue("a"));
        await(its_end_is_remembered, "its end is written down");
        cr_expect_eq(scope->kills, 1);
        crash_and_restart();
        cr_expect_eq(scope->stops, 1);
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "ending");
        expect_queue("b", 1);
        service_scope_empty(scope);
        expect_queue("b", 0);
        await(nothing_is_remembered, "it is forgotten");
}

Test(command_locks, what_was_lost_with_the_session_is_killed_again) {
        ServiceScope *scope = NULL;
        unsigned kills = 0;

        begin();
        scope = hold(DB);
        service_manager.deaf = true;
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        kills = scope->kills;
        cr_expect_geq(kills, 1);
        crash();
        open_daemon();
        while (scope->kills == kills)
                turn();
        cr_expect_eq(scope->stops, 0);
        service_scope_empty(scope);
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- another session ---- */

static void come_back_in_another_session(void) {
        crash();
        server_expire(last_session);
        open_daemon();
}

Test(command_locks, with_another_session_the_command_is_killed) {
        ServiceScope *scope = NULL;

        begin();
        scope = hold(DB);
        service_manager.deaf = true;
        come_back_in_another_session();
        while (scope->kills == 0)
                turn();
        cr_expect_not(nothing_is_remembered());
        service_scope_empty(scope);
        await(nothing_is_remembered, "it is forgotten");
        cr_expect_eq(scope->stops, 0);
}

static bool nothing_is_held(void) {
        return command_locks_idle(coordinator->command_locks);
}

Test(command_locks, a_command_that_may_go_on_survives_another_session) {
        ServiceScope *scope = NULL;

        begin();
        scope = hold("{'resources':[{'resource':'db'}],'go_on':true}");
        come_back_in_another_session();
        await(nothing_is_held, "it is lost");
        await_daemon_on_bus();
        expect_error(caller_ask(first, "AdoptLock", "s", id), BUS_ERROR_NO_SUCH_LOCK,
                     "there is no such lock");
        cr_expect(scope->alive);
        cr_expect_eq(scope->stops + scope->kills, 0);
        service_scope_empty(scope);
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- a damaged memory ---- */

Test(command_locks, what_is_remembered_of_nobodys_contender_is_given_up) {
        begin();
        close_daemon();
        tree_write(root, "run/" LOCK_MEMORY_OF_ALL,
                   "{\"locks\":[{\"id\":\"01\",\"paths\":[\"/x/y\"]},{\"id\":\"02\"}]}");
        open_daemon_again();
        await(nothing_is_remembered, "it is forgotten");
}

/* ---- a real stop ---- */

Test(command_locks, a_stop_ends_the_commands_before_the_session) {
        g_autofree char *told = NULL;
        ServiceScope *scope = NULL;
        Question *waits = NULL;

        begin();
        scope = hold(DB);
        told = g_strdup_printf("LockLost %s jobkeeperd was stopped 0", id);
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        service_manager.deaf = true;
        terminate(SYSTEMD_JOB_STOP);
        expect_error(waits, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        expect_signal(first, told);
        cr_expect_eq(scope->stops, 1);
        cr_expect_eq(scope->kills, 0);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(has_left());
        expect_queue("db", 1);
        expect_error(caller_acquire(second, DB), BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        service_scope_empty(scope);
        await(has_left, "the session is closed");
        expect_queue("db", 0);
}

/* It has as much time as a run. */
Test(command_locks, a_command_may_end_by_itself_before_a_stop) {
        ServiceScope *scope = NULL;
        Question *waits = NULL;

        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\ndrain-timeout: 20s\n");
        begin();
        scope = hold(DB);
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        terminate(SYSTEMD_JOB_STOP);
        expect_error(waits, BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_not(has_left());
        cr_expect_eq(first->signals->len, 0);
        cr_expect_eq(scope->stops + scope->kills, 0);
        expect_queue("db", 1);
        expect_error(caller_acquire(second, DB), BUS_ERROR_STOPPING, "jobkeeperd is stopping");
        service_scope_empty(scope);
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        await(has_left, "the session is closed");
        expect_queue("db", 0);
}

/* ---- the bus ---- */

/* Whose call went with his connection waits no longer; whose command runs may come back. */
Test(command_locks, with_the_bus_go_those_who_wait) {
        ServiceScope *scope = NULL;

        begin();
        scope = hold(DB);
        (void)caller_acquire(second, DB);
        expect_queue("db", 2);
        bus_end();
        expect_queue("db", 1);
        first = caller_free(first);
        bus_begin();
        await_daemon_on_bus();
        first = caller_new();
        expect_lease(caller_ask(first, "AdoptLock", "s", id), "held");
        expect_queue("db", 1);
        cr_expect_eq(scope->stops + scope->kills, 0);
}

Test(command_locks, who_does_not_come_back_with_the_bus_loses_his_lock) {
        ServiceScope *scope = NULL;
        usec_t since = 0;

        begin();
        scope = hold(DB);
        service_manager.deaf = true;
        since = clock_monotonic();
        bus_end();
        bus_begin();
        expect_stopped_in_patience(scope, since);
        expect_queue("db", 1);
        service_scope_empty(scope);
        expect_queue("db", 0);
}

static bool root_has_its_name(void) {
        return sd_bus_call_method(first->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                  "org.freedesktop.DBus", "GetNameOwner", NULL, NULL, "s",
                                  BUS_NAME_ROOT) >= 0;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

/* Somebody else has the name that is for all, so that connection is made anew every 2 s. */
Test(command_locks, the_other_connection_to_the_bus_is_nobodys_business) {
        cr_assert_geq(sd_bus_request_name(bus, BUS_NAME, 0), 0);
        open_daemon();
        await(is_ready, "the daemon is ready");
        first = caller_new();
        second = caller_new();
        await(root_has_its_name, "the daemon has its name");
        (void)hold(DB);
        (void)caller_acquire(second, DB);
        expect_queue("db", 2);
        serve_for(3 * USEC_PER_SEC);
        expect_lease(caller_ask(first, "LockLease", "s", id), "held");
        expect_queue("db", 2);
}
