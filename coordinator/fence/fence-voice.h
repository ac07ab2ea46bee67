/* What the fence tells the service manager and the journal, in datagrams, and without waiting for
 * either any longer than is said. libsystemd would wait, and costs more memory than all the rest of
 * the fence.
 *
 * The manager's socket is everybody's: any user may keep it full. Who only tries finds it full then
 * time after time; who waits has its turn within milliseconds.
 */
#pragma once

#include "usec.h"

/* Assignments of sd_notify(3), one a line. Where the manager's socket is full, waits for so long;
 * 0: not at all. Return: 0; -EAGAIN: it was full all the time; another negative errno, also where
 * there is none ($NOTIFY_SOCKET). */
int fence_tell_manager(const char *assignments, usec_t patience);

/* One line, with its message id (message-id.h); on standard error where there is no journal. What
 * does not find room is lost. */
void fence_log(int priority, const char *message_id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
