/* Whether anything may begin on a node, and who hears of it. */
#include <criterion/criterion.h>
#include <glib.h>

#include "event-loop.h"
#include "gate.h"
#include "lock-script.h"
#include "temporary-tree.h"

typedef struct Scene {
        sd_event *event;
        DaemonConfig config;
        Node *node;
        Gate *gate;
        unsigned runs;
        const char *held_back, *drained;
        unsigned looks, opened;
        bool cleaning;
        GString *heard; /* the names of those that were given a place */
        MemberBusy told;
        unsigned times_told, edges;
} Scene;

static const char *drained(void *userdata) {
        return ((Scene *)userdata)->drained;
}

static const char *held_back(void *userdata) {
        Scene *scene = userdata;

        scene->looks++;
        return scene->held_back;
}

static bool is_cleaning(void *userdata) {
        return ((Scene *)userdata)->cleaning;
}

static unsigned count_runs(void *userdata) {
        return ((Scene *)userdata)->runs;
}

static void on_open(void *userdata) {
        ((Scene *)userdata)->opened++;
}

static void on_given(const char *job, void *userdata) {
        g_string_append(((Scene *)userdata)->heard, job);
}

static void on_tell(MemberBusy busy, void *userdata) {
        Scene *scene = userdata;

        scene->told = busy;
        scene->times_told++;
}

static void on_window(void *userdata) {
        ((Scene *)userdata)->edges++;
}

static const GateEvents events = {drained, held_back, is_cleaning, count_runs,
                                  on_open, on_given,  on_tell,     on_window};

static void scene_begin(Scene *scene) {
        scene->heard = g_string_new(NULL);
        scene->config.takeover_delay = 10 * USEC_PER_MSEC;
        scene->event = loop_new();
        scene->node = node_new(scene->event, "/nowhere", "/nowhere");
        scene->node->config = &scene->config;
        scene->gate = gate_new(scene->node, &events, scene);
}

static void scene_init(Scene *scene, unsigned max_runs) {
        *scene = (Scene){.told = MEMBER_FREE, .config = {.max_runs = max_runs}};
        scene_begin(scene);
}

static void scene_init_window(Scene *scene, const char *from, usec_t length) {
        g_autofree char *message = NULL;

        *scene = (Scene){.told = MEMBER_FREE, .config = {.windows = windows_new()}};
        cr_assert_eq(windows_add(scene->config.windows, from, "UTC", length, &message), 0);
        scene_begin(scene);
}

static void scene_clear(Scene *scene) {
        gate_free(scene->gate);
        windows_free(scene->config.windows);
        node_free(scene->node);
        scene->event = loop_end(scene->event);
        g_string_free(scene->heard, TRUE);
}

/* One turn of the loop, in which the timer that is set fires. */
static void turn(Scene *scene) {
        cr_assert_gt(sd_event_run(scene->event, 10 * USEC_PER_SEC), 0);
}

Test(gate, whoever_is_first_in_line_hears_of_a_place) {
        Scene scene;

        scene_init(&scene, 2);
        scene.runs = 1;
        cr_assert(gate_ask_place(scene.gate, "a", 1));
        cr_expect(gate_has_place(scene.gate, "a"));
        cr_assert_not(gate_ask_place(scene.gate, "c", 3));
        cr_assert_not(gate_ask_place(scene.gate, "b", 2));
        cr_expect(gate_waits_for_place(scene.gate, "b"));
        cr_expect_eq(gate_in_line(scene.gate), 2);
        gate_give_places(scene.gate);
        cr_expect_str_empty(scene.heard->str, "nothing came free");
        gate_leave_place(scene.gate, "a");
        cr_expect_str_eq(scene.heard->str, "b");
        scene.runs = 0;
        gate_give_places(scene.gate);
        cr_expect_str_eq(scene.heard->str, "bc");
        cr_expect_eq(gate_in_line(scene.gate), 0);
        scene_clear(&scene);
}

Test(gate, whoever_leaves_the_line_gives_nothing_back) {
        Scene scene;

        scene_init(&scene, 1);
        scene.runs = 1;
        cr_assert_not(gate_ask_place(scene.gate, "a", 1));
        cr_assert_not(gate_ask_place(scene.gate, "b", 2));
        scene.runs = 0;
        gate_leave_place(scene.gate, "a");
        cr_expect_str_empty(scene.heard->str);
        gate_give_places(scene.gate);
        cr_expect_str_eq(scene.heard->str, "b");
        scene_clear(&scene);
}

Test(gate, a_node_that_ends_gives_no_places_and_says_so) {
        Scene scene;

        scene_init(&scene, 1);
        cr_assert(gate_ask_place(scene.gate, "a", 1));
        cr_assert_not(gate_ask_place(scene.gate, "b", 2));
        scene.node->process_phase = PROCESS_PHASE_STOPPING;
        gate_leave_place(scene.gate, "a");
        cr_expect_str_empty(scene.heard->str);
        cr_expect_str_eq(gate_closed(scene.gate), "the daemon is stopping");
        gate_refused(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_STOPPING);
        scene_clear(&scene);
}

/* That lasts, and whoever did it waits for it. */
Test(gate, a_drained_node_begins_nothing_and_says_so_at_once) {
        Scene scene;

        scene_init(&scene, 0);
        scene.drained = "drained";
        gate_wait(scene.gate);
        cr_expect_not(gate_is_waiting(scene.gate), "its end is told");
        gate_drained(scene.gate);
        cr_expect_eq(scene.told, MEMBER_DRAINED);
        scene.drained = NULL;
        gate_drained(scene.gate);
        cr_expect_eq(scene.told, MEMBER_FREE);
        cr_expect_eq(scene.times_told, 2);
        scene_clear(&scene);
}

/* Who is drained says that something runs here only where nothing else is amiss. */
Test(gate, one_that_is_drained_may_be_shut_for_another_reason) {
        Scene scene;

        scene_init(&scene, 0);
        cr_expect_not(gate_is_only_shut(scene.gate));
        scene.drained = "drained";
        cr_expect_str_eq(gate_closed(scene.gate), "no ZooKeeper session");
        cr_expect_not(gate_is_only_shut(scene.gate));
        scene_clear(&scene);
}

/* Its edges tell of themselves: nobody looks in between, and the others hear no word of busy. */
Test(gate, outside_of_its_window_a_node_begins_nothing_and_nobody_looks_again) {
        Script script = {0};
        Scene scene;

        script_open(&script);
        scene_init_window(&scene, "2020-01-01", USEC_PER_HOUR);
        scene.node->session = script.session;
        scene.node->session_phase = SESSION_PHASE_READY;
        cr_expect_str_eq(gate_closed(scene.gate),
                         "this node is outside of its window, which does not open any more");
        cr_expect_str_eq(gate_outside(scene.gate), gate_closed(scene.gate));
        cr_expect_eq(gate_outside_until(scene.gate), INT64_MAX);
        cr_expect(gate_is_only_shut(scene.gate));
        gate_wait(scene.gate);
        cr_expect_not(gate_is_waiting(scene.gate));
        turn(&scene); /* whether it is to be told that we are busy */
        cr_expect_eq(sd_event_run(scene.event, 50 * USEC_PER_MSEC), 0, "nothing is looked at");
        cr_expect_eq(scene.times_told, 0);
        scene.drained = "drained";
        cr_expect_str_eq(gate_closed(scene.gate), "drained");
        gate_drained(scene.gate);
        cr_expect_eq(scene.told, MEMBER_DRAINED);
        scene.held_back = "something has to end first";
        cr_expect_not(gate_is_only_shut(scene.gate));
        scene.node->session = NULL;
        scene_clear(&scene);
        script_close(&script);
}

Test(gate, what_lasts_is_told_until_it_is_over) {
        Scene scene;

        scene_init(&scene, 1);
        gate_refused(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.times_told, 0, "it did not last");
        scene.cleaning = true;
        gate_refused(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_ENDING);
        turn(&scene);
        cr_expect_eq(scene.times_told, 1, "once is enough");
        scene.cleaning = false;
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_FREE);
        cr_expect_eq(scene.times_told, 2);
        scene_clear(&scene);
}

Test(gate, a_clock_that_is_not_synchronised_is_told) {
        Scene scene;

        scene_init(&scene, 1);
        scene.node->waits_for_clock = true;
        gate_refused(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_CLOCK);
        scene.node->waits_for_clock = false;
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_FREE);
        scene_clear(&scene);
}

Test(gate, a_full_node_is_full_until_a_place_is_free) {
        Scene scene;

        scene_init(&scene, 1);
        scene.runs = 1;
        cr_assert_not(gate_ask_place(scene.gate, "a", 1));
        gate_refused(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_FULL);
        gate_leave_place(scene.gate, "a"); /* another node has taken it */
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_FULL);
        scene.runs = 0;
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_FREE);
        scene_clear(&scene);
}

Test(gate, without_a_session_nobody_looks_again) {
        Scene scene;

        scene_init(&scene, 1);
        cr_expect_str_eq(gate_closed(scene.gate), "no ZooKeeper session");
        gate_wait(scene.gate);
        cr_expect_not(gate_is_waiting(scene.gate), "a session comes with an event");
        scene.node->session_phase = SESSION_PHASE_READY;
        gate_wait(scene.gate);
        cr_expect(gate_is_waiting(scene.gate));
        gate_reset(scene.gate);
        cr_expect_not(gate_is_waiting(scene.gate));
        scene_clear(&scene);
}

Test(gate, who_waits_hears_when_it_opens) {
        Script script = {0};
        Scene scene;

        script_open(&script); /* a session with a good heartbeat */
        scene_init(&scene, 1);
        scene.node->session = script.session;
        scene.node->session_phase = SESSION_PHASE_READY;
        scene.held_back = "something has to end first";
        scene.cleaning = true;
        gate_wait(scene.gate);
        while (scene.looks < 2)
                turn(&scene);
        cr_expect_eq(scene.opened, 0);
        cr_expect(gate_is_waiting(scene.gate), "it looks again");
        cr_expect_eq(scene.told, MEMBER_ENDING, "and the others are told");
        scene.held_back = NULL;
        scene.cleaning = false;
        while (gate_is_waiting(scene.gate))
                turn(&scene);
        cr_expect_eq(scene.opened, 1);
        gate_wait(scene.gate);
        scene.node->process_phase = PROCESS_PHASE_STOPPING;
        while (gate_is_waiting(scene.gate))
                turn(&scene);
        cr_expect_eq(scene.opened, 1, "nothing begins any more");
        scene.node->session = NULL;
        scene_clear(&scene);
        script_close(&script);
}

Test(gate, nor_does_anything_where_no_run_can_be_let_start) {
        Script script = {0};
        Scene scene;

        script_open(&script);
        scene_init(&scene, 1);
        scene.node->session = script.session;
        scene.node->session_phase = SESSION_PHASE_READY;
        cr_expect_null(gate_closed(scene.gate));
        launch_fault_note_root(scene.node->launch_fault, "/nonexistent");
        cr_expect_str_eq(gate_closed(scene.gate), launch_fault_why(scene.node->launch_fault));
        gate_wait(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_UNFILED);
        scene.node->session = NULL;
        scene_clear(&scene);
        script_close(&script);
}

/* What would be claimed would end as not started. */
Test(gate, without_its_sessions_state_nothing_begins_here) {
        g_autofree char *root = tree_make();
        g_autofree char *directory = g_build_filename(root, "run", NULL),
                        *path = g_build_filename(directory, "session", NULL);
        Script script = {.state_file = path};
        Scene scene;

        script_open(&script);
        cr_expect_eq(script.warnings, 1);
        cr_expect_not_null(strstr(script.warning, "so no job is started"));
        scene_init(&scene, 1);
        scene.node->session = script.session;
        scene.node->session_phase = SESSION_PHASE_READY;
        cr_expect_str_eq(gate_closed(scene.gate),
                         "the state of the ZooKeeper session cannot be written under "
                         "/run/jobkeeper (is there no space?), without which no run is let start");
        gate_wait(scene.gate);
        turn(&scene);
        cr_expect_eq(scene.told, MEMBER_UNFILED);
        cr_assert_eq(g_mkdir(directory, 0700), 0);
        script_reconnect(&script); /* with the heartbeat of which it is written */
        while (gate_is_waiting(scene.gate))
                turn(&scene);
        cr_expect_eq(scene.opened, 1, "by itself");
        cr_expect_null(gate_closed(scene.gate));
        cr_expect_eq(scene.told, MEMBER_FREE);
        scene.node->session = NULL;
        scene_clear(&scene);
        script_close(&script);
        tree_remove(root);
}
