/* See job-room.h. */
#include "job-room.h"

#include "job-files.h"

bool job_room_take(JobRoom *room, const JobFile *file, guint jobs, guint aside,
                   Diagnostics *diagnostics) {
        const Mark mark = {g_intern_string(file->path), 0, 0};
        guint more = jobs > aside ? jobs - aside : 0;

        if (more > room->left) {
                diagnostics_add(diagnostics, &mark,
                                "is refused as a whole: with the %u jobs in it there would be more "
                                "than %d jobs",
                                jobs, JOBS_MAX);
                return false;
        }
        room->left -= more;
        return true;
}
