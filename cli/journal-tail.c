/* See journal-tail.h.
 *
 * A user who may not read the system's journal sees an empty one, and waits for nothing: so its
 * files are tried first. What is followed begins at an instant of this boot, not of the clock,
 * which may be set. */
#include "journal-tail.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "clock.h"
#include "output.h"
#include "timer.h"

#define MESSAGE "MESSAGE="
/* So many entries are written at a turn of the loop: a run that writes more than its follower can
 * is still followed by one that hears Ctrl-C, and sees that the run has ended. */
#define ENTRIES_AT_ONCE 256

struct JournalTail {
        sd_journal *journal;
        usec_t since; /* CLOCK_MONOTONIC */
        sd_id128_t boot;
        FILE *out;
        bool terminal;   /* that is what it is */
        sd_event *event; /* weak */
        sd_event_source *io, *timer;
};

/* ---- whether it can be read ---- */

int journal_tail_check(const char *const *directories, const char *machine) {
        int result = -ENOENT;

        for (; *directories; directories++) {
                g_autofree char *path =
                    g_build_filename(*directories, machine, "system.journal", NULL);

                if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
                        return 0;
                if (errno == EACCES)
                        result = -EACCES;
        }
        return result;
}

static int journal_tail_check_machine(void) {
        static const char *const directories[] = {"/var/log/journal", "/run/log/journal", NULL};
        char machine[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r = sd_id128_get_machine(&id);

        return r < 0 ? r : journal_tail_check(directories, sd_id128_to_string(id, machine));
}

int journal_tail_new(JournalTail **ret_tail) {
        _cleanup_(journal_tail_freep) JournalTail *tail = g_new0(JournalTail, 1);
        int r = journal_tail_check_machine();

        tail->since = clock_monotonic();
        if (r < 0 || (r = sd_id128_get_boot(&tail->boot)) < 0 ||
            (r = sd_journal_open(&tail->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM)) < 0)
                return r;
        *ret_tail = g_steal_pointer(&tail);
        return 0;
}

JournalTail *journal_tail_free(JournalTail *tail) {
        if (!tail)
                return NULL;
        sd_event_source_disable_unref(tail->io);
        sd_event_source_disable_unref(tail->timer);
        sd_journal_close(tail->journal);
        g_free(tail);
        return NULL;
}

/* ---- what is written ---- */

/* A terminal does what stands in it: it may be the word of a user whom the job has been given. */
static void journal_tail_show(FILE *out, const char *text, size_t size) {
        g_autofree char *bytes = g_strndup(text, size), *shown = NULL;

        for (size_t i = 0; i < size; i++)
                if (text[i])
                        bytes[i] = text[i];
                else
                        bytes[i] = '?';
        shown = printable(bytes);
        (void)fputs(shown, out);
}

void journal_tail_write(FILE *out, const char *message, size_t size, const char *line_break,
                        bool terminal) {
        size_t name = strlen(MESSAGE);

        if (size < name)
                return;
        if (terminal)
                journal_tail_show(out, message + name, size - name);
        else
                (void)fwrite(message + name, 1, size - name, out);
        if (!line_break || strcmp(line_break, "_LINE_BREAK=line-max") != 0)
                (void)fputc('\n', out);
}

static void journal_tail_write_entry(const JournalTail *tail) {
        const void *data = NULL;
        size_t size = 0;
        g_autofree char *line_break = NULL;

        if (sd_journal_get_data(tail->journal, "_LINE_BREAK", &data, &size) >= 0)
                line_break = g_strndup(data, size);
        if (sd_journal_get_data(tail->journal, "MESSAGE", &data, &size) >= 0)
                journal_tail_write(tail->out, data, size, line_break, tail->terminal);
}

/* Return: whether there may be more. */
static bool journal_tail_write_some(const JournalTail *tail) {
        unsigned n = 0;

        while (n < ENTRIES_AT_ONCE && sd_journal_next(tail->journal) > 0) {
                journal_tail_write_entry(tail);
                n++;
        }
        (void)fflush(tail->out);
        return n == ENTRIES_AT_ONCE;
}

void journal_tail_drain(JournalTail *tail) {
        (void)sd_journal_process(tail->journal);
        while (journal_tail_write_some(tail))
                continue;
}

/* ---- following ---- */

static void journal_tail_on_timer(void *userdata);

/* On some file systems the kernel tells of no changes: the library says when to look again. */
static void journal_tail_look(JournalTail *tail) {
        usec_t until = USEC_INFINITY;

        (void)sd_journal_process(tail->journal);
        if (journal_tail_write_some(tail)) {
                (void)timer_in(tail->event, &tail->timer, 0, journal_tail_on_timer, tail);
                return;
        }
        if (sd_journal_get_timeout(tail->journal, &until) >= 0 && until != USEC_INFINITY)
                (void)timer_in(tail->event, &tail->timer, usec_sub(until, clock_monotonic()),
                               journal_tail_on_timer, tail);
}

static void journal_tail_on_timer(void *userdata) {
        journal_tail_look(userdata);
}

static int journal_tail_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source, (void)fd, (void)events;
        journal_tail_look(userdata);
        return 0;
}

/* What the run's processes wrote, by whichever way; not what the kernel's audit says of them. */
static int journal_tail_match(const JournalTail *tail, const char *unit) {
        g_autofree char *match = g_strconcat("_SYSTEMD_UNIT=", unit, NULL);
        static const char *const ways[] = {"_TRANSPORT=stdout", "_TRANSPORT=syslog",
                                           "_TRANSPORT=journal"};
        int r = sd_journal_add_match(tail->journal, match, 0);

        for (size_t i = 0; i < G_N_ELEMENTS(ways) && r >= 0; i++)
                r = sd_journal_add_match(tail->journal, ways[i], 0);
        return r;
}

int journal_tail_follow(JournalTail *tail, sd_event *event, const char *unit, FILE *out) {
        int r;

        tail->event = event;
        tail->out = out;
        tail->terminal = isatty(fileno(out));
        if ((r = sd_journal_set_data_threshold(tail->journal, 0)) < 0 ||
            (r = journal_tail_match(tail, unit)) < 0 ||
            (r = sd_journal_seek_monotonic_usec(tail->journal, tail->boot, tail->since)) < 0 ||
            (r = sd_journal_get_fd(tail->journal)) < 0)
                return r;
        r = sd_event_add_io(event, &tail->io, r, (uint32_t)sd_journal_get_events(tail->journal),
                            journal_tail_on_io, tail);
        if (r >= 0)
                journal_tail_look(tail);
        return r < 0 ? r : 0;
}
