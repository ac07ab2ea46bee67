/* A node with a wall clock of its own: preloaded into all of its processes, PID 1 included.
 *
 * A container has the machine's clock, and stepping that is no business of a test. So what tells
 * wall-clock time is defined here once more and adds what stands in a file of the node's, usec; it
 * is mapped, so a step is seen at once and by all. Timers at an instant of the wall clock are given
 * to the kernel in the machine's time; as the kernel would when its clock is set, a thread gives
 * them anew when the file has changed. It is begun with the first such timer, so that the many
 * processes that have none stay as they were. Who asks to be told that the clock was set is not.
 *
 *     gcc -shared -fPIC -O2 -o shift-clock.so shift-clock.c
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "/etc/clock-shift"
#define USEC INT64_C(1000000)
#define NSEC INT64_C(1000000000)
#define TIMERS 1024
#define LOOK_EACH_USEC 20000

static const _Atomic int64_t *shift;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool realtime[TIMERS], armed[TIMERS], watching;
static struct itimerspec asked[TIMERS];

__attribute__((constructor)) static void map_shift(void) {
        int fd = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
        void *page =
            fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

        if (fd >= 0)
                close(fd);
        if (page != MAP_FAILED)
                shift = page;
}

static struct timespec shifted(struct timespec at, int64_t usec) {
        int64_t nsec = at.tv_sec * NSEC + at.tv_nsec + usec * (NSEC / USEC);

        if (nsec <= 0)
                nsec = 1;
        return (struct timespec){nsec / NSEC, nsec % NSEC};
}

int clock_gettime(clockid_t clock, struct timespec *ret) {
        int r = (int)syscall(SYS_clock_gettime, clock, ret);

        if (r == 0 && shift && *shift &&
            (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
                *ret = shifted(*ret, *shift);
        return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
        struct timespec now;

        (void)zone;
        clock_gettime(CLOCK_REALTIME, &now);
        *ret = (struct timeval){now.tv_sec, now.tv_nsec / (NSEC / USEC)};
        return 0;
}

time_t time(time_t *ret) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}

static int give(int fd, const struct itimerspec *timer, int flags, struct itimerspec *old) {
        struct itimerspec given = *timer;

        if (shift && *shift)
                given.it_value = shifted(given.it_value, -*shift);
        return (int)syscall(SYS_timerfd_settime, fd, flags, &given, old);
}

static void *watch(void *unused) {
        int64_t last = *shift;

        for (;; usleep(LOOK_EACH_USEC)) {
                if (*shift == last)
                        continue;
                pthread_mutex_lock(&mutex);
                last = *shift;
                for (int fd = 0; fd < TIMERS; fd++)
                        if (armed[fd])
                                give(fd, &asked[fd], TFD_TIMER_ABSTIME, NULL);
                pthread_mutex_unlock(&mutex);
        }
        return unused;
}

int timerfd_create(clockid_t clock, int flags) {
        int fd = (int)syscall(SYS_timerfd_create, clock, flags);

        if (fd >= 0 && fd < TIMERS) {
                pthread_mutex_lock(&mutex);
                realtime[fd] = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM;
                armed[fd] = false;
                pthread_mutex_unlock(&mutex);
        }
        return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *timer, struct itimerspec *old) {
        pthread_t thread;
        int r;

        if (!shift || fd < 0 || fd >= TIMERS || !realtime[fd] || flags != TFD_TIMER_ABSTIME ||
            (timer->it_value.tv_sec == 0 && timer->it_value.tv_nsec == 0)) {
                if (fd >= 0 && fd < TIMERS)
                        armed[fd] = false;
                return (int)syscall(SYS_timerfd_settime, fd, flags, timer, old);
        }
        pthread_mutex_lock(&mutex);
        asked[fd] = *timer;
        armed[fd] = true;
        r = give(fd, timer, flags, old);
        if (!watching && pthread_create(&thread, NULL, watch, NULL) == 0)
                watching = pthread_detach(thread) == 0;
        pthread_mutex_unlock(&mutex);
        return r;
}
