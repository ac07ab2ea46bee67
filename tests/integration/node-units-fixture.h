/* What the files of node-units share: the fixture, and a unit with what was told of it. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "unit.h"

#define PATIENCE (30 * USEC_PER_SEC)
#define PRIVATE_SOCKET "/run/systemd/private"
#define BUS_SOCKET "/run/dbus/system_bus_socket"
#define NO_SOCKET "/nonexistent/socket"
#define NONCE_A "00000000000000000000000000000001"
#define NONCE_B "00000000000000000000000000000002"

typedef struct Fixture {
        sd_event *event;
        UnitManager *manager;
        char *directory; /* for what the commands write */
        unsigned passed, failed;
        unsigned serial;
} Fixture;

/* A unit and what was told of it. */
typedef struct Seen {
        Unit *unit;
        char trace[32]; /* a letter an event, in order */
        usec_t exited, ended;
} Seen;

/* Prints and counts one check. */
void check(Fixture *f, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, with what was told of the unit. */
void check_told(Fixture *f, const Seen *seen, bool ok, const char *what);

/* Each runs the loop: until seen has `letter`, s(tarted), (e)x(ited), e(nded), a(bsent); until the
 * connection is there, or gone; for a while; until the file exists; until every discard is
 * answered; until PID 1 says that about the unit. Return: whether it came true. */
bool wait_for(Fixture *f, const Seen *seen, char letter);
bool wait_connected(Fixture *f, bool connected);
void run_for(Fixture *f, usec_t usec);
bool wait_file(Fixture *f, const char *path);
void wait_idle(Fixture *f);
bool wait_load_state(Fixture *f, const char *name, const char *state);

char *fresh_name(Fixture *f);
/* The text of a file in the fixture's directory. */
char *file_text(Fixture *f, const char *name);
/* What a command printed. */
char *command_output(const char *const *argv);
/* Another manager in place of the fixture's, as after a restart of the daemon. */
void new_manager(Fixture *f);
/* The same, where PID 1 and the bus are looked for at these paths. */
void new_manager_at(Fixture *f, const char *private_socket, const char *bus);
/* Runs the loop until the bus is there, to refer to units. Return: whether it is. */
bool wait_referable(Fixture *f);

/* A spec with the defaults of these tests: nonce A, no time limit, two seconds to stop. */
UnitSpec spec_of(const char *name, const char *const *argv);
void seen_start(Fixture *f, Seen *seen, const UnitSpec *spec);
void seen_shell(Fixture *f, Seen *seen, const char *name, const char *script);
void seen_adopt(Fixture *f, Seen *seen, const char *name, const char *nonce);
/* Discards and frees the unit. */
void seen_done(Seen *seen);
/* Return: whether that is the unit's result. */
bool is(const Seen *seen, UnitOutcome outcome, int status, bool stopped);

/* The tests, by what they are about. */
void test_success(Fixture *f);
void test_failures(Fixture *f);
void test_timeout(Fixture *f);
void test_start_failures(Fixture *f);
void test_arguments(Fixture *f);
void test_expansion(Fixture *f);
void test_surroundings(Fixture *f);
void test_stop(Fixture *f);
void test_stopped_by_others(Fixture *f);
void test_stop_early(Fixture *f);
void test_left_behind(Fixture *f);
void test_stopped_when_over(Fixture *f);
void test_adopt(Fixture *f);
void test_adopt_absent(Fixture *f);
void test_adopt_finished(Fixture *f);
void test_same_name(Fixture *f);
void test_bus_lost(Fixture *f);
void test_start_answers_lost(Fixture *f);
void test_reexec(Fixture *f);
void test_subscribe_refused(Fixture *f);
void test_reload(Fixture *f);
void test_forged(Fixture *f);
void test_silent(Fixture *f);
void test_one_way(Fixture *f);
void test_query_systemd_job(Fixture *f);
void test_own_jobs(Fixture *f);
void test_hundred(Fixture *f);
void test_scope(Fixture *f);
void test_clearing(Fixture *f);
void test_launch(Fixture *f);
