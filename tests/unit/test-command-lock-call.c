/* The methods for command locks as their callers find them, over a bus (bus-fixture.h): what is
 * refused, with which error and in which words, and whose a lock is. What becomes of a lock is in
 * test-command-lock.c. */
#include "bus-fixture.h"
#include "command-locks.h"
#include "lock-caller.h"
#include "service-scopes.h"

#define NOT_YOURS "the caller holds no such lock"
#define DB "{'resources':[{'resource':'db'}]}"

static Caller *holder, *other;

static void setup_callers(void) {
        setup_bus();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        holder = caller_new();
        other = caller_new();
}

static void teardown_callers(void) {
        holder = caller_free(holder);
        other = caller_free(other);
        teardown_bus();
}

TestSuite(command_lock_call, .init = setup_callers, .fini = teardown_callers);

/* ---- what is asked for ---- */

Test(command_lock_call, a_request_that_does_not_fit_is_an_invalid_argument) {
        static const struct {
                const char *text, *words;
        } bad[] = {
            {"", "the request is not a JSON object"},
            {"[]", "the request is not a JSON object"},
            {"{'resources':", "the request is not a JSON object"},
            {"{'wait':0,'wait':1,'resources':[{'resource':'db'}]}",
             "the request is not a JSON object"},
            {"{}", "between 1 and 64 resources are required"},
            {"{'resources':[{'resource':'job:a'}]}",
             "\"job:a\" is a job's own lock, which only its runs take"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                expect_error(caller_acquire(holder, bad[i].text), SD_BUS_ERROR_INVALID_ARGS,
                             bad[i].words);
        expect_queue("db", 0);
}

/* A request of so many bytes in all. */
static Question *ask_with_bytes(size_t bytes) {
        g_autoptr(GString) text = g_string_new(DB);

        while (text->len < bytes)
                g_string_append_c(text, ' ');
        return caller_acquire(holder, text->str);
}

Test(command_lock_call, a_request_is_at_most_64_kib_long) {
        (void)expect_held(ask_with_bytes(65536));
        expect_error(ask_with_bytes(65537), SD_BUS_ERROR_INVALID_ARGS, "the request is too long");
}

#define SHARE 64 /* the bus lets nobody ask more than 128 things at a time */

/* Held or waited for, by whomever. */
Test(command_lock_call, there_are_at_most_256_of_them) {
        Caller *callers[COMMAND_LOCKS_MAX / SHARE];

        for (size_t i = 0; i < G_N_ELEMENTS(callers); i++) {
                callers[i] = caller_new();
                for (unsigned n = 0; n < SHARE; n++)
                        (void)caller_acquire(callers[i], DB);
                expect_queue("db", (unsigned)(i + 1) * SHARE);
        }
        expect_error(caller_acquire(other, "{'resources':[{'resource':'free'}]}"),
                     SD_BUS_ERROR_LIMITS_EXCEEDED, "256 commands already hold or wait for locks");
        for (size_t i = G_N_ELEMENTS(callers); i > 0; i--) {
                caller_free(callers[i - 1]);
                expect_queue("db", (unsigned)(i - 1) * SHARE);
        }
        (void)caller_hold(other, "free");
}

/* ---- whose it is ---- */

Test(command_lock_call, nobody_but_its_caller_may_do_anything_with_a_lock) {
        static const char *const methods[] = {"LockLease", "ReleaseLock"};
        const char *id = caller_hold(holder, "db");

        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                expect_error(caller_ask(other, methods[i], "s", id), BUS_ERROR_NO_SUCH_LOCK,
                             NOT_YOURS);
                expect_error(caller_ask(holder, methods[i], "s", "0123456789abcdef"),
                             BUS_ERROR_NO_SUCH_LOCK, NOT_YOURS);
                expect_error(caller_ask(holder, methods[i], "s", ""), BUS_ERROR_NO_SUCH_LOCK,
                             NOT_YOURS);
        }
        expect_error(caller_ask(other, "AttachLock", "su", id, 4711U), BUS_ERROR_NO_SUCH_LOCK,
                     NOT_YOURS);
        expect_error(caller_ask(other, "AdoptLock", "s", id), BUS_ERROR_NO_SUCH_LOCK,
                     "there is no such lock");
        expect_error(caller_ask(holder, "AdoptLock", "s", "0123456789abcdef"),
                     BUS_ERROR_NO_SUCH_LOCK, "there is no such lock");
        expect_queue("db", 1);
        cr_expect_null(service_scope_newest());
        (void)expect_answer(caller_ask(holder, "LockLease", "s", id));
}

Test(command_lock_call, what_is_given_back_cannot_be_given_back_again) {
        const char *id = caller_hold(holder, "db");
        const json_t *answer = expect_answer(caller_ask(holder, "ReleaseLock", "s", id));

        cr_expect_eq(json_object_size(answer), 0);
        expect_error(caller_ask(holder, "ReleaseLock", "s", id), BUS_ERROR_NO_SUCH_LOCK, NOT_YOURS);
        expect_error(caller_ask(holder, "LockLease", "s", id), BUS_ERROR_NO_SUCH_LOCK, NOT_YOURS);
        expect_queue("db", 0);
}

/* ---- the process ---- */

Test(command_lock_call, one_process_moves_once) {
        static const uint32_t bad[] = {0, 1, (uint32_t)INT32_MAX + 1, UINT32_MAX};
        const char *id = caller_hold(holder, "db");

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                expect_error(caller_ask(holder, "AttachLock", "su", id, bad[i]),
                             SD_BUS_ERROR_INVALID_ARGS, "the process cannot be moved");
        cr_expect_null(service_scope_newest());
        (void)expect_answer(caller_ask(holder, "AttachLock", "su", id, (uint32_t)INT32_MAX));
        expect_error(caller_ask(holder, "AttachLock", "su", id, 4711U), SD_BUS_ERROR_INVALID_ARGS,
                     "the process cannot be moved");
        cr_expect_eq(service_scope_newest()->pid, INT32_MAX);
}

Test(command_lock_call, nothing_moves_into_what_is_about_to_end) {
        const char *id = caller_hold(holder, "db");

        (void)expect_answer(caller_ask(holder, "AttachLock", "su", id, 4711U));
        service_manager.deaf = true;
        server_delete(first_in_queue("db"));
        while (holder->signals->len == 0)
                turn();
        expect_error(caller_ask(holder, "AttachLock", "su", id, 4712U), BUS_ERROR_NO_SUCH_LOCK,
                     "the lock is not held");
}

/* ---- who comes back ---- */

/* The bus is gone, and its connections: those who hold may come back, those who wait ask anew. */
Test(command_lock_call, only_one_adopts_a_lock_that_has_lost_its_caller) {
        g_autofree char *id = g_strdup(caller_hold(holder, "db"));
        const json_t *lease = NULL;

        bus_end();
        bus_begin();
        holder = caller_free(holder);
        other = caller_free(other);
        await_daemon_on_bus();
        holder = caller_new();
        other = caller_new();
        expect_error(caller_ask(holder, "LockLease", "s", id), BUS_ERROR_NO_SUCH_LOCK, NOT_YOURS);
        lease = expect_answer(caller_ask(holder, "AdoptLock", "s", id));
        cr_expect_str_eq(json_string_value(json_object_get(lease, "state")), "held");
        expect_error(caller_ask(other, "AdoptLock", "s", id), BUS_ERROR_NO_SUCH_LOCK,
                     "there is no such lock");
        (void)expect_answer(caller_ask(holder, "LockLease", "s", id));
}
