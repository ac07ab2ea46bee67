/* Structured logging for the programs on floors 2 and 3; the libraries below report errors and do
 * not log.
 *
 * A line about a job begins with its name. When standard error is the journal (JOURNAL_STREAM names
 * it), the line goes there with its fields:
 * JOBKEEPER_JOB=, JOBKEEPER_TICK=, JOBKEEPER_RUN=, MESSAGE_ID=. Otherwise one readable line goes to
 * standard error.
 */
#pragma once

#include <stdint.h>
#include <syslog.h>

/* What a line is about. All borrowed for the call; NULL and 0 mean "not about one". */
typedef struct LogAbout {
        const char *message_id; /* one of message-id.h */
        const char *job;
        const char *run;
        int64_t tick; /* epoch seconds */
} LogAbout;

/* Writes a line at `priority` (LOG_ERR ...). `about` may be NULL. Lines above LOG_DEBUG are always
 * written; debug lines only when JOBKEEPER_DEBUG is set in the environment. */
void log_write(int priority, const LogAbout *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* From here on a journal that takes no lines holds nobody up (log-thread.h): for a program with an
 * event loop, before its first line from there and after it has blocked the signals that the loop
 * wants. */
void log_begin_thread(void);
/* Sends what waits, for two seconds at most; lines are then sent at once again. */
void log_end_thread(void);

#define log_error(about, ...) log_write(LOG_ERR, (about), __VA_ARGS__)
#define log_warning(about, ...) log_write(LOG_WARNING, (about), __VA_ARGS__)
#define log_notice(about, ...) log_write(LOG_NOTICE, (about), __VA_ARGS__)
#define log_info(about, ...) log_write(LOG_INFO, (about), __VA_ARGS__)
#define log_debug(about, ...) log_write(LOG_DEBUG, (about), __VA_ARGS__)
