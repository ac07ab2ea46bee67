/* The launch step: what PID 1 runs before a run's command, as it stops, and after it, so that the
 * command is executed once at most, whatever PID 1 does with the unit, and so that how it ended is
 * known also when PID 1 has forgotten the unit and no daemon was there to see it.
 *
 * A run's notes are files in a directory that its unit has to itself, and carry the run's nonce in
 * their names, so that those of another run under the same unit's name are not taken for its own:
 *
 *   NONCE.started   its start was attempted, or forbidden: it never is (again)
 *   NONCE.ended     its command had ended well by itself before the unit was stopped
 *   NONCE.result    how it ended
 *
 * Each is one line that ends in "."; what is not as it would have been written counts as not being
 * there, but for NONCE.started, whose being there is all that counts.
 */
#pragma once

#include <stdbool.h>

#include "clock.h"

/* Where a run's notes are, and when it is. */
typedef struct LaunchPlace {
        const char *directory, *nonce;
        usec_t now;      /* CLOCK_BOOTTIME */
        usec_t now_wall; /* CLOCK_REALTIME */
} LaunchPlace;

/* Why a command is not executed: exit statuses of the launch step, none of which systemd has a
 * meaning for. */
typedef enum LaunchRefusal {
        LAUNCH_ALLOWED = 0,
        LAUNCH_AGAIN = 80,         /* its start was attempted before */
        LAUNCH_NO_MARKER = 81,     /* it cannot be noted that it is attempted */
        LAUNCH_NO_SESSION = 82,    /* jobkeeperd has none, or it cannot be read */
        LAUNCH_OTHER_SESSION = 83, /* it was claimed in one that is gone */
        LAUNCH_LATE = 84,          /* by now it would be stopped */
        LAUNCH_OTHER_FENCE = 85,   /* it would have begun beside a fence that does not guard it */
        LAUNCH_OVERDUE = 86,       /* it was to begin earlier */
        LAUNCH_FORETOLD = 87,      /* its environment says how it ended, and would be believed */
} LaunchRefusal;

/* Return: what that exit status of a launch step means, in words that go on after "not started: ";
 * NULL where it is none of these. */
const char *launch_refusal_in_words(int status);

/* What a run was claimed under, and where to look whether it still is. */
typedef struct LaunchClaim {
        const char *session_file, *session; /* see lock/session/session-file.c; its id, as there */
        /* base/fence-protocol.h. A start that had to wait for a new fence has one beside it that
         * nobody may have set. NULL: it was to have none. */
        const char *instance_file, *instance;
        usec_t begin_by; /* CLOCK_BOOTTIME: later it does not begin; 0: whenever it is */
        /* Its environment has a result before there is one: of an environment file, which nobody
         * has looked into, and which would win over systemd's own in the last step, too. */
        bool foretold;
} LaunchClaim;

/* The words of a launch step behind the session's: the fence's instance, if it has one, and those
 * that name what they are, KEY:VALUE, which drop-ins of another version may lack, or have more of.
 * LAUNCH_BEGIN_BY: microseconds. */
#define LAUNCH_BEGIN_BY "begin-by:"
void launch_claim_read(LaunchClaim *claim, const char *const *words);

/* Before the command. */
LaunchRefusal launch_start(const LaunchPlace *place, const LaunchClaim *claim);
/* As it stops, after a good end. Return: 0 or negative errno. */
int launch_note_good_end(const LaunchPlace *place);
/* When it has stopped. `word`, `code`, `status`: SERVICE_RESULT, EXIT_CODE and EXIT_STATUS of
 * systemd.exec(5); without a code the command was not executed this time, and nothing is noted. The
 * first result counts. Return: 0 or negative errno. */
int launch_note_result(const LaunchPlace *place, const char *word, const char *code,
                       const char *status);

/* ---- the daemon's side ---- */

/* From now on it is never started. Return: 0: it never was, and that is certain; -EEXIST: it was;
 * -ENOENT: it has no launch step; or negative errno. */
int launch_forbid(const LaunchPlace *place);

/* What is noted of how it ended. */
typedef struct LaunchNote {
        bool ended_well; /* by itself, before it was stopped */
        bool has_result;
        char word[32];         /* systemd's: "success", "exit-code", "signal", ... */
        int code;              /* CLD_* */
        int status;            /* exit status, or the signal's number */
        usec_t started, ended; /* CLOCK_REALTIME, about; 0: not known */
} LaunchNote;

void launch_read(const LaunchPlace *place, LaunchNote *ret_note);
