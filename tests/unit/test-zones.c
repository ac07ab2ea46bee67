/* Which time zone data are in force: what is compared, and who may change it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "zones.h"

#define NOW INT64_C(1795305600) /* 2026-11-22 */
#define BEFORE                                                                                     \
        "Europe/Berlin +3600\n"                                                                    \
        "Europe/Berlin 1806195600 +7200\n"                                                         \
        "Europe/Berlin 1824944400 +3600\n"

Test(zones, they_part_at_the_first_change_that_is_not_the_same) {
        cr_expect_eq(zones_part_at(BEFORE, BEFORE), INT64_MAX);
        cr_expect_eq(zones_part_at("", ""), INT64_MAX);
        cr_expect_eq(zones_part_at(BEFORE, "Europe/Berlin +3600\n"
                                           "Europe/Berlin 1806195600 +7200\n"),
                     1824944400, "one that is missing");
        cr_expect_eq(zones_part_at("Europe/Berlin +3600\n", BEFORE), 1806195600);
        cr_expect_eq(zones_part_at(BEFORE, "Europe/Berlin +3600\n"
                                           "Europe/Berlin 1806195700 +7200\n"
                                           "Europe/Berlin 1824944400 +3600\n"),
                     1806195600, "the earlier of the two");
        cr_expect_eq(zones_part_at(BEFORE, "Europe/Berlin +3600\n"
                                           "Europe/Berlin 1806195600 +7100\n"
                                           "Europe/Berlin 1824944400 +3600\n"),
                     1806195600, "another offset");
        cr_expect_eq(zones_part_at("Europe/Berlin +3600\n", "Europe/Berlin +0\n"), INT64_MIN);
}

static Schedule *schedule_in(const char *zone) {
        g_autofree char *text = g_strconcat("*-*-* 02:30:00 ", zone, NULL);
        Schedule *schedule = NULL;

        cr_assert_eq(schedule_from_string(text, &schedule), 0);
        return schedule;
}

static ZonesVerdict judge(const Schedule *schedule, const char *in_force, const char *remembered,
                          int64_t now) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(NOW, "d");

        ledger->zones_from = NOW;
        ledger->zones = g_strdup(in_force);
        return zones_judge(ledger, schedule, remembered, now);
}

Test(zones, who_did_not_change_follows_until_it_matters) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_in("Europe/Berlin");
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(NOW, "d");
        g_autofree char *own = NULL, *later = NULL, *other = NULL, *word = NULL;
        int64_t part;

        ledger_set_zones(ledger, schedule, NOW);
        own = g_strdup(ledger->zones);
        word = zones_to_remember(ledger, schedule);
        later = g_strndup(own, (gsize)(strchr(own, '\n') + 1 - own)); /* summer time is abolished */
        other = g_strconcat("Europe/Berlin +0\n", NULL);
        part = zones_part_at(own, later);
        cr_assert_gt(part, NOW);
        cr_assert_lt(part, INT64_MAX);
        cr_expect_eq(judge(schedule, own, word, NOW), ZONES_AGREE);
        cr_expect_eq(judge(schedule, NULL, word, NOW), ZONES_AGREE, "nothing to compare");
        cr_expect_eq(judge(NULL, own, word, NOW), ZONES_AGREE, "no schedule");
        cr_expect_eq(judge(schedule, later, word, NOW), ZONES_LATER);
        cr_expect_eq(judge(schedule, later, word, part - 1), ZONES_LATER);
        cr_expect_eq(judge(schedule, later, word, part), ZONES_DIFFER);
        cr_expect_eq(judge(schedule, other, word, NOW), ZONES_DIFFER);
        cr_expect_eq(judge(schedule, other, NULL, NOW), ZONES_DIFFER, "nothing is remembered");
        cr_expect_eq(judge(schedule, other, "", NOW), ZONES_DIFFER);
}

Test(zones, who_changed_since_puts_its_own_in_force) {
        _cleanup_(schedule_freep) Schedule *berlin = schedule_in("Europe/Berlin"),
                                           *lagos = schedule_in("Africa/Lagos");
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(NOW, "d");
        g_autofree char *before = NULL;

        ledger_set_zones(ledger, lagos, NOW);
        before = zones_to_remember(ledger, lagos);
        /* The same node, with other data: as if Berlin had been what Lagos is. */
        cr_expect_eq(judge(berlin, ledger->zones, before, NOW), ZONES_OURS);
        cr_expect_eq(judge(lagos, ledger->zones, before, NOW), ZONES_AGREE);
}

Test(zones, a_schedule_in_utc_has_none) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_in("UTC");
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(NOW, "d");
        g_autofree char *word = NULL;

        ledger_set_zones(ledger, schedule, NOW);
        word = zones_to_remember(ledger, schedule);
        cr_expect_null(ledger->zones);
        cr_expect_str_empty(word);
}

Test(zones, stand_in_the_ledger) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_in("Europe/Berlin");
        _cleanup_(ledger_freep) Ledger *ledger = ledger_new(NOW, "d"), *copy = NULL, *read = NULL;
        static const char bad[] = "{\"v\":1,\"mark\":0,\"from\":0,\"digest\":\"\",\"open\":[],"
                                  "\"zones\":{\"from\":-1,\"changes\":\"\"}}";
        g_autofree char *data = NULL;

        ledger_set_zones(ledger, schedule, NOW);
        copy = ledger_copy(ledger);
        data = ledger_encode(copy);
        cr_assert_eq(ledger_decode(data, strlen(data), &read), 0);
        cr_expect_str_eq(read->zones, ledger->zones);
        cr_expect_eq(read->zones_from, NOW);
        cr_expect_eq(ledger_decode(bad, strlen(bad), &read), -EBADMSG);
}
