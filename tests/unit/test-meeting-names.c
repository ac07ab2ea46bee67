/* By which names those have come that a job waits for together: of before, and of now. */
#include "meeting-names.h"

#include <criterion/criterion.h>

#include "jobset-fixture.h"

static JobFilesScene scene;

static void begin(void) {
        scene_begin(&scene);
}

static void end(void) {
        scene_end(&scene);
}

TestSuite(meeting_names, .init = begin, .fini = end);

/* "a" had no other name. */
Test(meeting_names, who_came_by_the_name_of_before_has_come) {
        static const char *const jobs[] = {"a", "new: was: old", "b: after: {all: [a, new]}", NULL};
        _cleanup_(meetings_freep) Meetings *meetings = meetings_new();
        _cleanup_(meeting_names_freep) MeetingNames *names = NULL;
        g_autofree char *before = NULL, *after = NULL;
        const char *const *parents;
        Meeting *gone = NULL;

        scene_write(&scene, "jobs.yaml", jobs);
        scene_load(&scene);
        names = meeting_names_new(scene.set, jobset_find(scene.set, "b"));
        parents = meeting_names_parents(names);
        cr_expect_not(meetings_come(meetings, (const char *const[]){"a", "old", NULL}, 10, "old",
                                    "10-1", &gone));
        cr_expect_null(gone);
        before = meetings_missing(meetings, parents, 10);
        cr_expect_str_eq(before, "a, new");
        meeting_names_apply(names, meetings);
        after = meetings_missing(meetings, parents, 10);
        cr_expect_str_eq(after, "a");
}
