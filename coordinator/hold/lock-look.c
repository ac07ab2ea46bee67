/* See lock-look.h. To see all means two surveys, one of the directories below the root and one of
 * those that the configuration declares elsewhere. */
#include "lock-look.h"

#include <errno.h>
#include <string.h>

#include "lock-report.h"
#include "name.h"
#include "paths.h"

struct LockLook {
        char *asked;
        bool privileged;
        LockSurvey *below, *elsewhere;
        ReadShare *below_share, *elsewhere_share;
        unsigned pending;
        int error;
        LockLookFunc func;
        void *userdata;
        GPtrArray *entries, *unreadable; /* what was seen; borrowed from the surveys */
        usec_t seen_at;
        LockReport *report; /* NULL: it is not written yet */
};

LockLook *lock_look_free(LockLook *look) {
        if (!look)
                return NULL;
        lock_report_free(look->report);
        g_clear_pointer(&look->entries, g_ptr_array_unref);
        g_clear_pointer(&look->unreadable, g_ptr_array_unref);
        lock_survey_free(look->below);
        lock_survey_free(look->elsewhere);
        read_share_free(look->below_share);
        read_share_free(look->elsewhere_share);
        g_free(look->asked);
        g_free(look);
        return NULL;
}

/* Return: what is wrong with the name of a resource or of a job's own lock, or NULL. */
static const char *resource_fault(const char *name) {
        return name_fault(name_is_of_job_lock(name) ? name + strlen(NAME_OF_JOB_LOCK_PREFIX)
                                                    : name);
}

/* A directory of another name is nobody's lock, whoever made it. */
static bool is_resource(const char *name) {
        return !resource_fault(name);
}

char *lock_look_fault(const char *resource) {
        const char *fault = resource_fault(resource);
        g_autofree char *shown = NULL;

        if (!fault)
                return NULL;
        shown = name_shown(resource);
        return g_strdup_printf("the resource name \"%s\" %s", shown, fault);
}

static void take_all(GPtrArray *all, const GPtrArray *more) {
        for (guint i = 0; i < more->len; i++)
                g_ptr_array_add(all, more->pdata[i]);
}

static void lock_look_on_survey(LockSurvey *survey, int error, void *userdata) {
        LockLook *look = userdata;

        /* One that was asked for by name is all that there was to see. */
        if (error == 0 && look->asked && lock_survey_unreadable(survey)->len > 0)
                error = -EACCES;
        if (error < 0)
                look->error = error;
        if (--look->pending > 0)
                return;
        look->seen_at = clock_realtime();
        for (LockSurvey *const *each = (LockSurvey *[]){look->below, look->elsewhere, NULL};
             *each && look->error == 0; each++) {
                take_all(look->entries, lock_survey_entries(*each));
                take_all(look->unreadable, lock_survey_unreadable(*each));
        }
        look->func(look, look->error, look->userdata);
}

json_t *lock_look_report(const LockLook *look) {
        return lock_report(look->entries, look->unreadable, look->asked, look->seen_at,
                           look->privileged);
}

bool lock_look_write(LockLook *look, GString *text) {
        if (!look->report)
                look->report = lock_report_new(look->entries, look->unreadable, look->asked,
                                               look->seen_at, look->privileged);
        return lock_report_write(look->report, text);
}

static bool lock_look_pace(void *userdata) {
        return read_share_take(userdata);
}

static void lock_look_on_share(void *userdata) {
        lock_survey_go_on(*(LockSurvey **)userdata);
}

static int lock_look_survey(LockLook *look, Session *session, const char *parent,
                            const GArray *places, ReadShare *share, LockSurvey **ret_survey) {
        int r = lock_survey_new_paced(session, parent, is_resource,
                                      (const LockPlace *)(void *)places->data, places->len,
                                      lock_look_pace, share, lock_look_on_survey, look, ret_survey);

        if (r >= 0)
                look->pending++;
        return r;
}

/* What is declared to stand elsewhere. */
static GArray *places_elsewhere(const DaemonConfig *config) {
        GArray *places = g_array_new(FALSE, FALSE, sizeof(LockPlace));
        GHashTableIter iterator;
        gpointer value;

        if (!config->resources)
                return places;
        g_hash_table_iter_init(&iterator, config->resources);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const DaemonResource *resource = value;
                LockPlace place = {resource->name, resource->path};

                if (resource->path)
                        g_array_append_val(places, place);
        }
        return places;
}

static int look_at_one(LockLook *look, Session *session, const DaemonConfig *config,
                       const char *parent) {
        const DaemonResource *declared = daemon_config_resource(config, look->asked);
        g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(LockPlace));
        LockPlace place = {look->asked, declared ? declared->path : NULL};

        g_array_append_val(places, place);
        return lock_look_survey(look, session, parent, places, look->below_share, &look->below);
}

static int look_at_all(LockLook *look, Session *session, const DaemonConfig *config,
                       const char *parent) {
        g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(LockPlace));
        g_autoptr(GArray) places = places_elsewhere(config);
        int r = lock_look_survey(look, session, parent, none, look->below_share, &look->below);

        if (r >= 0 && places->len > 0)
                r = lock_look_survey(look, session, parent, places, look->elsewhere_share,
                                     &look->elsewhere);
        return r;
}

int lock_look_new(Session *session, const DaemonConfig *config, const char *resource,
                  bool privileged, ReadBudget *budget, LockLookFunc func, void *userdata,
                  LockLook **ret_look) {
        _cleanup_(lock_look_freep) LockLook *look = g_new0(LockLook, 1);
        g_autofree char *parent = path_locks(config->root);
        int r = 0;

        look->entries = g_ptr_array_new();
        look->unreadable = g_ptr_array_new();
        look->below_share = read_share_new(budget, lock_look_on_share, &look->below);
        look->elsewhere_share = read_share_new(budget, lock_look_on_share, &look->elsewhere);
        look->asked = g_strdup(resource);
        look->privileged = privileged;
        look->func = func;
        look->userdata = userdata;
        r = resource ? look_at_one(look, session, config, parent)
                     : look_at_all(look, session, config, parent);
        if (r >= 0)
                *ret_look = g_steal_pointer(&look);
        return r;
}
