/* See fault.h. */
#include <string.h>

#include "fault.h"
#include "moment.h"
#include "trace.h"

/* Now and then all that lasts ends when something is aimed: who was away comes back in the middle
 * of what others do about it. */
#define RELIEF_ONCE_IN 8

typedef struct FaultSource {
        Faults *faults;
        const FaultKind *kind;
        WorldChance *chance;
        WorldTask *next;
        /* of aimed ones */
        Moment moment;     /* that it waits for */
        unsigned target;   /* the node that it has found */
        WorldTask *strike; /* about to come */
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

static const FaultKind *const families[] = {
    daemon_faults, machine_faults, network_faults, server_faults,  file_faults,
    config_faults, request_faults, command_faults, foreign_faults, fence_faults,
    rename_faults, aimed_faults,   reboot_faults};

const FaultKind aimed_faults[] = {{"aimed", 3 * USEC_PER_SEC}, {NULL}};

static void fault_source_on_time(void *userdata);

FleetNode *fault_draw_node(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        if (!fault->aimed)
                fault->target =
                    (unsigned)world_draw_between(chance, 0, fleet_size(site->fleet) - 1);
        return fleet_node(site->fleet, fault->target);
}

bool fault_node_works(const FleetNode *node) {
        return fleet_node_is_on(node) && !machine_is_frozen(fleet_node_machine(node));
}

usec_t fault_miss(FaultCase *fault) {
        fault->missed = true;
        return 0;
}

/* ---- one after another ---- */

static void fault_note(const Faults *faults, const FaultKind *kind, const FaultCase *fault) {
        if (kind->explains)
                history_note(faults->site.history,
                             fleet_node_name(fleet_node(faults->site.fleet, fault->target)),
                             kind->explains);
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

static void faults_end_all(Faults *faults) {
        while (faults->under_way->len > 0)
                fault_end(faults->under_way->pdata[0]);
}

static void fault_on_end(void *userdata) {
        FaultUnderWay *one = userdata;

        one->end = NULL;
        fault_end(one);
}

static void faults_begin(Faults *faults, const FaultKind *kind, WorldChance *chance,
                         FaultCase fault) {
        FaultUnderWay *one;
        usec_t lasts;

        lasts = kind->begin(&faults->site, chance, &fault);
        faults->count += !fault.missed;
        trace_write("fault", "%s of %u %s", kind->name, fault.target + 1,
                    fault.missed ? "misses" : "begins");
        fault_note(faults, kind, &fault);
        if (lasts == 0)
                return;
        one = g_new0(FaultUnderWay, 1);
        *one = (FaultUnderWay){.faults = faults, .kind = kind, .fault = fault};
        one->end = world_after(faults->site.world, lasts, fault_on_end, one);
        g_ptr_array_add(faults->under_way, one);
}

static void fault_source_on_time(void *userdata) {
        FaultSource *source = userdata;

        fault_source_wait(source);
        if (source->kind->begin)
                faults_begin(source->faults, source->kind, source->chance, (FaultCase){0});
        else
                source->moment =
                    (Moment)world_draw_between(source->chance, MOMENT_NONE + 1, MOMENTS - 1);
}

/* ---- at a moment ---- */

/* Return: one of those that there are, by their weights; NULL: there is none. */
static const FaultKind *faults_draw_aimed(const Faults *faults, WorldChance *chance) {
        uint64_t sum = 0, at;

        for (guint i = 0; i < faults->sources->len; i++)
                sum += ((FaultSource *)faults->sources->pdata[i])->kind->aim;
        if (sum == 0)
                return NULL;
        at = world_draw_between(chance, 0, sum - 1);
        for (guint i = 0; i < faults->sources->len; i++) {
                const FaultKind *kind = ((FaultSource *)faults->sources->pdata[i])->kind;

                if (at < kind->aim)
                        return kind;
                at -= kind->aim;
        }
        g_assert_not_reached();
}

static void fault_source_on_strike(void *userdata) {
        FaultSource *source = userdata;
        Faults *faults = source->faults;
        const FaultKind *kind = faults_draw_aimed(faults, source->chance);

        source->strike = NULL;
        if (world_draw_once_in(source->chance, RELIEF_ONCE_IN))
                faults_end_all(faults);
        if (kind)
                faults_begin(faults, kind, source->chance,
                             (FaultCase){.target = source->target, .aimed = true});
}

/* Before what was asked is on its way, while it is, when it is done, or a little later. */
static usec_t fault_draw_pause(WorldChance *chance) {
        static const usec_t longest[] = {0, USEC_PER_MSEC, 6 * USEC_PER_MSEC, 60 * USEC_PER_MSEC};

        return world_draw_between(
            chance, 0, longest[world_draw_between(chance, 0, G_N_ELEMENTS(longest) - 1)]);
}

/* Return: the number of the node; as many as there are: it is none. */
static unsigned faults_find_node(const Faults *faults, const char *node) {
        unsigned i = 0;

        while (i < fleet_size(faults->site.fleet) &&
               !g_str_equal(fleet_node_name(fleet_node(faults->site.fleet, i)), node))
                i++;
        return i;
}

static void fault_source_take_aim(FaultSource *source, const char *node) {
        const Faults *faults = source->faults;

        source->target = faults_find_node(faults, node);
        if (source->target == fleet_size(faults->site.fleet))
                return;
        trace_write("fault", "is aimed at %s, which %s", node, moment_to_string(source->moment));
        source->moment = MOMENT_NONE;
        source->strike = world_after(faults->site.world, fault_draw_pause(source->chance),
                                     fault_source_on_strike, source);
}

void faults_asked(Faults *faults, const char *node, const Request *request) {
        Moment moment = MOMENTS;

        for (guint i = 0; i < faults->sources->len; i++) {
                FaultSource *source = faults->sources->pdata[i];

                if (source->moment == MOMENT_NONE || source->strike)
                        continue;
                if (moment == MOMENTS)
                        moment = moment_of(node, request);
                if (source->moment == moment)
                        fault_source_take_aim(source, node);
        }
}

/* ---- when a run asks for it ---- */

/* So long after that a shutdown begins at most (ROLL_STAY of policy/roll.h says why). */
#define REBOOT_DELAY_MOST (5 * USEC_PER_SEC)
/* Of so many runs that may one does. */
#define REBOOTS_ONE_IN 2

/* Return: NULL where they are left out, or over. */
static FaultSource *faults_find_reboots(const Faults *faults) {
        for (guint i = 0; i < faults->sources->len; i++)
                if (((FaultSource *)faults->sources->pdata[i])->kind == reboot_faults)
                        return faults->sources->pdata[i];
        return NULL;
}

bool faults_draw_reboot(const Faults *faults) {
        const FaultSource *source = faults_find_reboots(faults);

        return source && world_draw_once_in(source->chance, REBOOTS_ONE_IN);
}

static void fault_source_on_reboot(void *userdata) {
        FaultSource *source = userdata;

        source->strike = NULL;
        faults_begin(source->faults, source->kind, source->chance,
                     (FaultCase){.target = source->target, .aimed = true});
}

void faults_reboot(Faults *faults, const char *node) {
        FaultSource *source = faults_find_reboots(faults);

        if (!source || source->strike)
                return;
        trace_write(node, "a run has the machine reboot");
        source->target = faults_find_node(faults, node);
        source->strike = world_after(faults->site.world,
                                     world_draw_once_in(source->chance, 2)
                                         ? 0
                                         : world_draw_between(source->chance, 0, REBOOT_DELAY_MOST),
                                     fault_source_on_reboot, source);
}

/* ---- all of them ---- */

static void faults_add(Faults *faults, const FaultKind *kind) {
        g_autofree char *stream = g_strconcat("fault ", kind->name, NULL);
        FaultSource *source = g_new0(FaultSource, 1);

        source->faults = faults;
        source->kind = kind;
        source->chance = world_chance_new(faults->site.world, stream);
        g_ptr_array_add(faults->sources, source);
        if (kind->every > 0)
                fault_source_wait(source);
}

static void fault_source_free(void *data) {
        FaultSource *source = data;

        world_task_free(source->next);
        world_task_free(source->strike);
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
        faults_end_all(faults);
}

Faults *faults_free(Faults *faults) {
        if (!faults)
                return NULL;
        faults_stop(faults);
        fault_forget_wishes();
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
