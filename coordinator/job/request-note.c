/* See request-note.h. */
#include "request-note.h"

#include <errno.h>

#include "json-line.h"
#include "paths.h"
#include "run-record.h"
#include "statement.h"

json_t *request_note_of(const Requested *wish) {
        json_t *object = json_object();

        json_object_set_new(object, "job", json_string(wish->job));
        if (wish->run)
                json_object_set_new(object, "run", json_string(wish->run));
        if (wish->node)
                json_object_set_new(object, "on", json_string(wish->node));
        return object;
}

json_t *request_note_of_stop(const Requested *wish) {
        json_t *object = request_note_of(wish);

        json_object_set_new(object, "by", said_to_json(wish->who));
        return object;
}

int request_note_write(const Node *node, const char *id, json_t *object, ZkReplyFunc func,
                       void *userdata, ZkCall **ret_call) {
        usec_t not_after = clock_realtime() + REQUEST_LIFETIME;
        g_autofree char *path = path_request(node->config->root, id), *data = NULL;
        Zk *zk = node_zk(node);

        json_object_set_new(object, "node", json_string(node->config->node_name));
        json_object_set_new(object, "not_after", seconds_to_json(not_after));
        data = json_line_dump(object);
        return zk ? zk_create(zk, path, data, 0, func, userdata, ret_call) : -ENOTCONN;
}

void request_note_send_stop(const Node *node, const Requested *wish) {
        g_autofree char *id = stop_id_new((int64_t)(clock_realtime() / USEC_PER_SEC));

        (void)request_note_write(node, id, request_note_of_stop(wish), NULL, NULL, NULL);
}
