/* Our session with ZooKeeper, as the configuration says: the servers, the sum of the deadlines, the
 * secret, and the state file by which the next process attaches to it. */
#pragma once

#include "node.h"

/* The node is given the session. `config_path` is for the log. Return: 0 with a session that
 * connects from the loop; -EBADMSG when the configuration is wrong, -ENOKEY when the secret is,
 * which is logged: trying again will not mend that; or another negative errno. */
int connect_session(Node *node, const char *config_path, SessionEventFunc func, void *userdata,
                    Session **ret_session);
