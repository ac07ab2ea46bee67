/* See fault.h. */
#include <string.h>

#include "fault.h"
#include "trace.h"

typedef struct FaultSource {
        Faults *faults;
        const FaultKind *kind;
        WorldChance *chance;
        WorldTask *next;
} FaultSource;

typedef struct FaultUnderWay {
        Faults *faults;
        const FaultKind *kind;
        FaultCase fault;
        WorldTask *end;
} FaultUnderWay;

struct Faults {
        FaultSite site;
        unsigned pace, count;
        GPtrArray *sources;   /* of FaultSource */
        GPtrArray *under_way; /* of FaultUnderWay */
};

static const FaultKind *const families[] = {daemon_faults,  machine_faults, network_faults,
                                            server_faults,  file_faults,    request_faults,
                                            command_faults, foreign_faults};

static void fault_source_on_time(void *userdata);

FleetNode *fault_draw_node(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        fault->target = (unsigned)world_draw_between(chance, 0, fleet_size(site->fleet) - 1);
        return fleet_node(site->fleet, fault->target);
}

/* ---- one after another ---- */

static bool fault_is_in(const FaultKind *family, const FaultKind *kind) {
        while (family->name && family != kind)
                family++;
        return family->name;
}

/* What befalls a node explains what it leaves undone. */
static void fault_note(const Faults *faults, const FaultKind *kind, const FaultCase *fault) {
        if (!fault_is_in(server_faults, kind) && !fault_is_in(foreign_faults, kind))
                history_disturb(faults->site.history,
                                fleet_node_name(fleet_node(faults->site.fleet, fault->target)));
}

static void fault_source_wait(FaultSource *source) {
        usec_t every = source->kind->every * 100 / source->faults->pace;

        source->next = world_after(source->faults->site.world,
                                   world_draw_between(source->chance, 0, 2 * every),
                                   fault_source_on_time, source);
}

static void fault_end(FaultUnderWay *one) {
        Faults *faults = one->faults;

        world_task_free(one->end);
        trace_write("fault", "%s of %u ends", one->kind->name, one->fault.target + 1);
        one->kind->end(&faults->site, &one->fault);
        fault_note(faults, one->kind, &one->fault);
        (void)g_ptr_array_remove(faults->under_way, one);
}

static void fault_on_end(void *userdata) {
        FaultUnderWay *one = userdata;

        one->end = NULL;
        fault_end(one);
}

static void fault_source_on_time(void *userdata) {
        FaultSource *source = userdata;
        Faults *faults = source->faults;
        FaultCase fault = {0};
        FaultUnderWay *one;
        usec_t lasts;

        fault_source_wait(source);
        faults->count++;
        lasts = source->kind->begin(&faults->site, source->chance, &fault);
        trace_write("fault", "%s of %u begins", source->kind->name, fault.target + 1);
        fault_note(faults, source->kind, &fault);
        if (lasts == 0)
                return;
        one = g_new0(FaultUnderWay, 1);
        *one = (FaultUnderWay){.faults = faults, .kind = source->kind, .fault = fault};
        one->end = world_after(faults->site.world, lasts, fault_on_end, one);
        g_ptr_array_add(faults->under_way, one);
}

/* ---- all of them ---- */

static void faults_add(Faults *faults, const FaultKind *kind) {
        g_autofree char *stream = g_strconcat("fault ", kind->name, NULL);
        FaultSource *source = g_new0(FaultSource, 1);

        source->faults = faults;
        source->kind = kind;
        source->chance = world_chance_new(faults->site.world, stream);
        g_ptr_array_add(faults->sources, source);
        fault_source_wait(source);
}

static void fault_source_free(void *data) {
        FaultSource *source = data;

        world_task_free(source->next);
        world_chance_free(source->chance);
        g_free(source);
}

static bool faults_are_known(char **wanted) {
        for (; wanted && *wanted; wanted++) {
                bool known = false;

                for (unsigned i = 0; i < G_N_ELEMENTS(families); i++)
                        for (const FaultKind *kind = families[i]; kind->name; kind++)
                                known |= strcmp(kind->name, *wanted) == 0;
                if (!known)
                        return false;
        }
        return true;
}

Faults *faults_new(const FaultSite *site, const char *names, unsigned pace) {
        g_auto(GStrv) wanted = names ? g_strsplit(names, ",", -1) : NULL;
        Faults *faults;

        if (names && *names && !faults_are_known(wanted))
                return NULL;
        faults = g_new0(Faults, 1);
        faults->site = *site;
        faults->pace = pace;
        faults->sources = g_ptr_array_new_with_free_func(fault_source_free);
        faults->under_way = g_ptr_array_new_with_free_func(g_free);
        for (unsigned i = 0; i < G_N_ELEMENTS(families); i++)
                for (const FaultKind *kind = families[i]; kind->name; kind++)
                        if (!wanted || g_strv_contains((const char *const *)wanted, kind->name))
                                faults_add(faults, kind);
        return faults;
}

void faults_stop(Faults *faults) {
        g_ptr_array_set_size(faults->sources, 0);
        while (faults->under_way->len > 0)
                fault_end(faults->under_way->pdata[0]);
}

Faults *faults_free(Faults *faults) {
        if (!faults)
                return NULL;
        faults_stop(faults);
        g_ptr_array_unref(faults->sources);
        g_ptr_array_unref(faults->under_way);
        g_free(faults);
        return NULL;
}

unsigned faults_count(const Faults *faults) {
        return faults->count;
}

char *faults_names(void) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < G_N_ELEMENTS(families); i++)
                for (const FaultKind *kind = families[i]; kind->name; kind++)
                        g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "", kind->name);
        return g_string_free(text, FALSE);
}
