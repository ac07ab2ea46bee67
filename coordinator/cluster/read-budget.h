/* How often may be read for whoever asks: so many reads at once, and so many a second after that.
 * Several kinds of questions share a budget; where they want more than there is they have it by
 * turns, so that none of them waits for all that another one wants. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct ReadBudget ReadBudget;
/* One who takes from it. */
typedef struct ReadShare ReadShare;
typedef void (*ReadShareFunc)(void *userdata);

ReadBudget *read_budget_new(sd_event *event, unsigned per_second, unsigned at_once);
ReadBudget *read_budget_free(ReadBudget *budget);
DEFINE_CLEANUP(ReadBudget, read_budget_free);
/* What was taken before counts. */
void read_budget_set(ReadBudget *budget, unsigned per_second, unsigned at_once);
/* Return: whether somebody waits for it. NULL, which is without bounds, is never short. */
bool read_budget_is_short(const ReadBudget *budget);

/* `budget` may be NULL; it lives longer than its shares. `func` may take, and is called from the
 * loop once there is something again after nothing was left. */
ReadShare *read_share_new(ReadBudget *budget, ReadShareFunc func, void *userdata);
ReadShare *read_share_free(ReadShare *share);
/* Return: whether one read may be sent now; if not, `func` will be called. */
bool read_share_take(ReadShare *share);
