/* See surface.h.
 *
 * Two connections, two names. What everybody may ask comes in on one, after all other work of the
 * loop: however much is asked there, it delays only itself. What only root may ask, leases above
 * all, comes in on the other, to which the bus lets nobody else send anything. Root asks everything
 * there. Leases have one more way in, without a bus (lease-door.h). A command of an older version,
 * which knows one name alone, is served on that as before. */
#include "surface.h"

#include <errno.h>
#include <systemd/sd-bus.h>

#include "answer-accept.h"
#include "answer-drain.h"
#include "answer-explain.h"
#include "answer-history.h"
#include "answer-locks.h"
#include "answer-pause.h"
#include "answer-request.h"
#include "answer-resolve.h"
#include "answer-runs.h"
#include "answer-stop.h"
#include "bus-door.h"
#include "bus-interface.h"
#include "command-lock-call.h"
#include "lease-door.h"
#include "log.h"
#include "status-board.h"
#include "timer.h"

/* So long does a start wait for a bus that says nothing. */
#define READY_PATIENCE (5 * USEC_PER_SEC)

typedef enum Side {
        SIDE_ROOT,
        SIDE_PUBLIC,
        SIDE_MAX,
} Side;

/* One of the two connections, and who waits there. */
typedef struct Entrance {
        Surface *surface; /* weak: owns us */
        BusDoor *door;
        Answers *answers;
        StatusBoard *board;
        LockLooks *looks;
        bool settled; /* whether it has its name, for now */
} Entrance;

struct Surface {
        const View *view; /* weak */
        Entrance entrances[SIDE_MAX];
        SessionListener *listener;
        LeaseDoor *leases; /* NULL: there it is asked on the bus */
        sd_event_source *patience;
        bool ready; /* said */
};

typedef int (*EntranceFunc)(Entrance *entrance, sd_bus_message *message, sd_bus_error *error);

/* Nothing is done for whoever does not want to hear the answer. */
static int entrance_ask(Entrance *entrance, EntranceFunc func, sd_bus_message *message,
                        sd_bus_error *error) {
        int r = sd_bus_message_get_expect_reply(message);

        if (r > 0)
                r = answers_admit(entrance->answers, message, error) < 0
                        ? -EBUSY
                        : func(entrance, message, error);
        return r == 0 ? 1 : r;
}

static int ask_status(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return status_board_ask(entrance->board, message, error);
}

static int ask_history(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_history(entrance->answers, message, error);
}

static int ask_next(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_next(entrance->answers, message, error);
}

static int ask_explain(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_explain(entrance->answers, message, error);
}

static int ask_run(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_run(entrance->answers, message, error);
}

static int ask_run_on(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_run_on(entrance->answers, message, error);
}

static int ask_rerun(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_rerun(entrance->answers, message, error);
}

static int ask_wait_run(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_wait_run(entrance->answers, message, error);
}

static int ask_drain(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_drain(entrance->answers, message, error);
}

static int ask_undrain(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_undrain(entrance->answers, message, error);
}

static int ask_drained(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_drained(entrance->answers, message, error);
}

static int ask_accept_ensemble(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_accept_ensemble(entrance->answers, message, error);
}

static int ask_pause(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_pause(entrance->answers, message, error);
}

static int ask_resume(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_resume(entrance->answers, message, error);
}

static int ask_stop(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_stop(entrance->answers, message, error);
}

static int ask_resolve(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_resolve(entrance->answers, message, error);
}

static int ask_find_run(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return answer_find_run(entrance->answers, message, error);
}

static int ask_locks(Entrance *entrance, sd_bus_message *message, sd_bus_error *error) {
        return lock_looks_ask(entrance->looks, message, error);
}

static int on_status(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_status, message, error);
}

static int on_history(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_history, message, error);
}

static int on_next(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_next, message, error);
}

static int on_explain(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_explain, message, error);
}

static int on_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_run, message, error);
}

static int on_run_on(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_run_on, message, error);
}

static int on_rerun(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_rerun, message, error);
}

static int on_wait_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_wait_run, message, error);
}

static int on_drain(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_drain, message, error);
}

static int on_undrain(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_undrain, message, error);
}

static int on_drained(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_drained, message, error);
}

static int on_accept_ensemble(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_accept_ensemble, message, error);
}

static int on_pause(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_pause, message, error);
}

static int on_resume(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_resume, message, error);
}

static int on_stop(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_stop, message, error);
}

static int on_resolve(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_resolve, message, error);
}

static int on_find_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_find_run, message, error);
}

static int on_locks(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return entrance_ask(userdata, ask_locks, message, error);
}

static CommandLocks *entrance_locks(void *userdata) {
        return ((const Entrance *)userdata)->surface->view->locks;
}

static int on_acquire_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_acquire(entrance_locks(userdata), message, error);
}

static int on_attach_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_attach(entrance_locks(userdata), message, error);
}

static int on_lock_lease(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_lease(entrance_locks(userdata), message, error);
}

static int on_release_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_release(entrance_locks(userdata), message, error);
}

static int on_adopt_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_adopt(entrance_locks(userdata), message, error);
}

/* Who may call what is the bus policy's business (packaging/org.jobkeeper.Manager1.conf), so every
 * method is unprivileged here. */
static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("Status", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", status), on_status,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("History", SD_BUS_ARGS("s", job, "u", limit), SD_BUS_RESULT("s", runs),
                            on_history, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Next", SD_BUS_ARGS("s", job, "u", count), SD_BUS_RESULT("s", ticks),
                            on_next, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("s", job, "x", tick),
                            SD_BUS_RESULT("s", explanation), on_explain,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Run", SD_BUS_ARGS("s", job), SD_BUS_RESULT("s", request), on_run,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("RunOn", SD_BUS_ARGS("s", job, "s", node), SD_BUS_RESULT("s", request),
                            on_run_on, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Rerun", SD_BUS_ARGS("s", job, "s", run, "x", tick, "s", node),
                            SD_BUS_RESULT("s", request), on_rerun, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("WaitRun", SD_BUS_ARGS("s", job, "s", run), SD_BUS_RESULT("s", run),
                            on_wait_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Drain", SD_BUS_ARGS("s", node, "s", why, "s", who),
                            SD_BUS_RESULT("s", drain), on_drain, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Undrain", SD_BUS_ARGS("s", node), SD_BUS_RESULT("s", drain),
                            on_undrain, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Drained", SD_BUS_ARGS("s", node), SD_BUS_RESULT("s", drain),
                            on_drained, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AcceptEnsemble", SD_BUS_ARGS("s", why, "s", who, "s", doubt),
                            SD_BUS_RESULT("s", state), on_accept_ensemble,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("s", job, "s", why, "s", who),
                            SD_BUS_RESULT("s", pause), on_pause, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("s", job), SD_BUS_RESULT("s", pause), on_resume,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Stop", SD_BUS_ARGS("s", job, "s", run, "s", who),
                            SD_BUS_RESULT("s", stop), on_stop, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Resolve",
                            SD_BUS_ARGS("s", job, "s", run, "s", state, "s", why, "s", who),
                            SD_BUS_RESULT("s", run), on_resolve, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("FindRun", SD_BUS_ARGS("s", job, "s", run), SD_BUS_RESULT("s", run),
                            on_find_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Locks", SD_BUS_ARGS("s", resource), SD_BUS_RESULT("s", locks),
                            on_locks, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AcquireLock", SD_BUS_ARGS("s", request), SD_BUS_RESULT("s", lock),
                            on_acquire_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AttachLock", SD_BUS_ARGS("s", id, "u", pid), SD_BUS_RESULT("s", scope),
                            on_attach_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("LockLease", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", lease),
                            on_lock_lease, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("ReleaseLock", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", nothing),
                            on_release_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AdoptLock", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", lease),
                            on_adopt_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL_WITH_ARGS("LockLost", SD_BUS_ARGS("s", id, "s", why, "b", at_once), 0),
    SD_BUS_SIGNAL_WITH_ARGS("LockRevoked", SD_BUS_ARGS("s", id, "s", why, "b", at_once), 0),
    SD_BUS_VTABLE_END,
};

static void surface_say_ready(Surface *surface) {
        surface->patience = sd_event_source_disable_unref(surface->patience);
        if (!surface->ready)
                notify_say(surface->view->node->notify, "READY=1");
        surface->ready = true;
}

static void surface_on_patience(void *userdata) {
        surface_say_ready(userdata);
}

static void entrance_settled(void *userdata) {
        Entrance *entrance = userdata;
        Surface *surface = entrance->surface;

        entrance->settled = true;
        for (Side side = 0; side < SIDE_MAX; side++)
                if (!surface->entrances[side].settled)
                        return;
        surface_say_ready(surface);
}

static void entrance_lost(sd_bus *bus, void *userdata) {
        const Entrance *entrance = userdata;

        answers_drop(entrance->answers);
        command_locks_bus_lost(entrance->surface->view->locks, bus);
}

static void surface_on_session(Session *session, SessionEvent event, void *userdata) {
        const Surface *surface = userdata;

        if (event == SESSION_EVENT_LOST || event == SESSION_EVENT_CLOSED)
                for (Side side = 0; side < SIDE_MAX; side++)
                        answers_session_lost(surface->entrances[side].answers);
}

static void entrance_open(Surface *surface, Side side) {
        static const char *const names[] = {[SIDE_ROOT] = BUS_NAME_ROOT, [SIDE_PUBLIC] = BUS_NAME};
        static const int64_t priorities[] = {
            [SIDE_ROOT] = SD_EVENT_PRIORITY_NORMAL, [SIDE_PUBLIC] = SD_EVENT_PRIORITY_IDLE};
        Entrance *entrance = &surface->entrances[side];
        const BusDoorOptions options = {
            .name = names[side],
            .path = BUS_PATH,
            .interface = BUS_INTERFACE,
            .vtable = vtable,
            .object = entrance,
            .priority = priorities[side],
            .settled = entrance_settled,
            .lost = entrance_lost,
            .userdata = entrance,
        };

        entrance->surface = surface;
        entrance->answers = answers_new(surface->view, side == SIDE_ROOT);
        entrance->board = status_board_new(entrance->answers);
        entrance->looks = lock_looks_new(entrance->answers);
        entrance->door = bus_door_new(surface->view->node->event, &options);
}

/* Answers leave the board and the looks before these go. */
static void entrance_close(Entrance *entrance) {
        entrance->door = bus_door_free(entrance->door);
        if (entrance->answers)
                answers_drop(entrance->answers);
        entrance->board = status_board_free(entrance->board);
        entrance->looks = lock_looks_free(entrance->looks);
        entrance->answers = answers_free(entrance->answers);
}

int surface_new(const View *view, Surface **ret_surface) {
        _cleanup_(surface_freep) Surface *surface = g_new0(Surface, 1);
        int r = 0;

        surface->view = view;
        for (Side side = 0; side < SIDE_MAX; side++)
                entrance_open(surface, side);
        r = lease_door_new(view->node, view->locks, &surface->leases);
        if (r < 0)
                log_warning(NULL,
                            "no socket for the leases of locks (%s): they are asked for on the "
                            "bus, which other users can keep busy",
                            g_strerror(-r));
        r = session_listen(view->node->session, surface_on_session, surface, &surface->listener);
        if (r >= 0 && !surface->ready)
                r = timer_in(view->node->event, &surface->patience, READY_PATIENCE,
                             surface_on_patience, surface);
        if (r < 0)
                return r;
        *ret_surface = g_steal_pointer(&surface);
        return 0;
}

Surface *surface_free(Surface *surface) {
        if (!surface)
                return NULL;
        session_unlisten(surface->listener);
        lease_door_free(surface->leases);
        for (Side side = 0; side < SIDE_MAX; side++)
                entrance_close(&surface->entrances[side]);

        sd_event_source_disable_unref(surface->patience);
        g_free(surface);
        return NULL;
}
