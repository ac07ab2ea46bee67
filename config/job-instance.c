/* See job-instance.h. */
#include "job-instance.h"

#include <string.h>

#include "job-keys.h"
#include "name.h"

/* The resources stay sorted. */
static void job_instance_add_turn(JobSpec *spec) {
        JobResource *turn = g_new0(JobResource, 1);
        guint place = 0;

        *turn = (JobResource){.name = g_strconcat(NAME_OF_JOB_LOCK_PREFIX, spec->name, NULL),
                              .mode = spec->lock,
                              .slots = spec->slots,
                              .mark = spec->mark};
        while (place < spec->resources->len &&
               strcmp(((const JobResource *)spec->resources->pdata[place])->name, turn->name) < 0)
                place++;
        g_ptr_array_insert(spec->resources, (gint)place, turn);
}

void job_spec_instantiate(JobSpec *spec, const char *node) {
        char *name = job_name_of_instance(spec->name, node);

        if (spec->lock != JOB_LOCK_NONE)
                job_instance_add_turn(spec);
        spec->place.roll.turns = spec->lock == JOB_LOCK_EXCLUSIVE ? MAX(spec->slots, 1) : 0;
        spec->lock = JOB_LOCK_NONE;
        spec->slots = 1;
        if (!spec->lock_wait_set) {
                spec->lock_wait_set = true;
                spec->lock_wait = USEC_INFINITY;
        }
        g_free(spec->name);
        spec->name = name;
        spec->place.node = g_strdup(node);
}

JobSpec *job_instance_outline(const JobSpec *spec, const char *node) {
        g_autofree char *job = job_name_base(spec->name);
        JobSpec *outline = job_spec_new();

        outline->name = job_name_of_instance(job, node);
        outline->place.mode = spec->place.mode;
        outline->place.node = g_strdup(node);
        for (guint i = 0; i < spec->place.nodes->len; i++) {
                const JobNodeMatch *match = spec->place.nodes->pdata[i];
                JobNodeMatch *copy = g_new(JobNodeMatch, 1);

                *copy = (JobNodeMatch){g_strdup(match->label), g_strdup(match->pattern)};
                g_ptr_array_add(outline->place.nodes, copy);
        }
        return outline;
}
