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

json_t *link_report(const JobSet *jobset, const JobSpec *spec) {
        const JobLinks *links = &spec->books.links;
        const GPtrArray *followers = jobset_after(jobset, spec->name);

        if (!links->after && !links->on_failure.job && !links->on_recovery.job && !followers)
                return NULL;
        return json_pack("{s:o, s:b, s:o, s:s?, s:s?}", "after", link_report_after(links), "all",
                         links->all, "followers", link_report_followers(followers), "on_failure",
                         links->on_failure.job, "on_recovery", links->on_recovery.job);
}
