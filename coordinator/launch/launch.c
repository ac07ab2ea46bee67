/* See launch.h. libc alone, since it runs as root before each run, in the environment of the job.
 *
 * The marker comes first, and stays whatever the checks then say: what was refused once is refused
 * for ever, so that the daemon may write down that it was not started while PID 1 still has the
 * unit.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "sum.h"

#define SESSION_FILE_BYTES_MAX 4096
#define INSTANCE_FILE_BYTES_MAX 64
#define SESSION_FILE_TRIES 5
#define SESSION_FILE_PAUSE 1000 /* microseconds */
#define NOTE_BYTES_MAX 160
#define FORBIDDEN "forbidden .\n"
#define SIGNAL_MAX 64

const char *launch_refusal_in_words(int status) {
        switch ((LaunchRefusal)status) {
        case LAUNCH_ALLOWED:
                break;
        case LAUNCH_AGAIN:
                return "its start was attempted before";
        case LAUNCH_NO_MARKER:
                return "its start could not be noted under /run (is there no space?)";
        case LAUNCH_NO_SESSION:
                return "the state of the ZooKeeper session could not be read under /run";
        case LAUNCH_OTHER_SESSION:
                return "the ZooKeeper session was lost right after the claim";
        case LAUNCH_LATE:
                return "systemd came to it too late, when it would have been stopped";
        case LAUNCH_OTHER_FENCE:
                return "its fence was replaced before it began";
        case LAUNCH_OVERDUE:
                return "systemd came to it too late: it was to begin earlier";
        case LAUNCH_FORETOLD:
                return "a file of its environment-file has SERVICE_RESULT, EXIT_CODE or "
                       "EXIT_STATUS, by which systemd tells how it ended";
        }
        return NULL;
}

/* ---- files ---- */

/* Return: whether there is such a path, and it fits. */
static bool note_path(const LaunchPlace *place, const char *kind, char ret_path[static PATH_MAX]) {
        int n = snprintf(ret_path, PATH_MAX, "%s/%s.%s", place->directory, place->nonce, kind);

        return n > 0 && n < PATH_MAX;
}

static int text_write(int fd, const char *text) {
        ssize_t n = write(fd, text, strlen(text));

        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? 0 : -ENOSPC;
}

/* Return: 0; -EEXIST; or negative errno. What is there counts, whatever is in it. */
static int note_make(const LaunchPlace *place, const char *kind, const char *text) {
        char path[PATH_MAX];
        _cleanup_close_ int fd = -1;

        if (!note_path(place, kind, path))
                return -ENAMETOOLONG;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : text_write(fd, text);
}

/* Return: the number of bytes read; negative errno. `ret_text` has room for a NUL behind `size`. */
static ssize_t text_read(const char *path, char *ret_text, size_t size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read(fd, ret_text, size);
        if (n < 0)
                return -errno;
        ret_text[n] = '\0';
        return n;
}

/* ---- the session ---- */

/* Return: what follows "\nKEY " up to the end of the line, in place; NULL: there is no such line.
 */
static char *line_value(char *text, const char *key) {
        size_t length = strlen(key);

        for (char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
                if (strncmp(line + 1, key, length) == 0 && line[1 + length] == ' ')
                        return line + 2 + length;
        return NULL;
}

static bool line_is(const char *value, const char *wanted) {
        size_t length = strlen(wanted);

        return value && strncmp(value, wanted, length) == 0 && value[length] == '\n';
}

/* Return: whether all of it is as it was written. */
static bool session_text_is_whole(char *text) {
        char *check = line_value(text, "check"), *end;
        uint64_t sum;

        if (!check || strncmp(check, "0x", 2) != 0)
                return false;
        errno = 0;
        sum = strtoull(check, &end, 16);
        return errno == 0 && *end == '\n' &&
               sum == text_sum(text, (size_t)(check - strlen("check ") - text));
}

/* The daemon may be moving the deadline just now. */
static bool session_text_read(const char *path, char ret_text[static SESSION_FILE_BYTES_MAX + 1]) {
        for (unsigned tries = 0; tries < SESSION_FILE_TRIES; tries++) {
                if (tries > 0)
                        (void)usleep(SESSION_FILE_PAUSE);
                if (text_read(path, ret_text, SESSION_FILE_BYTES_MAX) < 0)
                        return false;
                if (session_text_is_whole(ret_text))
                        return true;
        }
        return false;
}

static LaunchRefusal session_allows(const LaunchPlace *place, const char *path,
                                    const char *session) {
        char text[SESSION_FILE_BYTES_MAX + 1];
        const char *stop_at;

        if (!session_text_read(path, text))
                return LAUNCH_NO_SESSION;
        if (!line_is(line_value(text, "id"), session))
                return LAUNCH_OTHER_SESSION;
        stop_at = line_value(text, "stop-at");
        if (!stop_at)
                return LAUNCH_NO_SESSION;
        return place->now < strtoull(stop_at, NULL, 10) ? LAUNCH_ALLOWED : LAUNCH_LATE;
}

/* ---- the fence ---- */

static LaunchRefusal fence_allows(const char *path, const char *instance) {
        char text[INSTANCE_FILE_BYTES_MAX + 1];

        return text_read(path, text, INSTANCE_FILE_BYTES_MAX) >= 0 && line_is(text, instance)
                   ? LAUNCH_ALLOWED
                   : LAUNCH_OTHER_FENCE;
}

/* ---- what PID 1 runs ---- */

/* Return: the moment; of what is no number, one that is long over. */
static uint64_t begin_by_read(const char *text) {
        char *end = NULL;
        unsigned long long value = strtoull(text, &end, 10);

        return *text >= '0' && *text <= '9' && *end == '\0' && value > 0 ? value : 1;
}

void launch_claim_read(LaunchClaim *claim, const char *const *words) {
        for (; *words; words++)
                if (strncmp(*words, LAUNCH_BEGIN_BY, strlen(LAUNCH_BEGIN_BY)) == 0)
                        claim->begin_by = begin_by_read(*words + strlen(LAUNCH_BEGIN_BY));
                else if (!strchr(*words, ':') && !claim->instance)
                        claim->instance = *words;
}

LaunchRefusal launch_start(const LaunchPlace *place, const LaunchClaim *claim) {
        char line[NOTE_BYTES_MAX];
        LaunchRefusal refusal;
        int r;

        (void)snprintf(line, sizeof line, "%" PRIu64 " .\n", place->now_wall);
        r = note_make(place, "started", line);
        if (r == -EEXIST)
                return LAUNCH_AGAIN;
        if (r < 0)
                return LAUNCH_NO_MARKER;
        if (claim->begin_by && place->now >= claim->begin_by)
                return LAUNCH_OVERDUE;
        if (claim->foretold)
                return LAUNCH_FORETOLD;
        refusal = session_allows(place, claim->session_file, claim->session);
        return refusal == LAUNCH_ALLOWED && claim->instance
                   ? fence_allows(claim->instance_file, claim->instance)
                   : refusal;
}

int launch_note_good_end(const LaunchPlace *place) {
        char line[NOTE_BYTES_MAX];

        (void)snprintf(line, sizeof line, "%" PRIu64 " .\n", place->now_wall);
        return note_make(place, "ended", line);
}

/* Return: CLD_*; 0: none of these. */
static int code_from_word(const char *word) {
        static const struct {
                const char *word;
                int code;
        } codes[] = {{"exited", CLD_EXITED}, {"killed", CLD_KILLED}, {"dumped", CLD_DUMPED}};

        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (strcmp(codes[i].word, word) == 0)
                        return codes[i].code;
        return 0;
}

/* Return: a number, or that of a signal's name; -1: neither. */
static int status_from_word(const char *word) {
        char *end;
        long number = strtol(word, &end, 10);

        if (end != word && *end == '\0' && number >= 0 && number <= UINT8_MAX)
                return (int)number;
        for (int i = 1; i <= SIGNAL_MAX; i++) {
                const char *name = sigabbrev_np(i);

                if (name && strcmp(name, word) == 0)
                        return i;
        }
        return -1;
}

int launch_note_result(const LaunchPlace *place, const char *word, const char *code,
                       const char *status) {
        char path[PATH_MAX], fresh[PATH_MAX], line[NOTE_BYTES_MAX];
        int r, cld = code ? code_from_word(code) : 0,
               number = status ? status_from_word(status) : -1;

        if (!cld || number < 0 || !word)
                return 0;
        if (!note_path(place, "result", path) || !note_path(place, "result-new", fresh))
                return -ENAMETOOLONG;
        if (access(path, F_OK) == 0)
                return 0;
        (void)unlink(fresh);
        (void)snprintf(line, sizeof line, "%" PRIu64 " %d %d %.31s .\n", place->now_wall, cld,
                       number, word);
        r = note_make(place, "result-new", line);
        if (r >= 0 && rename(fresh, path) < 0)
                r = -errno;
        if (r < 0)
                (void)unlink(fresh);
        return r;
}

/* ---- the daemon's side ---- */

int launch_forbid(const LaunchPlace *place) {
        char path[PATH_MAX], line[sizeof FORBIDDEN + 1] = "";
        _cleanup_close_ int fd = -1;

        if (!note_path(place, "started", path))
                return -ENAMETOOLONG;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0) /* it is there: that counts, whether or not there is room for what it says */
                (void)text_write(fd, FORBIDDEN);
        if (fd >= 0 || errno != EEXIST)
                return fd >= 0 ? 0 : -errno;
        return text_read(path, line, sizeof FORBIDDEN) > 0 && strcmp(line, FORBIDDEN) == 0
                   ? 0
                   : -EEXIST;
}

/* Return: whether the line is whole. */
static bool note_read(const LaunchPlace *place, const char *kind,
                      char ret_line[static NOTE_BYTES_MAX + 1]) {
        char path[PATH_MAX];
        ssize_t n;

        if (!note_path(place, kind, path))
                return false;
        n = text_read(path, ret_line, NOTE_BYTES_MAX);
        return n > 2 && strcmp(ret_line + n - 3, " .\n") == 0 && strlen(ret_line) == (size_t)n;
}

/* Return: the time with which a line begins; 0: none. `ret_rest`: what follows it. */
static usec_t note_time(char *line, char **ret_rest) {
        uint64_t time;

        errno = 0;
        time = strtoull(line, ret_rest, 10);
        return errno == 0 && *ret_rest != line && **ret_rest == ' ' ? time : 0;
}

/* Return: whether the rest of a result's line is one. */
static bool note_take_result(char *rest, LaunchNote *note) {
        char *end;

        note->code = (int)strtol(rest, &end, 10);
        if (end == rest ||
            (note->code != CLD_EXITED && note->code != CLD_KILLED && note->code != CLD_DUMPED))
                return false;
        rest = end;
        note->status = (int)strtol(rest, &end, 10);
        if (end == rest || note->status < 0 || note->status > UINT8_MAX || *end != ' ')
                return false;
        rest = end + 1;
        end = strchr(rest, ' ');
        if (!end || end == rest || (size_t)(end - rest) >= sizeof note->word ||
            strcmp(end, " .\n") != 0)
                return false;
        (void)snprintf(note->word, sizeof note->word, "%.*s", (int)(end - rest), rest);
        return true;
}

void launch_read(const LaunchPlace *place, LaunchNote *ret_note) {
        char line[NOTE_BYTES_MAX + 1], *rest;
        LaunchNote note = {0};

        if (note_read(place, "started", line))
                note.started = note_time(line, &rest);
        if (note_read(place, "result", line)) {
                note.ended = note_time(line, &rest);
                note.has_result = note.ended > 0 && note_take_result(rest, &note);
        }
        if (note_read(place, "ended", line) && note_time(line, &rest) > 0) {
                note.ended = note_time(line, &rest);
                note.ended_well = true;
        }
        *ret_note = note;
}
