/* See meeting-names.h. */
#include "meeting-names.h"

#include "job-links.h"

static char **meeting_names_were(const JobSet *jobset, char *const *jobs) {
        GPtrArray *were = g_ptr_array_new();

        for (; *jobs; jobs++) {
                const JobSpec *job = jobset_find(jobset, *jobs);
                const char *was = job ? job->books.was.job : NULL;

                g_ptr_array_add(were, g_strdup(was ? was : ""));
        }
        g_ptr_array_add(were, NULL);
        return (char **)g_ptr_array_free(were, FALSE);
}

MeetingNames *meeting_names_new(const JobSet *jobset, const JobSpec *job) {
        MeetingNames *names = g_new0(MeetingNames, 1);

        names->job = g_strdup(job->name);
        names->parents = job_links_parents(&job->books.links);
        names->were = meeting_names_were(jobset, names->parents);
        return names;
}

MeetingNames *meeting_names_free(MeetingNames *names) {
        if (!names)
                return NULL;
        g_free(names->job);
        g_strfreev(names->parents);
        g_strfreev(names->were);
        g_free(names);
        return NULL;
}

const char *const *meeting_names_parents(const MeetingNames *names) {
        return (const char *const *)names->parents;
}

void meeting_names_apply(const MeetingNames *names, Meetings *meetings) {
        for (guint i = 0; names->parents[i]; i++)
                if (*names->were[i])
                        meetings_rename(meetings, names->were[i], names->parents[i]);
}
