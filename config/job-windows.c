/* See job-windows.h. The forms of the values have been judged by the table of keys: what is of
 * another form is passed over. */
#include "job-windows.h"

#include <errno.h>

#include "duration.h"

/* Return: whether both of its keys are there. */
static bool window_is_whole(const YamlNode *window, Diagnostics *diagnostics) {
        bool from = yaml_node_get(window, "from"), length = yaml_node_get(window, "for");

        if (!from)
                diagnostics_add(diagnostics, &window->mark,
                                "a window needs \"from\": when it begins, such as \"Sat 22:00\"");
        if (!length)
                diagnostics_add(diagnostics, &window->mark,
                                "a window needs \"for\": how long it lasts, such as 6h");
        return from && length;
}

static void add_window(Schedule *schedule, const char *zone, const YamlNode *window,
                       Diagnostics *diagnostics) {
        const YamlNode *from, *length;
        g_autofree char *fault = NULL;
        usec_t lasts;
        int r;

        if (window->type != YAML_MAPPING || !window_is_whole(window, diagnostics))
                return;
        from = yaml_node_get(window, "from");
        length = yaml_node_get(window, "for");
        if (yaml_node_kind(from) != YAML_KIND_TEXT || length->type != YAML_SCALAR ||
            duration_parse(length->text, &lasts) < 0 || lasts < USEC_PER_SEC ||
            lasts > WINDOW_LENGTH_MAX)
                return;
        r = schedule_add_window(schedule, from->text, zone, lasts, &fault);
        if (r == -ERANGE)
                diagnostics_add(diagnostics, &length->mark, "\"for\" %s", fault);
        else if (r < 0)
                diagnostics_add(diagnostics, &from->mark, "\"window\": %s", fault);
}

static void add_windows(Schedule *schedule, const char *zone, const YamlNode *node,
                        Diagnostics *diagnostics) {
        if (node->type == YAML_MAPPING)
                add_window(schedule, zone, node, diagnostics);
        for (guint i = 0; node->type == YAML_LIST && i < node->items->len; i++)
                add_window(schedule, zone, node->items->pdata[i], diagnostics);
}

void job_windows_judge(const YamlNode *window, const char *zone, Diagnostics *diagnostics) {
        _cleanup_(schedule_freep) Schedule *scratch = NULL;
        g_autofree char *message = NULL;

        if (window && schedule_new(NULL, &scratch, &message) >= 0)
                add_windows(scratch, zone, window, diagnostics);
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
        add_windows(spec->schedule, spec->timezone, window, faults);
        diagnostics_add_unknown(diagnostics, faults, own ? "" : who);
        if (diagnostics_count(faults) == 0 && !schedule_meets_window(spec->schedule, spec->name))
                diagnostics_add(diagnostics, &window->mark,
                                "job \"%s\": no tick of its schedule is ever in its \"window\": it "
                                "would never run",
                                spec->name);
}
