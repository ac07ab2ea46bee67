/* See fence.h. */
#include "fence.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "fence-peer.h"
#include "fence-slice.h"
#include "fence-table.h"
#include "fence-voice.h"
#include "message-id.h"

/* The manager hears of us three times within its watchdog's period, as notify.c does it. */
#define WATCHDOG_PART 3
/* While something is expected of a slice that is not there, or cannot be watched. */
#define LOOK_AGAIN (250 * USEC_PER_MSEC)
/* How long the manager's socket is waited for at a time, at most, and until it is again: in between
 * we see what else has happened. */
#define TELL_PATIENCE (100 * USEC_PER_MSEC)
#define TELL_AGAIN (5 * USEC_PER_MSEC)

enum { POLL_STOP, POLL_KILL, POLL_SLICE, POLL_SIGNALS, POLL_LISTENER, POLL_PEER, POLLS };

typedef struct Fence {
        const FenceOptions *options;
        FenceSlice slice;
        int timers[FENCE_TIMERS];
        int peer; /* -1: nobody is connected */
        FenceState state;
        FenceInstant passed; /* as it was last decided by */
        const char *word;    /* that the manager has yet to hear; NULL: none */
        usec_t ping_at;
        struct pollfd polls[POLLS];
} Fence;

/* A timer is readable from its instant until it is set anew; it is never read. */
static bool timer_has_passed(int timer) {
        struct pollfd one = {.fd = timer, .events = POLLIN};

        return poll(&one, 1, 0) > 0;
}

static FenceInstant fence_passed(const Fence *fence) {
        if (timer_has_passed(fence->timers[FENCE_TIMER_KILL]))
                return FENCE_KILL_PASSED;
        return timer_has_passed(fence->timers[FENCE_TIMER_STOP]) ? FENCE_STOP_PASSED
                                                                 : FENCE_NEITHER;
}

static void fence_begin_stop(Fence *fence) {
        fence->state = FENCE_STOPPING;
        close_fdp(&fence->peer);
        fence->word = "STOPPING=1\nSTATUS=Stopping what is fenced";
        fence_log(LOG_WARNING, MESSAGE_FENCE_STOPS,
                  "jobkeeperd has not moved the deadline in time: what is fenced is stopped");
}

static void fence_kill(const Fence *fence) {
        int r = fence_slice_kill(&fence->slice);

        if (r < 0)
                fence_log(LOG_ERR, MESSAGE_FENCE_UNABLE, "what is fenced could not be killed: %s",
                          strerror(-r));
        else
                fence_log(LOG_WARNING, MESSAGE_FENCE_KILLS,
                          "what is fenced was not gone in time, and was killed");
}

/* Before anything is bound to us: whose timers nobody has set is not to have anything behind it. */
static void fence_clear(Fence *fence) {
        if (fence_slice_populated(&fence->slice))
                fence_kill(fence);
}

/* Return: whether it goes on; else `ret_status` is how it ends. */
static bool fence_decide(Fence *fence, int *ret_status) {
        bool resting;

        fence->passed = fence_passed(fence);
        resting = fence->state == FENCE_GUARDING && fence->passed == FENCE_NEITHER;
        if (resting)
                fence_slice_unwatch(&fence->slice);
        else
                fence_slice_watch(&fence->slice);
        switch (fence_next_step(fence->state, fence->passed,
                                !resting && fence_slice_populated(&fence->slice))) {
        case FENCE_REST:
        case FENCE_WATCH:
                return true;
        case FENCE_STOP:
                fence_begin_stop(fence);
                return true;
        case FENCE_KILL:
                /* The manager is to know why before it sees who dies. But nothing waits now. */
                if (fence->state != FENCE_STOPPING)
                        fence_begin_stop(fence);
                if (fence->word)
                        (void)fence_tell_manager(fence->word, 0);
                fence_kill(fence);
                *ret_status = EXIT_FAILURE;
                return false;
        case FENCE_FAIL:
                *ret_status = EXIT_FAILURE;
                return false;
        case FENCE_RETIRE:
                *ret_status = EXIT_SUCCESS;
                return false;
        }
        abort();
}

/* Return: how long the manager may be waited for now. No instant is to come meanwhile, or to have
 * come since it was decided what to do. */
static usec_t fence_patience(const Fence *fence) {
        usec_t patience = TELL_PATIENCE;

        for (int i = 0; i < FENCE_TIMERS; i++) {
                struct itimerspec spec = {0};
                usec_t left;

                (void)timerfd_gettime(fence->timers[i], &spec);
                left = (usec_t)spec.it_value.tv_sec * USEC_PER_SEC +
                       ((usec_t)spec.it_value.tv_nsec + 999) / 1000;
                if (left > 0 && left < patience) /* 0: it has passed, or is not set */
                        patience = left;
        }
        return fence_passed(fence) == fence->passed ? patience : 0;
}

/* Return: whether it was said. */
static bool fence_say(const Fence *fence, const char *word) {
        return fence_tell_manager(word, fence_patience(fence)) != -EAGAIN;
}

/* Return: when there is something to tell again. Of what could not be told, one is tried at a
 * time. */
static usec_t fence_tell(Fence *fence) {
        bool said = true;

        if (fence->word) {
                said = fence_say(fence, fence->word);
                fence->word = said ? NULL : fence->word;
        }
        if (said && fence->options->watchdog > 0 && clock_monotonic() >= fence->ping_at) {
                said = fence_say(fence, "WATCHDOG=1");
                if (said)
                        fence->ping_at =
                            usec_add(clock_monotonic(), fence->options->watchdog / WATCHDOG_PART);
        }
        if (!said)
                return usec_add(clock_monotonic(), TELL_AGAIN);
        return fence->options->watchdog > 0 ? fence->ping_at : USEC_INFINITY;
}

/* For poll(): rounded up, or it would turn without a pause for the rest of a millisecond. */
static int milliseconds_until(usec_t instant) {
        usec_t left;

        if (instant == USEC_INFINITY)
                return -1;
        left = usec_sub(instant, clock_monotonic());
        return (int)((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
}

/* Waits for the next thing to happen. An instant is not waited for when it was known to have passed
 * as it was decided what to do; one that has passed since ends the wait at once. */
static int fence_wait(Fence *fence, usec_t until) {
        FenceInstant passed = fence->passed;
        bool stopping = fence->state == FENCE_STOPPING;

        if (fence->slice.events < 0 &&
            (fence->state != FENCE_GUARDING || passed != FENCE_NEITHER)) {
                usec_t again = usec_add(clock_monotonic(), LOOK_AGAIN);

                until = again < until ? again : until;
        }
        fence->polls[POLL_STOP] = (struct pollfd){
            passed == FENCE_NEITHER && !stopping ? fence->timers[FENCE_TIMER_STOP] : -1, POLLIN, 0};
        fence->polls[POLL_KILL] = (struct pollfd){
            passed != FENCE_KILL_PASSED ? fence->timers[FENCE_TIMER_KILL] : -1, POLLIN, 0};
        fence->polls[POLL_SLICE] = (struct pollfd){fence->slice.events, POLLPRI, 0};
        fence->polls[POLL_SIGNALS] = (struct pollfd){fence->options->signals, POLLIN, 0};
        /* Who comes while it stops is the next fence's. */
        fence->polls[POLL_LISTENER] =
            (struct pollfd){stopping ? -1 : fence->options->listener, POLLIN, 0};
        fence->polls[POLL_PEER] = (struct pollfd){fence->peer, POLLIN, 0};
        if (poll(fence->polls, POLLS, milliseconds_until(until)) < 0 && errno != EINTR)
                return -errno;
        return 0;
}

static void fence_leave(Fence *fence) {
        if (fence->state == FENCE_GUARDING)
                fence->state = FENCE_LEAVING;
}

static void fence_hear_signal(Fence *fence) {
        struct signalfd_siginfo info;

        if (read(fence->options->signals, &info, sizeof info) == (ssize_t)sizeof info)
                fence_leave(fence);
}

static void fence_hear_peer(Fence *fence) {
        switch (fence_peer_read(fence->peer)) {
        case FENCE_PEER_LEAVE:
                fence_leave(fence);
                break;
        case FENCE_PEER_END:
                close_fdp(&fence->peer);
                break;
        case FENCE_PEER_NOTHING:
                break;
        }
}

/* One at a time, so that a crowd delays nothing else. */
static void fence_hear_listener(Fence *fence) {
        uint32_t flags = fence_slice_may_kill(&fence->slice) ? FENCE_CAN_KILL : 0;
        FenceHello hello;
        int peer;

        fence_hello_init(&hello, fence->options->instance, flags);
        peer = fence_peer_accept(fence->options->listener, fence->options->client_cgroup,
                                 fence->timers, &hello);
        if (peer < 0)
                return;
        if (!flags)
                fence_log(LOG_ERR, MESSAGE_FENCE_UNABLE,
                          "%s/cgroup.kill cannot be written: see jobkeeper-fence(8)",
                          fence->slice.path);
        close_fdp(&fence->peer);
        fence->peer = peer;
}

static void fence_hear(Fence *fence) {
        if (fence->polls[POLL_SIGNALS].revents)
                fence_hear_signal(fence);
        if (fence->polls[POLL_PEER].revents)
                fence_hear_peer(fence);
        if (fence->polls[POLL_LISTENER].revents)
                fence_hear_listener(fence);
}

static int fence_turn(Fence *fence) {
        int status, r;

        fence_clear(fence);
        fence->word = "READY=1";
        while (fence_decide(fence, &status)) {
                r = fence_wait(fence, fence_tell(fence));
                if (r < 0) {
                        fence_log(LOG_ERR, MESSAGE_FENCE_UNABLE, "cannot wait: %s", strerror(-r));
                        return EXIT_FAILURE;
                }
                fence_hear(fence);
        }
        return status;
}

int fence_run(const FenceOptions *options) {
        Fence fence = {.options = options,
                       .slice = {.path = options->slice_path, .events = -1},
                       .timers = {-1, -1},
                       .peer = -1};
        int status = EXIT_FAILURE;
        bool made = fence_door_prepare(options->listener) >= 0;

        for (int i = 0; i < FENCE_TIMERS; i++) {
                fence.timers[i] = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
                made = made && fence.timers[i] >= 0;
        }
        if (made)
                status = fence_turn(&fence);
        else
                fence_log(LOG_ERR, MESSAGE_FENCE_UNABLE, "cannot begin: %s", strerror(errno));
        for (int i = 0; i < FENCE_TIMERS; i++)
                close_fdp(&fence.timers[i]);
        close_fdp(&fence.peer);
        fence_slice_unwatch(&fence.slice);
        return status;
}
