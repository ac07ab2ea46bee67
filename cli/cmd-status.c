/* See cmd-status.h. */
#include "cmd-status.h"

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "overdue-view.h"
#include "status-view.h"
#include "table-layout.h"

/* As wide as what each line of the head begins with. */
#define HEAD_INDENT 9

static void print_text(char *text) {
        g_autofree char *shown = printable(text);

        fputs(shown, stdout);
        g_free(text);
}

static void status_print(const json_t *status) {
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        double now = (double)clock_realtime() / (double)USEC_PER_SEC;
        _cleanup_(table_freep) Table *table = status_table(status, now, zone);
        g_autofree char *head = status_head(status, now);

        print_text(text_wrap_hanging(head, terminal_width(stdout), HEAD_INDENT));
        (void)putchar('\n');
        if (table->rows->len == 0)
                (void)puts("No jobs.");
        else
                (void)table_print(table, stdout);
        if (json_array_size(json_object_get(status, "errors")) > 0)
                (void)putchar('\n');
        print_text(status_errors(status));
}

static int status_check(const json_t *status, bool quiet) {
        double now = (double)clock_realtime() / (double)USEC_PER_SEC;
        char *text = NULL;
        int code = overdue_check(status, now, &text);

        if (quiet)
                g_free(text);
        else
                print_text(text);
        return code;
}

int cmd_status(int argc, char **argv) {
        static const OptionsUse use = {
            "status", "", "Shows this node, its session, the members and the jobs.", NULL};
        gboolean json = FALSE, check = FALSE;
        const GOptionEntry entries[] = {
            {"check", 0, 0, G_OPTION_ARG_NONE, &check,
             "Only say which jobs are overdue, and exit with 1 if any is", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        _cleanup_answer_ BusAnswer answer = {0};
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (rest[0])
                return options_error("status", "unexpected arguments");
        bus_ask(&answer, "Status", BUS_TIMEOUT, "");
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        if (json)
                output_json_text(answer.text, answer.json);
        else if (!check)
                status_print(answer.json);
        return check ? status_check(answer.json, json) : EXIT_CODE_OK;
}
