/* This library's locks as a contestant (bench.h). Each contender has a session of its own; all live
 * in one loop, so that one clock sees a release and the next one's HELD. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "lock-ours-cycle.h"

typedef struct Contest Contest;

typedef struct Rival {
        Contest *contest; /* weak: has us */
        size_t index;
        LockSet *set;
        sd_event_source *timer; /* the end of his hold, or of the pause after it */
} Rival;

struct Contest {
        Bench *bench;
        LockRequest request;
        LockOptions options;
        usec_t hold;
        bool repeat; /* whoever let go queues again */
        bool line;   /* the last one goes on holding */
        bool stand;  /* whoever holds waits for `drain` */
        BenchWindow window;
        Rival *rivals;
        unsigned n_rivals;

        unsigned holders, overlaps, grants;
        usec_t released; /* the latest; 0: nobody yet */
        usec_t granted;  /* the latest */
        GArray *samples;
};

static void rival_acquire(Rival *rival);
static void rival_wait(Rival *rival, usec_t until);

static void rival_release(Rival *rival) {
        Contest *contest = rival->contest;

        contest->holders--;
        contest->released = clock_monotonic();
        rival->set = lock_set_free(rival->set);
        if (contest->repeat && contest->hold > 0)
                rival_wait(rival, contest->released + contest->hold / 2);
        else if (contest->repeat)
                rival_acquire(rival);
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Rival *rival = userdata;

        (void)source;
        (void)usec;
        if (rival->set)
                rival_release(rival);
        else
                rival_acquire(rival);
        return 0;
}

static void rival_wait(Rival *rival, usec_t until) {
        int r;

        if (rival->timer) {
                r = sd_event_source_set_time(rival->timer, until);
                if (r >= 0)
                        r = sd_event_source_set_enabled(rival->timer, SD_EVENT_ONESHOT);
        } else
                r = sd_event_add_time(rival->contest->bench->event, &rival->timer, CLOCK_MONOTONIC,
                                      until, 1, on_time, rival);
        if (r < 0)
                bench_die("no timer: %s", g_strerror(-r));
}

static void contest_count(Contest *contest, usec_t now) {
        contest->granted = now;
        contest->grants++;
        if (contest->request.mode == LOCK_EXCLUSIVE && contest->holders > 0)
                contest->overlaps++;
        contest->holders++;
        if (contest->samples && contest->released != 0 && bench_window_has(&contest->window, now)) {
                usec_t took = now - contest->released;

                g_array_append_val(contest->samples, took);
        }
}

static void on_event(LockSet *set, LockEvent event, void *userdata) {
        Rival *rival = userdata;
        Contest *contest = rival->contest;
        usec_t now = clock_monotonic();

        if (event != LOCK_EVENT_HELD)
                bench_die("a contender was told %d: %s", (int)event, lock_set_fault(set));
        contest_count(contest, now);
        if (contest->stand || (contest->line && contest->grants == contest->n_rivals))
                return;
        if (contest->hold > 0)
                rival_wait(rival, now + contest->hold);
        else
                rival_release(rival);
}

static void rival_acquire(Rival *rival) {
        const Contest *contest = rival->contest;
        int r = lock_set_acquire(bench_session(contest->bench, rival->index), &contest->request, 1,
                                 &contest->options, on_event, rival, &rival->set);

        if (r < 0)
                bench_die("acquire: %s", g_strerror(-r));
}

static Contest *contest_new(Bench *bench, const char *path, LockMode mode, unsigned n) {
        Contest *contest = g_new0(Contest, 1);

        contest->bench = bench;
        contest->options.parent = ours_split(path, &contest->request.resource);
        contest->options.wait = USEC_INFINITY;
        contest->request.resource = g_strdup(contest->request.resource);
        contest->request.mode = mode;
        contest->n_rivals = n;
        contest->rivals = g_new0(Rival, n);
        for (unsigned i = 0; i < n; i++)
                contest->rivals[i] = (Rival){.contest = contest, .index = i};
        return contest;
}

static void contest_free(Contest *contest) {
        for (unsigned i = 0; i < contest->n_rivals; i++) {
                (void)sd_event_source_disable_unref(contest->rivals[i].timer);
                (void)lock_set_free(contest->rivals[i].set);
        }
        g_free(contest->rivals);
        g_free((char *)contest->request.resource);
        g_free((char *)contest->options.parent);
        g_free(contest);
}

static void contest_start(Contest *contest) {
        for (unsigned i = 0; i < contest->n_rivals; i++)
                rival_acquire(&contest->rivals[i]);
}

static bool window_is_over(void *userdata) {
        const Contest *contest = userdata;

        return clock_monotonic() >= contest->window.end;
}

static json_t *handover(Bench *bench, char **words) {
        Contest *contest = contest_new(bench, words[0], LOCK_EXCLUSIVE, bench_number(words[1]));
        usec_t measure = bench_number(words[4]) * USEC_PER_MSEC;
        json_t *answer;

        contest->hold = bench_number(words[2]);
        contest->repeat = true;
        contest->samples = g_array_new(FALSE, FALSE, sizeof(usec_t));
        contest->window = bench_window(bench_number(words[3]) * USEC_PER_MSEC, measure);
        contest_start(contest);
        bench_await(bench, window_is_over, contest, "handovers");

        answer =
            json_pack("{s:i, s:i, s:f}", "handovers", (int)contest->samples->len, "overlaps",
                      (int)contest->overlaps, "seconds", (double)measure / (double)USEC_PER_SEC);
        json_object_update_new(answer, bench_samples(contest->samples));
        contest->repeat = false;
        contest_free(contest);
        return answer;
}

static bool all_granted(void *userdata) {
        const Contest *contest = userdata;

        return contest->grants == contest->n_rivals;
}

/* Between `queue` or `line` and `finish`. */
typedef struct Audience {
        bool writer_holds;
        LockSet *writer;
        Contest *contest;
} Audience;

static void on_writer_event(LockSet *set, LockEvent event, void *userdata) {
        if (event != LOCK_EVENT_HELD)
                bench_die("the writer was told %d: %s", (int)event, lock_set_fault(set));
        ((Audience *)userdata)->writer_holds = true;
}

static bool writer_holds(void *userdata) {
        return ((Audience *)userdata)->writer_holds;
}

static json_t *queue(Bench *bench, char **words) {
        unsigned n = bench_number(words[1]);
        Audience *audience = g_new0(Audience, 1);
        LockRequest request;
        int r;

        audience->contest = contest_new(bench, words[0], LOCK_SHARED, n);
        audience->contest->stand = true;
        request = audience->contest->request;
        request.mode = LOCK_EXCLUSIVE;
        r = lock_set_acquire(bench_session(bench, n), &request, 1, &audience->contest->options,
                             on_writer_event, audience, &audience->writer);
        if (r < 0)
                bench_die("acquire: %s", g_strerror(-r));
        bench_await(bench, writer_holds, audience, "the writer");
        contest_start(audience->contest);
        bench_await_children(bench, n, words[0], n + 1);
        bench->queue = audience;
        return json_object();
}

static json_t *admit(Bench *bench, char **words) {
        Audience *audience = bench->queue;
        GArray *samples = g_array_new(FALSE, FALSE, sizeof(usec_t));
        usec_t begin, took;

        (void)words;
        if (!audience || audience->contest->grants > 0)
                bench_die("nobody queues, or somebody was let in too early");
        begin = clock_monotonic();
        audience->writer = lock_set_free(audience->writer);
        bench_await(bench, all_granted, audience->contest, "readers");
        took = audience->contest->granted - begin;
        g_array_append_val(samples, took);
        return bench_samples(samples);
}

static json_t *finish(Bench *bench, char **words) {
        Audience *audience = g_steal_pointer(&bench->queue);

        (void)words;
        contest_free(audience->contest);
        g_free(audience);
        return json_object();
}

static LockStrategy strategy_of(const char *word) {
        if (strcmp(word, "parent") == 0)
                return LOCK_STRATEGY_PARENT;
        if (strcmp(word, "poll") == 0)
                return LOCK_STRATEGY_POLL;
        return LOCK_STRATEGY_PREDECESSOR;
}

static bool anybody_granted(void *userdata) {
        return ((const Contest *)userdata)->grants > 0;
}

static json_t *line(Bench *bench, char **words) {
        Contest *contest = contest_new(bench, words[0], LOCK_EXCLUSIVE, bench_number(words[1]));

        contest->options.strategy = strategy_of(words[2]);
        contest->line = true;
        contest->stand = true;
        rival_acquire(&contest->rivals[0]);
        bench_await(bench, anybody_granted, contest, "the first");
        for (unsigned i = 1; i < contest->n_rivals; i++)
                rival_acquire(&contest->rivals[i]);
        bench_await_children(bench, 0, words[0], contest->n_rivals);
        bench->queue = g_new0(Audience, 1);
        ((Audience *)bench->queue)->contest = contest;
        return json_object();
}

static json_t *drain(Bench *bench, char **words) {
        Contest *contest = ((Audience *)bench->queue)->contest;
        usec_t begin = clock_monotonic(), took;

        contest->stand = false;
        contest->hold = bench_number(words[0]);
        rival_release(&contest->rivals[0]);
        bench_await(bench, all_granted, contest, "everybody's turn");
        took = clock_monotonic() - begin;
        return json_pack("{s:f, s:i}", "seconds", (double)took / (double)USEC_PER_SEC, "overlaps",
                         (int)contest->overlaps);
}

const Contestant lock_ours = {
    .name = "ours",
    .cycle = ours_cycle,
    .handover = handover,
    .queue = queue,
    .admit = admit,
    .finish = finish,
    .line = line,
    .drain = drain,
};
