/* See lock-caller.h. */
#include "lock-caller.h"

#include <stdarg.h>

#include "bus-fixture.h"

#define NUMBER_LENGTH 10 /* at the end of a contender's name */

static void question_free(gpointer data) {
        Question *question = data;

        g_free(question->error);
        g_free(question->words);
        json_decref(question->answer);
        g_free(question);
}

static int caller_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *id = NULL, *why = NULL;
        Caller *caller = userdata;
        int at_once = 0;

        (void)error;
        if (sd_bus_message_is_signal(message, BUS_INTERFACE, NULL) &&
            sd_bus_message_read(message, "ssb", &id, &why, &at_once) >= 0)
                g_ptr_array_add(caller->signals,
                                g_strdup_printf("%s %s %s %d", sd_bus_message_get_member(message),
                                                id, why, at_once));
        return 0;
}

Caller *caller_new(void) {
        Caller *caller = g_new0(Caller, 1);

        caller->questions = g_ptr_array_new_with_free_func(question_free);
        caller->signals = g_ptr_array_new_with_free_func(g_free);
        caller->bus = another_caller();
        cr_assert_geq(sd_bus_add_filter(caller->bus, NULL, caller_on_message, caller), 0);
        return caller;
}

Caller *caller_free(Caller *caller) {
        if (!caller)
                return NULL;
        sd_bus_flush_close_unref(caller->bus);
        g_ptr_array_unref(caller->questions);
        g_ptr_array_unref(caller->signals);
        g_free(caller);
        return NULL;
}

static int question_on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Question *question = userdata;
        const char *text = NULL;

        (void)error;
        question->answered = true;
        if (sd_bus_message_is_method_error(message, NULL)) {
                question->error = g_strdup(sd_bus_message_get_error(message)->name);
                question->words = g_strdup(sd_bus_message_get_error(message)->message);
        } else if (sd_bus_message_read(message, "s", &text) >= 0) {
                question->answer = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        }
        return 0;
}

Question *caller_ask(Caller *caller, const char *method, const char *types, ...) {
        Question *question = g_new0(Question, 1);
        sd_bus_message *message = NULL;
        va_list arguments;

        g_ptr_array_add(caller->questions, question);
        cr_assert_geq(sd_bus_message_new_method_call(caller->bus, &message, BUS_NAME_ROOT, BUS_PATH,
                                                     BUS_INTERFACE, method),
                      0);
        va_start(arguments, types);
        cr_assert_geq(sd_bus_message_appendv(message, types, arguments), 0);
        va_end(arguments);
        cr_assert_geq(
            sd_bus_call_async(caller->bus, NULL, message, question_on_answer, question, UINT64_MAX),
            0);
        sd_bus_message_unref(message);
        return question;
}

static void await_answer(const Question *question) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!question->answered && clock_monotonic() < until)
                turn();
        cr_assert(question->answered, "no answer");
}

const json_t *expect_answer(Question *question) {
        await_answer(question);
        cr_assert_null(question->error, "%s: %s", question->error, question->words);
        cr_assert_not_null(question->answer);
        return question->answer;
}

void expect_error(Question *question, const char *error, const char *words) {
        await_answer(question);
        cr_assert_not_null(question->error, "an answer instead of: %s", words);
        cr_expect_str_eq(question->error, error);
        cr_expect_str_eq(question->words, words);
}

void expect_signal(Caller *caller, const char *text) {
        usec_t until = clock_monotonic() + LIMIT;

        while (caller->signals->len == 0 && clock_monotonic() < until)
                turn();
        cr_assert_eq(caller->signals->len, 1, "%u instead of: %s", caller->signals->len, text);
        cr_expect_str_eq(caller->signals->pdata[0], text);
        g_ptr_array_set_size(caller->signals, 0);
}

/* ---- locks ---- */

Question *caller_acquire(Caller *caller, const char *request) {
        g_autofree char *text = g_strdelimit(g_strdup(request), "'", '"');

        return caller_ask(caller, "AcquireLock", "s", text);
}

static const char *member(const json_t *object, const char *name) {
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

const char *expect_held(Question *question) {
        const json_t *answer = expect_answer(question);

        cr_assert_str_eq(member(answer, "state"), "held", "%s: %s", member(answer, "state"),
                         member(answer, "why"));
        return member(answer, "id");
}

void expect_not_held(Question *question, const char *state, const char *why) {
        const json_t *answer = expect_answer(question);

        cr_expect_str_eq(member(answer, "state"), state);
        cr_expect_str_eq(member(answer, "why"), why);
        cr_expect_null(json_object_get(answer, "id"));
}

const char *caller_hold(Caller *caller, const char *resource) {
        g_autofree char *request = g_strdup_printf("{'resources':[{'resource':'%s'}]}", resource);

        return expect_held(caller_acquire(caller, request));
}

static char *directory_of(const char *resource) {
        return g_strconcat("/jobkeeper/locks/", resource, NULL);
}

void expect_queue(const char *resource, unsigned n) {
        g_autofree char *directory = directory_of(resource);
        usec_t until = clock_monotonic() + LIMIT;

        while (server_count(directory) != n && clock_monotonic() < until)
                turn();
        cr_assert_eq(server_count(directory), n, "%u wait for %s", server_count(directory),
                     resource);
}

/* Return: its end, from the number on. */
static const char *number_in(const char *path) {
        size_t length = strlen(path);

        return path + (length > NUMBER_LENGTH ? length - NUMBER_LENGTH : 0);
}

static bool is_before(const char *path, const char *other) {
        return strcmp(number_in(path), number_in(other)) < 0;
}

static const char *end_of_queue(const char *resource, bool last) {
        g_autofree char *prefix = g_strdup_printf("/jobkeeper/locks/%s/", resource);
        GHashTableIter iterator;
        const char *end = NULL;
        gpointer path;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, prefix) && (!end || is_before(path, end) != last))
                        end = path;
        return g_intern_string(end); /* stays when the node goes */
}

const char *first_in_queue(const char *resource) {
        return end_of_queue(resource, false);
}

const char *last_in_queue(const char *resource) {
        return end_of_queue(resource, true);
}
