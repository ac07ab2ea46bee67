/* See lock-notice.h. */
#include "lock-notice.h"

#include "locks-view.h"
#include "output.h"
#include "timer.h"

/* Longer than this without the lock, and people wonder what it is doing. */
#define NOTE_AFTER USEC_PER_SEC
/* A lock that is free is had by then: nothing need be told. */
#define ASK_FIRST (200 * USEC_PER_MSEC)
#define ASK_PERIOD (3 * USEC_PER_SEC)

struct LockNotice {
        sd_event *event; /* weak: outlives us */
        LockNoticeFuncs funcs;
        void *userdata;
        GTimeZone *zone;
        GHashTable *told; /* line → itself: what was said last */
        sd_event_source *note, *ask;
};

static void lock_notice_on_note(void *userdata) {
        const LockNotice *notice = userdata;

        notice->funcs.say(notice->userdata);
}

static void lock_notice_on_ask(void *userdata) {
        LockNotice *notice = userdata;

        (void)timer_in(notice->event, &notice->ask, ASK_PERIOD, lock_notice_on_ask, notice);
        notice->funcs.ask(notice->userdata);
}

int lock_notice_new(sd_event *event, const LockTask *task, const LockNoticeFuncs *funcs,
                    void *userdata, LockNotice **ret_notice) {
        _cleanup_(lock_notice_freep) LockNotice *notice = g_new0(LockNotice, 1);
        int r = 0;

        notice->event = event;
        notice->funcs = *funcs;
        notice->userdata = userdata;
        notice->zone = g_time_zone_new_local();
        notice->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        if (!task->quiet && task->timeout > 0) /* a try does not wait, so it does not say so */
                r = timer_in(event, &notice->note, NOTE_AFTER, lock_notice_on_note, notice);
        if (r >= 0 && task->verbose)
                r = timer_in(event, &notice->ask, ASK_FIRST, lock_notice_on_ask, notice);
        if (r >= 0)
                *ret_notice = g_steal_pointer(&notice);
        return r;
}

LockNotice *lock_notice_free(LockNotice *notice) {
        if (!notice)
                return NULL;
        sd_event_source_disable_unref(notice->note);
        sd_event_source_disable_unref(notice->ask);
        g_time_zone_unref(notice->zone);
        g_hash_table_unref(notice->told);
        g_free(notice);
        return NULL;
}

void lock_notice_take(LockNotice *notice, const json_t *report) {
        g_autofree char *sentences = locks_sentences(report, notice->zone);
        g_auto(GStrv) lines = g_strsplit(sentences, "\n", -1);
        g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        for (char **line = lines; *line; line++) {
                if (**line && !g_hash_table_contains(notice->told, *line))
                        complain("%s", *line);
                g_hash_table_add(told, g_strdup(*line));
        }
        g_hash_table_unref(notice->told);
        notice->told = g_steal_pointer(&told);
}
