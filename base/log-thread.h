/* Log lines on their way to somebody who may not take them at once.
 *
 * The journal's socket has room for a few hundred lines of everybody's, and who finds it full
 * waits. A journal daemon that hangs would hang with it whoever logs from an event loop, heartbeats
 * and all. So a thread of its own sends, and waits; whoever logs only queues. Nothing is lost
 * before LOG_LINES_MAX lines wait, and what is lost then is counted and said.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "clock.h"

#define LOG_LINES_MAX 10000

typedef struct LogThread LogThread;

/* Sends a line, its fields "NAME=text", on the thread; may take as long as it likes. */
typedef void (*LogSendFunc)(const GPtrArray *fields);
/* Return: newly allocated, the fields of a line that says that so many were lost. */
typedef GPtrArray *(*LogLostFunc)(unsigned lost);

/* Return: NULL where no thread can be had. */
LogThread *log_thread_new(LogSendFunc send, LogLostFunc lost);
/* Queues a line; the fields are taken over. From one thread only. */
void log_thread_push(LogThread *thread, GPtrArray *fields);
/* Sends what waits, for no longer than `limit`; then the thread, if it is still held up, is left to
 * itself, and what waits is lost with the process. Return: whether all was sent. */
bool log_thread_end(LogThread *thread, usec_t limit);
