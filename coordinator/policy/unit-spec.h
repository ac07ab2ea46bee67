/* From a job and a run to the unit that executes it: the one place where config/ and units/ meet.
 * Pure. */
#pragma once

#include "fence-protocol.h"
#include "job.h"
#include "run-record.h"
#include "unit.h"

/* Where runs live, and the scopes of command locks: what the fence stops. */
#define UNIT_SLICE FENCE_SLICE
/* Where commands live that go on without their lock, and the runs of versions that had no fence. */
#define UNIT_SLICE_UNFENCED "system-jobkeeper.slice"
/* Where runs live that continue without their locks: apart from all others, so that whoever finds a
 * unit knows it from them also where its record cannot be asked for. */
#define UNIT_SLICE_CONTINUE "system-jobkeeper-continue.slice"
/* All of them: where to look for what may live. */
extern const char *const unit_slices[];
extern const char *const unit_slices_continue[];
extern const char *const unit_slices_unfenced[];

/* Every name that unit_name_for_run() can give, and no other that somebody is likely to give a
 * service of his own; what runs in another slice is left alone besides. */
#define RUN_UNIT_PATTERN "jobkeeper-*-[0-9]*-[0-9m]*.service"
#define LOCK_SCOPE_PATTERN "jobkeeper-lock-*.scope"

/* The strings a UnitSpec borrows from. */
typedef struct RunUnitSpec {
        UnitSpec spec;
        char **environment;
        char **log_fields;
        char *description;
} RunUnitSpec;

/* Return: newly allocated, RFC 3339 in UTC. */
char *tick_to_rfc3339(int64_t tick);

/* Fills *ret; `spec` and `record` must outlive it. run_unit_spec_clear() afterwards. */
void run_unit_spec_init(RunUnitSpec *ret, const JobSpec *spec, const RunRecord *record);
void run_unit_spec_clear(RunUnitSpec *spec);

/* What a unit's end means for the run: fills state, why, exit, signal, times. `interrupted`: we
 * ended it. */
void run_record_take_result(RunRecord *record, const UnitResult *result, bool interrupted);
