/* See link-report.h. */
#include "link-report.h"

static const char *const ends[] = {
    [JOB_AFTER_SUCCESS] = "success", [JOB_AFTER_FAILURE] = "failure", [JOB_AFTER_ANY] = "any"};

json_t *link_report_after(const JobLinks *links) {
        json_t *array = json_array();

        for (guint i = 0; links->after && i < links->after->len; i++) {
                const JobAfter *after = links->after->pdata[i];

                json_array_append_new(
                    array, json_pack("{s:s, s:s}", "job", after->job, "on", ends[after->on]));
        }
        return array;
}

static json_t *link_report_followers(const GPtrArray *followers) {
        json_t *array = json_array();

        for (guint i = 0; followers && i < followers->len; i++)
                json_array_append_new(array,
                                      json_string(((const JobSpec *)followers->pdata[i])->name));
        return array;
}

/* A job may serve thousands: as many are named as may follow one. */
static void link_report_serves(json_t *array, const JobLinks *links, const char *job,
                               const char *served) {
        const struct {
                const char *job, *on;
        } kinds[] = {{links->on_failure.job, "on-failure"},
                     {links->on_recovery.job, "on-recovery"}};

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (g_strcmp0(kinds[i].job, job) == 0 && json_array_size(array) < JOB_AFTER_MAX)
                        json_array_append_new(
                            array, json_pack("{s:s, s:s}", "job", served, "on", kinds[i].on));
}

/* Return: a new reference, [{"job", "on"}] of those that name it as what runs when they fail, or
 * are well again. */
static json_t *link_report_served(const JobSet *jobset, const char *job) {
        json_t *array = json_array();

        for (guint i = 0; i < jobset_size(jobset); i++) {
                const JobSpec *served = jobset_get(jobset, i);

                link_report_serves(array, &served->books.links, job, served->name);
        }
        return array;
}

json_t *link_report(const JobSet *jobset, const JobSpec *spec) {
        const JobLinks *links = &spec->books.links;
        const GPtrArray *followers = jobset_after(jobset, spec->name);
        json_t *served = link_report_served(jobset, spec->name);

        if (!links->after && !links->on_failure.job && !links->on_recovery.job && !followers &&
            json_array_size(served) == 0) {
                json_decref(served);
                return NULL;
        }
        return json_pack("{s:o, s:b, s:o, s:s?, s:s?, s:o}", "after", link_report_after(links),
                         "all", links->all, "followers", link_report_followers(followers),
                         "on_failure", links->on_failure.job, "on_recovery", links->on_recovery.job,
                         "serves", served);
}
