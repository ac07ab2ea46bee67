/* See open-run.h. */
#include "open-run.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "paths.h"

OpenRun *open_run_new(const Node *node, const char *name, OpenRunFunc func, void *userdata) {
        g_autofree char *job = NULL, *run = NULL;
        OpenRun *open;

        if (open_name_split(name, &job, &run) < 0)
                return NULL;
        open = g_new0(OpenRun, 1);
        open->node = node;
        open->job = g_steal_pointer(&job);
        open->run = g_steal_pointer(&run);
        open->func = func;
        open->userdata = userdata;
        return open;
}

void open_run_free(void *data) {
        OpenRun *open = data;

        if (!open)
                return;
        windowed_read_free(open->read);
        g_free(open->job);
        g_free(open->run);
        g_free(open);
}

RunRecord *open_run_record_of_nothing(const OpenRun *open, const char *owner) {
        RunRecord *record = run_record_new(open->job, open->run);

        record->node = g_strdup(owner);
        record->state = RUN_CLAIMED;
        record->tick = run_id_tick(open->run);
        if (record->tick)
                record->attempt = run_id_attempt(open->run);
        return record;
}

static void open_run_on_record(const ZkReply *reply, void *userdata) {
        OpenRun *open = userdata;
        RunRecord *record = NULL;

        open->read = windowed_read_free(open->read);
        if (reply->code == ZK_OK && run_record_decode(reply->data, reply->data_size, &record) == 0)
                record->token = reply->stat.czxid;
        if (record && (strcmp(record->job, open->job) != 0 || strcmp(record->run, open->run) != 0))
                record = run_record_free(record); /* somebody else's, whoever put it there */
        open->func(open, reply->code, record, reply->stat.version, open->userdata);
}

int open_run_read(OpenRun *open, ReadWindow *window) {
        g_autofree char *path = path_run(open->node->config->root, open->job, open->run);

        open->read = read_window_add(window, READ_DATA, path, open_run_on_record, open);
        return open->read ? 0 : -ENOTCONN;
}
