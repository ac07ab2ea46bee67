/* See job-parts-fixture.h. */
#include "job-parts-fixture.h"

bool job_parts_are_ready(void) {
        return node_is_ready(coordinator->node) && server_node("/jobkeeper/jobs/a/runs") &&
               clock_watch_is_good(coordinator->clock);
}

JobParts job_parts_begin(void) {
        write_job("    exec: [/bin/true]\n    nodes: [another]\n");
        open_daemon();
        await(job_parts_are_ready, "ready");
        await_quiet();
        return (JobParts){.node = coordinator->node,
                          .tree = coordinator->tree,
                          .ledgers = coordinator->store.ledgers,
                          .digests = coordinator->digests,
                          .registration = coordinator->registration,
                          .members = coordinator->members,
                          .clock = coordinator->clock,
                          .pruner = coordinator->store.pruner,
                          .runs = coordinator->runs,
                          .recovery = coordinator->left.recovery};
}
