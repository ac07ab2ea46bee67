/* See job-windows.h. */
#include "job-windows.h"

#include "window-keys.h"

/* Where the windows go, and in which time zone those are read that name none. */
typedef struct JobWindows {
        Schedule *schedule;
        const char *zone;
} JobWindows;

static int job_windows_add(const char *expression, usec_t length, void *userdata,
                           char **ret_message) {
        const JobWindows *windows = userdata;

        return schedule_add_window(windows->schedule, expression, windows->zone, length,
                                   ret_message);
}

void job_windows_judge(const YamlNode *window, const char *zone, Diagnostics *diagnostics) {
        _cleanup_(schedule_freep) Schedule *scratch = NULL;
        g_autofree char *message = NULL;

        if (window && schedule_new(NULL, &scratch, &message) >= 0)
                window_keys_read(window, job_windows_add, &(JobWindows){scratch, zone},
                                 diagnostics);
}

/* Return: whether it says nothing: the default, or what takes that of "defaults" away. */
static bool is_empty(const YamlNode *window) {
        return window->type == YAML_LIST && window->items->len == 0;
}

void job_windows_read(JobSpec *spec, const YamlNode *job, const YamlNode *defaults,
                      Diagnostics *diagnostics) {
        _cleanup_(diagnostics_freep) Diagnostics *faults = diagnostics_new();
        g_autofree char *who = g_strdup_printf("job \"%s\": ", spec->name);
        const YamlNode *own = yaml_node_get(job, "window"),
                       *window = own || !defaults ? own : yaml_node_get(defaults, "window");

        if (!window || is_empty(window))
                return;
        if (own && !yaml_node_get(job, "schedule") && !yaml_node_get(job, "every")) {
                diagnostics_add(diagnostics, &yaml_node_pair(job, "window")->key->mark,
                                "\"window\" needs \"schedule\" or \"every\": what is started by "
                                "hand begins at once");
                return;
        }
        if (!spec->schedule) {
                if (own)
                        job_windows_judge(own, spec->timezone, diagnostics);
                return;
        }
        window_keys_read(window, job_windows_add, &(JobWindows){spec->schedule, spec->timezone},
                         faults);
        diagnostics_add_unknown(diagnostics, faults, own ? "" : who);
        if (diagnostics_count(faults) == 0 && !schedule_meets_window(spec->schedule, spec->name))
                diagnostics_add(diagnostics, &window->mark,
                                "job \"%s\": no tick of its schedule is ever in its \"window\": it "
                                "would never run",
                                spec->name);
}
