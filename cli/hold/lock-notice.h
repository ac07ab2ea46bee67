/* What `jobkeeper lock` says while it waits: one line when it takes longer than a second, and with
 * --verbose who holds, when that changes. Where the news come from is its owner's business. */
#pragma once

#include <jansson.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "lock-task.h"

typedef struct LockNotice LockNotice;

/* `say` is called once, after a second: say why it takes so long. `ask` is called again and again
 * (only with --verbose): find out who holds, and hand it to lock_notice_take(). */
typedef struct LockNoticeFuncs {
        void (*say)(void *userdata);
        void (*ask)(void *userdata);
} LockNoticeFuncs;

int lock_notice_new(sd_event *event, const LockTask *task, const LockNoticeFuncs *funcs,
                    void *userdata, LockNotice **ret_notice);
LockNotice *lock_notice_free(LockNotice *notice);
DEFINE_CLEANUP(LockNotice, lock_notice_free);

/* Tells what a report (as Locks() gives it) says of the resources, unless it was told last. */
void lock_notice_take(LockNotice *notice, const json_t *report);
