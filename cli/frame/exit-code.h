/* What the command's exit statuses mean, in one place; jobkeeper(1) has the same table.
 *
 * The numbers follow sysexits.h where it has a fitting one, and the shell's conventions where a
 * command is wrapped: `jobkeeper lock` passes its command's own status through, so these can only
 * be told apart from it by commands that keep below 64.
 */
#pragma once

typedef enum ExitCode {
        EXIT_CODE_OK = 0,
        EXIT_CODE_FAILED = 1, /* verify found errors; the run did not succeed; the daemon refused;
                                 status --check: a job is overdue */
        EXIT_CODE_USAGE =
            64, /* EX_USAGE: unknown command or option, missing or malformed argument */
        EXIT_CODE_UNAVAILABLE = 69,     /* EX_UNAVAILABLE: jobkeeperd or its ZooKeeper cannot be
                                           reached; the lock cannot be had */
        EXIT_CODE_NOT_HELD = 75,        /* EX_TEMPFAIL: lock: not acquired in time, or lost, and the
                                           command stopped for it */
        EXIT_CODE_CONFIGURATION = 78,   /* EX_CONFIG: lock: the daemon's configuration has errors */
        EXIT_CODE_CANNOT_EXECUTE = 126, /* lock: the command was found but could not be executed */
        EXIT_CODE_NOT_FOUND = 127,      /* lock: no such command */
        EXIT_CODE_SIGNAL = 128,         /* lock: the command died of a signal: 128 + its number */
} ExitCode;
