/* See systemd-fault.h. */
#include "systemd-fault.h"

#include <glib.h>
#include <stdio.h>

#include "log.h"
#include "message-id.h"

/* What it says is told to PID 1 as well, and so changes less and less often. */
#define SYSTEMD_FAULT_FINE 20   /* seconds */
#define SYSTEMD_FAULT_COARSE 10 /* seconds */

struct SystemdFault {
        const UnitManager *units; /* weak; NULL: nothing is followed yet */
        void (*changed)(void *userdata);
        void *userdata;
        char why[64];
};

SystemdFault *systemd_fault_new(void) {
        return g_new0(SystemdFault, 1);
}

SystemdFault *systemd_fault_free(SystemdFault *fault) {
        g_free(fault);
        return NULL;
}

const char *systemd_fault_why(SystemdFault *fault) {
        usec_t seconds = fault->units ? unit_manager_silence(fault->units) / USEC_PER_SEC : 0;

        if (seconds == 0)
                return NULL;
        if (seconds > SYSTEMD_FAULT_FINE)
                seconds -= seconds % SYSTEMD_FAULT_COARSE;
        (void)snprintf(fault->why, sizeof fault->why,
                       "systemd has not answered for %" G_GUINT64_FORMAT " s", seconds);
        return fault->why;
}

static void systemd_fault_on_silence(bool silent, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_SYSTEMD_SILENT};
        SystemdFault *fault = userdata;

        if (silent)
                log_error(&about, "%s: nothing is begun here until it does",
                          systemd_fault_why(fault));
        else
                log_info(&about, "systemd answers again: runs may begin here");
        fault->changed(fault->userdata);
}

void systemd_fault_follow(SystemdFault *fault, UnitManager *units, void (*changed)(void *userdata),
                          void *userdata) {
        fault->units = units;
        fault->changed = changed;
        fault->userdata = userdata;
        unit_manager_on_silence(units, systemd_fault_on_silence, fault);
}
