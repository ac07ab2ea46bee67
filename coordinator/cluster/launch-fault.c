/* See launch-fault.h. */
#include "launch-fault.h"

#include <glib.h>
#include <unistd.h>

#include "launch-dropin.h"
#include "log.h"
#include "message-id.h"
#include "timer.h"

struct LaunchFault {
        sd_event *event;
        usec_t period;
        char *root;    /* it cannot be written below there; or, */
        char *program; /* that cannot be executed; neither: all is well, as far as is known */
        sd_event_source *timer;
};

LaunchFault *launch_fault_new(sd_event *event, usec_t period) {
        LaunchFault *fault = g_new0(LaunchFault, 1);

        fault->event = sd_event_ref(event);
        fault->period = period;
        return fault;
}

LaunchFault *launch_fault_free(LaunchFault *fault) {
        if (!fault)
                return NULL;
        sd_event_source_disable_unref(fault->timer);
        sd_event_unref(fault->event);
        g_free(fault->root);
        g_free(fault->program);
        g_free(fault);
        return NULL;
}

const char *launch_fault_why(const LaunchFault *fault) {
        if (fault->root)
                return "what systemd needs to begin a run cannot be written under /run (is there "
                       "no space?)";
        return fault->program ? "systemd cannot execute jobkeeper-launch, which lets runs start"
                              : NULL;
}

static void launch_fault_set(LaunchFault *fault, const char *root, const char *program) {
        g_free(fault->root);
        g_free(fault->program);
        fault->root = g_strdup(root);
        fault->program = g_strdup(program);
}

static void launch_fault_over(LaunchFault *fault) {
        const LogAbout about = {.message_id = MESSAGE_NOTHING_LAUNCHED};

        launch_fault_set(fault, NULL, NULL);
        log_info(&about, "runs may begin here again, as far as is known");
}

static bool launch_fault_lasts(const LaunchFault *fault) {
        return fault->root ? launch_dropin_try(fault->root) < 0 : access(fault->program, X_OK) < 0;
}

static void launch_fault_try(void *userdata) {
        LaunchFault *fault = userdata;

        if (!launch_fault_lasts(fault) ||
            timer_in(fault->event, &fault->timer, fault->period, launch_fault_try, fault) < 0)
                launch_fault_over(fault);
}

static void launch_fault_note(LaunchFault *fault, const char *root, const char *program,
                              usec_t pause) {
        const LogAbout about = {.message_id = MESSAGE_NOTHING_LAUNCHED};
        const char *before = launch_fault_why(fault), *why;

        launch_fault_set(fault, root, program);
        why = launch_fault_why(fault);
        if (why != before)
                log_error(&about, "%s: nothing is begun here until that is over", why);
        if (timer_in(fault->event, &fault->timer, pause, launch_fault_try, fault) < 0)
                launch_fault_over(fault); /* rather than for ever */
}

void launch_fault_note_root(LaunchFault *fault, const char *root) {
        launch_fault_note(fault, root, NULL, fault->period);
}

void launch_fault_note_program(LaunchFault *fault, const char *program) {
        launch_fault_note(fault, NULL, program, 3 * fault->period);
}
