/* Who wants to hear what daemons log: a message's id says what happened to one. */
#pragma once

/* `machine`: the one whose daemon it is; `message_id`: of message-id.h, or NULL; `job`: which it is
 * about, or NULL. NULL func: nobody. */
typedef void (*LogListenerFunc)(const char *machine, const char *message_id, const char *job,
                                void *userdata);
void surroundings_listen(LogListenerFunc func, void *userdata);
