/* UnitManager: the connection to PID 1, which comes back by itself: systemd's private socket, or
 * the system bus while that cannot be had. What waits for an answer of PID 1 puts its calls into
 * the manager's queue, and what wants to hear of its jobs, and of the connection, listens.
 */
#pragma once

#include "bus-call.h"
#include "start-window.h"

typedef struct UnitManager UnitManager;

/* Connects; what is not there yet is retried. Return: 0 or negative errno; -EOPNOTSUPP on a machine
 * without the unified cgroup hierarchy, where nobody could tell when a run is over. */
int unit_manager_new(sd_event *event, UnitManager **ret_manager);
/* The same, where PID 1 and the bus listen elsewhere. */
int unit_manager_new_at(sd_event *event, const char *private_address, const char *bus_address,
                        UnitManager **ret_manager);
/* Who listens must have gone before; errands that are not done never will be. */
UnitManager *unit_manager_free(UnitManager *manager);
DEFINE_CLEANUP(UnitManager, unit_manager_free);
/* Return: whether PID 1 answers at the moment. */
bool unit_manager_connected(const UnitManager *manager);
/* Has `func` hear, from the loop, when PID 1 has not answered for some seconds (silence.h), and
 * when it does again. Only once; `func` may not free the manager. */
typedef void (*UnitManagerFunc)(bool silent, void *userdata);
void unit_manager_on_silence(UnitManager *manager, UnitManagerFunc func, void *userdata);
/* Return: for how long it has not; 0: it answers, as far as is known. */
usec_t unit_manager_silence(const UnitManager *manager);
/* Return: whether PID 1 has still to answer what unit_discard() or unit_manager_query_systemd_job()
 * asked of it. A program that is about to end runs its loop until this is false (or for a second at
 * most): PID 1 does nothing for a caller who has left when it looks. */
bool unit_manager_busy(const UnitManager *manager);

/* ---- for the other files of this room ---- */

sd_event *unit_manager_event(const UnitManager *manager);
BusQueue *unit_manager_queue(const UnitManager *manager);
StartWindow *unit_manager_starts(const UnitManager *manager);
/* bus_call_new() in its queue, with the usual patience, in place of `*call`. */
void unit_manager_call(const UnitManager *manager, BusCall **call, BusCallBuild build,
                       BusCallFunc func, void *userdata, BusCallFlags flags);
const char *unit_manager_cgroup_root(const UnitManager *manager);
/* Where drop-ins of units are. Others read there what a launch step noted (launch-dropin.h). */
const char *unit_manager_dropin_root(const UnitManager *manager);

/* The number of the connection to the bus, 0 while there is none: PID 1 counts references to units
 * there alone, and drops what was taken in connection N when N ends. */
unsigned unit_manager_ref_generation(const UnitManager *manager);

/* Sends RefUnit or UnrefUnit over the bus, without waiting for an answer; nothing happens while
 * there is no connection to it. */
void unit_manager_refer(UnitManager *manager, const char *member, const char *unit);

/* Who wants to hear of the jobs of one unit and of the connection's coming and going. The functions
 * may be NULL, and neither listen nor stop listening from inside. */
typedef struct UnitListener {
        const char *unit;
        /* PID 1 has a job for it now. */
        void (*systemd_job_added)(void *userdata);
        void (*systemd_job_removed)(const char *systemd_job, const char *word, void *userdata);
        void (*connected)(void *userdata);
        void (*disconnected)(void *userdata);
        /* References to units can be taken, and what was taken before is gone. Not told with
         * `connected`, where this may be so as well. */
        void (*references_gone)(void *userdata);
        void *userdata;
} UnitListener;
void unit_manager_listen(UnitManager *manager, UnitListener *listener);
void unit_manager_unlisten(UnitManager *manager, UnitListener *listener);

/* Errands are what outlives the call, or the Unit, that began it: job queries and the forgetting of
 * units. The manager destroys those that it still has when it goes; an errand takes itself out when
 * it ends. It is the first member of what it stands for. */
typedef struct Errand {
        void (*destroy)(struct Errand *errand);
} Errand;
void unit_manager_own(UnitManager *manager, Errand *errand);
void unit_manager_disown(UnitManager *manager, Errand *errand);
