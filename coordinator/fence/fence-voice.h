/* What the fence tells the service manager and the journal, in datagrams and without ever waiting
 * for either. libsystemd would wait, and costs more memory than all the rest of the fence. */
#pragma once

/* Assignments of sd_notify(3), one a line. Return: 0; -EAGAIN while the manager's socket is full;
 * another negative errno, also where there is none ($NOTIFY_SOCKET). */
int fence_tell_manager(const char *assignments);

/* One line, with its message id (message-id.h); on standard error where there is no journal. What
 * does not find room is lost. */
void fence_log(int priority, const char *message_id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
