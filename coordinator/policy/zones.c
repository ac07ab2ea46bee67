/* See zones.h. */
#include "zones.h"

#include <inttypes.h>
#include <string.h>

/* A line is "ZONE OFFSET" for the beginning, or "ZONE INSTANT OFFSET" (schedule_transitions()). */
static int64_t instant_of(const char *line) {
        g_auto(GStrv) words = g_strsplit(line, " ", 4);

        return g_strv_length(words) == 3 ? g_ascii_strtoll(words[1], NULL, 10) : INT64_MIN;
}

/* Return: the earliest of the lines that are not among the others. */
static int64_t first_not_among(char **lines, char **others) {
        int64_t first = INT64_MAX;

        for (char **line = lines; *line; line++)
                if (**line && !g_strv_contains((const char *const *)others, *line))
                        first = MIN(first, instant_of(*line));
        return first;
}

int64_t zones_part_at(const char *ours, const char *theirs) {
        g_auto(GStrv) a = g_strsplit(ours, "\n", -1), b = g_strsplit(theirs, "\n", -1);

        return MIN(first_not_among(a, b), first_not_among(b, a));
}

static char *word_for(const Schedule *schedule, int64_t from) {
        g_autofree char *text = schedule_transitions(schedule, from);
        g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

        return g_strdup_printf("%" PRId64 "/%.32s", from, sum);
}

char *zones_to_remember(const Ledger *ledger, const Schedule *schedule) {
        return schedule && ledger->zones ? word_for(schedule, ledger->zones_from) : g_strdup("");
}

/* What is remembered begins with the instant that it was compared from. */
static bool ours_changed(const Schedule *schedule, const char *remembered) {
        g_autofree char *word = NULL;

        if (!remembered || !*remembered)
                return false;
        word = word_for(schedule, g_ascii_strtoll(remembered, NULL, 10));
        return strcmp(word, remembered) != 0;
}

ZonesVerdict zones_judge(const Ledger *ledger, const Schedule *schedule, const char *remembered,
                         int64_t now) {
        g_autofree char *ours = NULL;
        int64_t at;

        if (!schedule || !ledger->zones)
                return ZONES_AGREE;
        ours = schedule_transitions(schedule, ledger->zones_from);
        at = zones_part_at(ours, ledger->zones);
        if (at == INT64_MAX)
                return ZONES_AGREE;
        if (ours_changed(schedule, remembered))
                return ZONES_OURS;
        return now < at ? ZONES_LATER : ZONES_DIFFER;
}
