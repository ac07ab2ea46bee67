/* See counted-reads.h. */
#include "counted-reads.h"

#include <glib.h>
#include <string.h>

#include "small-server.h"

static const char *below;
static unsigned under_way, most, served;

static ServerWay keep_counted(const ZkCall *call) {
        if (call->request != REQUEST_GET || !g_str_has_prefix(call->path, below) ||
            call->path[strlen(below)] != '/')
                return SERVER_ANSWER;
        under_way++;
        most = MAX(most, under_way);
        return SERVER_KEEP;
}

void counted_reads_begin(const char *directory) {
        below = directory;
        under_way = most = served = 0;
        server.way = keep_counted;
}

void counted_reads_end(void) {
        server.way = NULL;
}

bool counted_reads_serve(void) {
        if (under_way == 0)
                return false;
        served += under_way;
        under_way = 0;
        server_release();
        return true;
}

unsigned counted_reads_most(void) {
        return most;
}

unsigned counted_reads_served(void) {
        return served;
}
