/* A survey: asks a bounded number of questions at a time until all are answered.
 *
 * Each question is an Ask: the children of the parent, the children of a directory, how many slots
 * that has (only where somebody queues for one), and the data of each contender. An answer may lead
 * to more questions. What vanished between two answers is left out. A question whose answer a
 * broken connection swallowed goes back to the front of those to be asked, and waits for the
 * session. The survey owns its questions: freed, it takes them back, so no answer outlives it.
 */
#include "lock-survey.h"

#include <errno.h>
#include <string.h>

#include "lock-data.h"

#define IN_FLIGHT_MAX 64
/* So many answers may get lost before we give up. */
#define LOST_MAX 1000

/* A resource that is looked at. */
typedef struct Spot {
        char *resource;
        char *directory;
        unsigned slots;
        GPtrArray *entries; /* of LockEntry, owned */
} Spot;

typedef struct Ask {
        LockSurvey *survey; /* weak: owns us */
        int (*send)(struct Ask *ask, Zk *zk);
        Spot *spot;       /* weak; NULL when it is about the parent */
        LockEntry *entry; /* ours until the spot takes it; or NULL */
        ZkCall *call;
        GList *link; /* in survey->sent */
} Ask;

struct LockSurvey {
        Session *session; /* weak; NULL once it is over */
        SessionListener *listener;
        LockSurveyFunc func;
        void *userdata;
        LockPaceFunc pace; /* NULL: as fast as may be */
        void *pace_userdata;
        char *parent;
        LockNameFunc is_name; /* NULL: whatever stands under the parent is a resource */
        GQueue waiting;       /* of Ask */
        GQueue sent;          /* of Ask */
        unsigned lost;
        GPtrArray *spots;      /* of Spot, owned */
        GPtrArray *entries;    /* of LockEntry, borrowed from the spots */
        GPtrArray *unreadable; /* of names, borrowed from the spots */
};

static void spot_destroy(gpointer data) {
        Spot *spot = data;

        g_free(spot->resource);
        g_free(spot->directory);
        g_ptr_array_unref(spot->entries);
        g_free(spot);
}

static void entry_destroy(gpointer entry) {
        lock_entry_free(entry);
}

static Ask *ask_free(Ask *ask) {
        ask->call = zk_call_free(ask->call);
        ask->entry = lock_entry_free(ask->entry);
        g_free(ask);
        return NULL;
}

static void ask_add(LockSurvey *survey, int (*send)(Ask *, Zk *), Spot *spot, LockEntry *entry) {
        Ask *ask = g_new0(Ask, 1);

        ask->survey = survey;
        ask->send = send;
        ask->spot = spot;
        ask->entry = entry;
        g_queue_push_tail(&survey->waiting, ask);
}

static void survey_stop(LockSurvey *survey) {
        Ask *ask;

        while ((ask = g_queue_pop_head(&survey->waiting)))
                (void)ask_free(ask);
        while ((ask = g_queue_pop_head(&survey->sent)))
                (void)ask_free(ask);
        survey->listener = session_unlisten(survey->listener);
        survey->session = NULL;
}

static int spot_compare(const void *a, const void *b) {
        const Spot *const *x = a, *const *y = b;
        int r = strcmp((*x)->resource, (*y)->resource);

        return r != 0 ? r : strcmp((*x)->directory, (*y)->directory);
}

static void survey_collect(LockSurvey *survey) {
        g_ptr_array_sort(survey->spots, spot_compare);
        for (guint i = 0; i < survey->spots->len; i++) {
                Spot *spot = survey->spots->pdata[i];

                lock_entries_rank(spot->entries, spot->slots);
                for (guint j = 0; j < spot->entries->len; j++)
                        g_ptr_array_add(survey->entries, spot->entries->pdata[j]);
        }
}

/* The last thing that is done with a survey: its owner may free it. */
static void survey_finish(LockSurvey *survey, int error) {
        survey_stop(survey);
        if (error == 0)
                survey_collect(survey);
        survey->func(survey, error, survey->userdata);
}

/* Sends what may be sent. Return: 0, negative errno. */
static int survey_pump(LockSurvey *survey) {
        while (survey->sent.length < IN_FLIGHT_MAX && survey->waiting.length > 0 &&
               session_state(survey->session) != SESSION_SUSPENDED &&
               (!survey->pace || survey->pace(survey->pace_userdata))) {
                Ask *ask = g_queue_peek_head(&survey->waiting);
                int r = ask->send(ask, session_zk(survey->session));

                if (r < 0)
                        return r;
                (void)g_queue_pop_head(&survey->waiting);
                g_queue_push_tail(&survey->sent, ask);
                ask->link = survey->sent.tail;
        }
        return 0;
}

void lock_survey_go_on(LockSurvey *survey) {
        int r;

        if (!survey->session)
                return; /* it is over */
        r = survey_pump(survey);
        if (r < 0)
                survey_finish(survey, r == -ENOTCONN ? r : -EIO);
        else if (survey->sent.length + survey->waiting.length == 0)
                survey_finish(survey, 0);
}

/* Takes the answered question off the books. Return: whether its answer says something; if not, it
 * was dealt with, and the survey may be gone. */
static bool ask_is_answered(Ask *ask, const ZkReply *reply) {
        LockSurvey *survey = ask->survey;

        ask->call = NULL;
        g_queue_delete_link(&survey->sent, ask->link);
        if (reply->code == ZK_OK || reply->code == ZK_NO_NODE || reply->code == ZK_NO_AUTH)
                return true;
        if (reply->code == ZK_UNKNOWN && ++survey->lost <= LOST_MAX) {
                g_queue_push_head(&survey->waiting, ask);
                lock_survey_go_on(survey);
                return false;
        }
        (void)ask_free(ask);
        survey_finish(survey, reply->code == ZK_CLOSED ? -ENOTCONN : -EIO);
        return false;
}

static void ask_end(Ask *ask) {
        LockSurvey *survey = ask->survey;

        (void)ask_free(ask);
        lock_survey_go_on(survey);
}

static void ask_refused(Ask *ask) {
        LockSurvey *survey = ask->survey;

        (void)ask_free(ask);
        survey_finish(survey, -EACCES);
}

/* One contender. Who may not read it still may know that it is there. */

static void ask_take_entry(Ask *ask, const ZkReply *reply) {
        LockEntry *entry = g_steal_pointer(&ask->entry);

        entry->session = reply->stat.ephemeral_owner;
        entry->token = reply->stat.czxid;
        entry->since = (usec_t)reply->stat.ctime_ms * USEC_PER_MSEC;
        if (reply->data_size > 0) {
                g_free(entry->payload);
                entry->payload = g_utf8_make_valid(
                    reply->data, (gssize)MIN(reply->data_size, LOCK_ENTRY_PAYLOAD_MAX));
        }
        g_ptr_array_add(ask->spot->entries, entry);
}

static int ask_send_entry(Ask *ask, Zk *zk);
static int ask_send_bare_entry(Ask *ask, Zk *zk);

static void ask_on_entry(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;

        if (!ask_is_answered(ask, reply))
                return;
        if (reply->code == ZK_OK)
                ask_take_entry(ask, reply);
        else if (reply->code == ZK_NO_AUTH && ask->send == ask_send_entry)
                ask_add(ask->survey, ask_send_bare_entry, ask->spot, g_steal_pointer(&ask->entry));
        ask_end(ask);
}

static int ask_send_bare_entry(Ask *ask, Zk *zk) {
        return zk_exists(zk, ask->entry->path, ask_on_entry, ask, &ask->call, NULL, NULL, NULL);
}

static int ask_send_entry(Ask *ask, Zk *zk) {
        return zk_get(zk, ask->entry->path, ask_on_entry, ask, &ask->call, NULL, NULL, NULL);
}

/* The slots of a directory. */

static void ask_on_slots(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;

        if (!ask_is_answered(ask, reply))
                return;
        if (reply->code == ZK_OK)
                ask->spot->slots = data_get_slots(reply->data, reply->data_size);
        ask_end(ask);
}

static int ask_send_slots(Ask *ask, Zk *zk) {
        return zk_get(zk, ask->spot->directory, ask_on_slots, ask, &ask->call, NULL, NULL, NULL);
}

/* The queue in a directory. */

static void ask_on_queue(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;
        bool slots = false;

        if (!ask_is_answered(ask, reply))
                return;
        if (reply->code == ZK_NO_AUTH)
                g_ptr_array_add(ask->survey->unreadable, ask->spot->resource);
        for (size_t i = 0; i < reply->n_children; i++) {
                LockEntry *entry =
                    lock_entry_new(ask->spot->resource, ask->spot->directory, reply->children[i]);

                slots = slots || entry->slot;
                ask_add(ask->survey, ask_send_entry, ask->spot, entry);
        }
        if (slots)
                ask_add(ask->survey, ask_send_slots, ask->spot, NULL);
        ask_end(ask);
}

static int ask_send_queue(Ask *ask, Zk *zk) {
        return zk_get_children(zk, ask->spot->directory, ask_on_queue, ask, &ask->call, NULL, NULL,
                               NULL);
}

static void survey_add_spot(LockSurvey *survey, const char *resource, const char *path) {
        Spot *spot = g_new0(Spot, 1);

        spot->resource = g_strdup(resource);
        spot->directory = path ? g_strdup(path)
                               : g_strconcat(strcmp(survey->parent, "/") == 0 ? "" : survey->parent,
                                             "/", resource, NULL);
        spot->entries = g_ptr_array_new_with_free_func(entry_destroy);
        g_ptr_array_add(survey->spots, spot);
        ask_add(survey, ask_send_queue, spot, NULL);
}

/* The resources under the parent. */

static void ask_on_parent(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;

        if (!ask_is_answered(ask, reply))
                return;
        if (reply->code == ZK_NO_AUTH) {
                ask_refused(ask);
                return;
        }
        for (size_t i = 0; i < reply->n_children; i++)
                if (!ask->survey->is_name || ask->survey->is_name(reply->children[i]))
                        survey_add_spot(ask->survey, reply->children[i], NULL);
        ask_end(ask);
}

static int ask_send_parent(Ask *ask, Zk *zk) {
        return zk_get_children(zk, ask->survey->parent, ask_on_parent, ask, &ask->call, NULL, NULL,
                               NULL);
}

static void survey_on_session_event(Session *session, SessionEvent event, void *userdata) {
        LockSurvey *survey = userdata;

        if (event == SESSION_EVENT_LOST || event == SESSION_EVENT_CLOSED)
                survey_finish(survey, -ENOTCONN);
        else if (event == SESSION_EVENT_RESUMED)
                lock_survey_go_on(survey);
}

int lock_survey_new_paced(Session *session, const char *parent, LockNameFunc is_name,
                          const LockPlace *places, size_t n_places, LockPaceFunc pace,
                          void *pace_userdata, LockSurveyFunc func, void *userdata,
                          LockSurvey **ret_survey) {
        _cleanup_(lock_survey_freep) LockSurvey *survey = NULL;
        int r;

        if (!session_zk(session))
                return -ENOTCONN;
        survey = g_new0(LockSurvey, 1);
        survey->session = session;
        survey->func = func;
        survey->userdata = userdata;
        survey->pace = pace;
        survey->pace_userdata = pace_userdata;
        survey->parent = g_strdup(parent);
        survey->is_name = is_name;
        g_queue_init(&survey->waiting);
        g_queue_init(&survey->sent);
        survey->spots = g_ptr_array_new_with_free_func(spot_destroy);
        survey->entries = g_ptr_array_new();
        survey->unreadable = g_ptr_array_new();
        r = session_listen(session, survey_on_session_event, survey, &survey->listener);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_places; i++)
                survey_add_spot(survey, places[i].resource, places[i].path);
        if (n_places == 0)
                ask_add(survey, ask_send_parent, NULL, NULL);
        r = survey_pump(survey);
        if (r < 0)
                return r;
        *ret_survey = g_steal_pointer(&survey);
        return 0;
}

int lock_survey_new(Session *session, const char *parent, LockNameFunc is_name,
                    const LockPlace *places, size_t n_places, LockSurveyFunc func, void *userdata,
                    LockSurvey **ret_survey) {
        return lock_survey_new_paced(session, parent, is_name, places, n_places, NULL, NULL, func,
                                     userdata, ret_survey);
}

LockSurvey *lock_survey_free(LockSurvey *survey) {
        if (!survey)
                return NULL;
        survey_stop(survey);
        g_ptr_array_unref(survey->entries);
        g_ptr_array_unref(survey->unreadable);
        g_ptr_array_unref(survey->spots);
        g_free(survey->parent);
        g_free(survey);
        return NULL;
}

const GPtrArray *lock_survey_entries(const LockSurvey *survey) {
        return survey->entries;
}

const GPtrArray *lock_survey_unreadable(const LockSurvey *survey) {
        return survey->unreadable;
}
