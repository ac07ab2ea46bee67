/* See fence-end.h. */
#include "fence-end.h"

#include <glib.h>
#include <signal.h>
#include <string.h>

#include "fence-protocol.h"

/* The result waits for it, and with that the locks. */
#define ASK_TIMEOUT (10 * USEC_PER_SEC)

void fence_end_init(FenceEnd *end, UnitManager *manager, void (*answered)(void *userdata),
                    void *userdata) {
        *end = (FenceEnd){.manager = manager, .answered = answered, .userdata = userdata};
}

void fence_end_clear(FenceEnd *end) {
        end->ask = bus_call_free(end->ask);
}

void fence_end_expect(FenceEnd *end) {
        end->bound = true;
        end->began = clock_monotonic();
        end->limit = USEC_INFINITY;
}

void fence_end_see(FenceEnd *end, const UnitProperties *properties) {
        end->bound = properties->fenced;
        if (properties->began > 0)
                end->began = properties->began;
        end->limit = properties->start_limit && !unit_properties_outlive_start(properties)
                         ? properties->start_limit
                         : USEC_INFINITY;
        if (properties->exec_main_code)
                end->gone = properties->exec_main_gone;
}

static int fence_end_build(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        g_autofree char *path = NULL;
        int r = sd_bus_path_encode(SYSTEMD_UNIT_PATH_PREFIX, FENCE_UNIT, &path);

        (void)userdata;
        return r < 0 ? r
                     : systemd_get(bus, ret_message, path, SYSTEMD_SERVICE ".Unit",
                                   "ActiveExitTimestampMonotonic");
}

static void fence_end_on_answer(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        FenceEnd *end = userdata;

        if (reply)
                (void)sd_bus_message_read(reply, "v", "t", &end->left);
        end->ask = bus_call_free(end->ask);
        end->answered(end->userdata);
}

void fence_end_ask(FenceEnd *end) {
        bus_call_free(end->ask);
        end->ask = bus_call_new(unit_manager_queue(end->manager), fence_end_build,
                                fence_end_on_answer, end, ASK_TIMEOUT, BUS_CALL_URGENT);
}

bool fence_end_asks(const FenceEnd *end) {
        return end->ask && !bus_call_done(end->ask);
}

/* What PID 1 saw end by itself is told by the start job, or by the unit itself: it is active once
 * its main process has ended well. A job that was taken away may have been so by the fence, also
 * where our own wish was on its way by the time that we heard of it. */
bool fence_end_may_be(const FenceEnd *end, const UnitResult *result, const char *word) {
        if (!end->bound || result->stop != UNIT_STOP_NONE)
                return end->bound && result->stop == UNIT_STOP_OTHER;
        switch (result->outcome) {
        case UNIT_OUTCOME_UNKNOWN:
        case UNIT_OUTCOME_EXIT_CODE:
        case UNIT_OUTCOME_SIGNAL:
        case UNIT_OUTCOME_TIMEOUT: /* the limit of its stop, perhaps */
        case UNIT_OUTCOME_OTHER:
                return !word || strcmp(word, "canceled") == 0;
        case UNIT_OUTCOME_PENDING:
        case UNIT_OUTCOME_SUCCESS:
        case UNIT_OUTCOME_START_FAILED:
        case UNIT_OUTCOME_NOT_BEGUN:
        case UNIT_OUTCOME_NO_ROOM:
                break;
        }
        return false;
}

static bool fence_end_looks_like_a_stop(const UnitResult *result) {
        if (result->outcome == UNIT_OUTCOME_SIGNAL)
                return result->exit_status == SIGTERM || result->exit_status == SIGKILL;
        return result->outcome == UNIT_OUTCOME_EXIT_CODE && result->exit_status == 128 + SIGTERM;
}

bool fence_end_was(const FenceEnd *end, const UnitResult *result) {
        if (end->left == 0 || end->began == 0 || end->left < end->began)
                return false;
        if (end->gone > 0 && end->gone < end->left)
                return result->stop == UNIT_STOP_NONE && fence_end_looks_like_a_stop(result);
        return end->left - end->began < end->limit;
}

static bool fence_end_left_after(const FenceEnd *end, const UnitResult *result) {
        return end->bound && result->stop == UNIT_STOP_OTHER && end->gone > 0 &&
               end->gone < end->left;
}

bool fence_end_was_late(const FenceEnd *end, const UnitResult *result) {
        return result->outcome == UNIT_OUTCOME_EXIT_CODE && fence_end_left_after(end, result);
}

bool fence_end_was_overdue(const FenceEnd *end, const UnitResult *result) {
        return end->began > 0 && end->limit <= usec_sub(end->gone, end->began) &&
               fence_end_left_after(end, result);
}
