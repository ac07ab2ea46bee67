/* Whether another attempt of a tick follows when a run of it has ended, and when. Pure: all that
 * decides stands in the run's record, where the claim wrote it. So whoever settles the run decides
 * alike, with or without a definition of the job, and an edit changes nothing of what is under way.
 *
 * A failure is followed by another attempt while there are `attempts` left, after a pause that
 * doubles each time. A run that was lost (nobody knows how it ended, or we ended it ourselves) may
 * or may not have done its work: only with `rerun` another follows, and one at least, whatever
 * `attempts` says; the first loss has it follow at once, later ones after the pause, since what
 * fells one machine after another is to have time to be noticed. A run that continues and was given
 * up may be alive: it is not lost. What somebody stopped, or asked for by hand, is not repeated.
 * A run of a service is followed by another whatever its end was (service-restart.h).
 *
 * The pause is counted from when the run is settled, by the server's clock: that of the machine
 * where it ended may show any time, and who reads it here would wait as long; and what ended in an
 * outage is not too late when that is over. */
#pragma once

#include "run-record.h"

/* Return: whether another attempt may follow this one. */
bool next_attempt_may_follow(const RunRecord *record);
/* The record is final, and written `now` (the server's time). Return: the time before which the
 * next attempt does not begin; 0: none follows. */
usec_t next_attempt_not_before(const RunRecord *record, usec_t now);
/* The same record, of a service. Return: how many runs in a row lived for a short time, this one
 * counted. */
unsigned next_attempt_short_lived(const RunRecord *record);
