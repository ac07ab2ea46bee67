/* See fence-link.h. */
#include "fence-link.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "fence-arming.h"
#include "fence-port.h"
#include "kept-file.h"
#include "log.h"
#include "message-id.h"
#include "timer.h"

/* Between attempts: doubled each time. The first is short, because runs are stopped where the
 * timers are not moved for long. */
#define RETRY_FIRST (50 * USEC_PER_MSEC)
#define RETRY_MAX (1 * USEC_PER_SEC)
/* Nothing was heard of a fence for so long: say so. A new one takes a fraction of that. */
#define PATIENCE (5 * USEC_PER_SEC)

#define MEMORY_FILE "fence"
#define MEMORY_BYTES_MAX 256 /* a line */

typedef enum FenceLinkState {
        FENCE_LINK_ABSENT,
        FENCE_LINK_WAITING,
        FENCE_LINK_LINKED,
        FENCE_LINK_OUTDATED,
        FENCE_LINK_LEAVING,
        FENCE_LINK_FOREIGN,
        FENCE_LINK_STATES,
} FenceLinkState;

typedef enum FenceLinkNews {
        FENCE_NEWS_CONNECTED,
        FENCE_NEWS_GREETED,
        FENCE_NEWS_OTHER_VERSION, /* greeted, too */
        FENCE_NEWS_OTHER_PROTOCOL,
        FENCE_NEWS_ASKED_TO_LEAVE,
        FENCE_NEWS_ENDED,
        FENCE_NEWS_COUNT,
} FenceLinkNews;

struct FenceLink {
        Node *node; /* weak */
        const FenceLinkEvents *events;
        void *userdata;
        FenceLinkState state;
        FencePort *port;
        usec_t retry_delay;
        sd_event_source *retry, *patience;
        bool silent; /* for longer than PATIENCE, which was said */
        bool unwritten;
        /* Of the fence that guards, or guarded last; "" before. */
        char instance[FENCE_INSTANCE_DIGITS + 1];
        /* Of the one that was last asked to make place. Its instance is "" once another of its
         * version has come instead, which was said. */
        FenceHello asked;
        char *owner;      /* of the timers, as the file has it */
        FenceArming last; /* what became of the timers when they were last to be moved */
        bool shut;        /* when it was last looked at, nothing could begin */
        sd_event_source *opening;
};

static void fence_link_connect(void *userdata);

/* ---- the state ---- */

static void fence_link_step(FenceLink *link, FenceLinkNews news) {
#define NO FENCE_LINK_STATES
        static const FenceLinkState next[FENCE_LINK_STATES][FENCE_NEWS_COUNT] = {
            /* connected, greeted, other version, other protocol, asked to leave, ended */
            [FENCE_LINK_ABSENT] = {FENCE_LINK_WAITING, NO, NO, NO, NO, NO},
            [FENCE_LINK_WAITING] = {NO, FENCE_LINK_LINKED, FENCE_LINK_OUTDATED, FENCE_LINK_FOREIGN,
                                    NO, FENCE_LINK_ABSENT},
            [FENCE_LINK_LINKED] = {NO, NO, NO, NO, NO, FENCE_LINK_ABSENT},
            [FENCE_LINK_OUTDATED] = {NO, NO, NO, NO, FENCE_LINK_LEAVING, FENCE_LINK_ABSENT},
            [FENCE_LINK_LEAVING] = {NO, NO, NO, NO, NO, FENCE_LINK_ABSENT},
            [FENCE_LINK_FOREIGN] = {NO, NO, NO, NO, NO, FENCE_LINK_ABSENT},
        };
#undef NO
        FenceLinkState state = next[link->state][news];

        if (state == FENCE_LINK_STATES)
                g_error("fence link: news %u in state %u is impossible", (unsigned)news,
                        (unsigned)link->state);
        link->state = state;
}

/* Return: whether there is one whose timers are to follow our session. */
static bool fence_link_has_fence(const FenceLink *link) {
        return link->state == FENCE_LINK_LINKED || link->state == FENCE_LINK_OUTDATED ||
               link->state == FENCE_LINK_LEAVING;
}

/* ---- whose the timers are ---- */

static char *fence_link_memory_path(const FenceLink *link) {
        return g_build_filename(link->node->runtime_dir, MEMORY_FILE, NULL);
}

static void fence_link_recall(FenceLink *link) {
        g_autofree char *path = fence_link_memory_path(link);

        link->owner = kept_file_read(path, MEMORY_BYTES_MAX,
                                     "what a process before this one has left behind the fence is "
                                     "stopped by its deadline");
        if (link->owner)
                g_strchomp(link->owner);
}

/* Return: what owns the timers under this fence and in this session; newly allocated. */
static char *fence_link_owner(const FenceLink *link) {
        return g_strdup_printf("%s %016" G_GINT64_MODIFIER "x", link->instance,
                               session_id(link->node->session));
}

/* Where it cannot be kept, the process after us takes what it finds for another session's, and has
 * it stopped in time. */
static void fence_link_remember(FenceLink *link, char *owner) {
        g_autofree char *path = fence_link_memory_path(link),
                        *line = g_strconcat(owner, "\n", NULL);
        g_autoptr(GError) error = NULL;
        bool written =
            g_file_set_contents_full(path, line, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error);

        g_free(link->owner);
        link->owner = owner;
        if (!written && !link->unwritten)
                log_warning(&(LogAbout){.message_id = MESSAGE_SESSION_WARNING},
                            "a restart will not know its fence: %s", error->message);
        link->unwritten = !written;
}

/* ---- the timers ---- */

/* The later one first: whoever is killed in between leaves a fence that stops too early. */
static void fence_link_set_timers(FenceLink *link, usec_t stop_at, usec_t until) {
        usec_t kill_at = usec_sub(until, link->node->config->kill_slack);

        fence_port_set(link->port, FENCE_TIMER_KILL, kill_at);
        fence_port_set(link->port, FENCE_TIMER_STOP, MIN(stop_at + FENCE_LINK_GRACE, kill_at));
}

/* Nothing is known of the locks of what lives there: what is not held by a process before us either
 * is to end. */
static void fence_link_set_without_session(FenceLink *link) {
        usec_t until = session_held_until(link->node->session), now = clock_boottime();

        if (fence_port_timers(link->port) != FENCE_TIMERS_UNSET)
                return;
        if (until > 0)
                fence_link_set_timers(link, session_stop_at(link->node->session), until);
        else
                fence_link_set_timers(link, now, usec_add(now, link->node->config->fence_budget));
}

/* Between the launch step of a run and its command nothing lives there, for as long as PID 1 stands
 * still: what is not known to be over counts as living. */
static void fence_link_move_timers(FenceLink *link) {
        Session *session = link->node->session;
        g_autofree char *owner = fence_link_owner(link);
        bool ours = g_strcmp0(owner, link->owner) == 0,
             lives = fence_port_is_populated(link->port) ||
                     (!ours && link->events->has_past(link->userdata));

        link->last = fence_arming(fence_port_timers(link->port), ours, lives);
        if (link->last == FENCE_ARMING_KEEP)
                return;
        if (link->last == FENCE_ARMING_TAKE)
                fence_link_remember(link, g_steal_pointer(&owner));
        fence_link_set_timers(link, session_stop_at(session), session_held_until(session));
}

/* ---- what others see ---- */

static bool fence_link_can_kill(const FenceLink *link) {
        return fence_port_hello(link->port)->flags & FENCE_CAN_KILL;
}

const char *fence_link_fault(const FenceLink *link) {
        if (!link)
                return NULL;
        switch (link->state) {
        case FENCE_LINK_ABSENT:
        case FENCE_LINK_WAITING:
                return *link->instance && !link->silent
                           ? "the fence is being replaced"
                           : "the fence cannot be reached: try systemctl start jobkeeper-fence";
        case FENCE_LINK_LEAVING:
                return "the fence is being replaced by one of this version";
        case FENCE_LINK_FOREIGN:
                return "the fence is of a version that cannot guard anything for this one";
        case FENCE_LINK_LINKED:
        case FENCE_LINK_OUTDATED:
        case FENCE_LINK_STATES:
                break;
        }
        if (!fence_link_can_kill(link))
                return "the fence may not kill what it guards (see jobkeeper-fence(8))";
        if (!link->node->session || session_id(link->node->session) == 0 ||
            fence_arming_guards(link->last))
                return NULL;
        return "what is fenced is being stopped";
}

const char *fence_link_instance(const FenceLink *link) {
        return link && fence_link_has_fence(link) ? link->instance : NULL;
}

/* ---- following the session ---- */

static void fence_link_on_open(void *userdata) {
        FenceLink *link = userdata;

        if (!fence_link_fault(link))
                link->events->open(link->userdata);
}

/* Later, for it may be the session that is at work. */
static void fence_link_tell(FenceLink *link) {
        bool shut = fence_link_fault(link);

        if (link->shut && !shut)
                (void)timer_next_turn(link->node->event, &link->opening, fence_link_on_open, link);
        link->shut = shut;
}

/* Return: whether one of this version was asked, and this is what is started in its place. */
static bool fence_link_came_back(const FenceLink *link) {
        const FenceHello *hello = fence_port_hello(link->port);

        return strcmp(link->asked.version, hello->version) == 0 &&
               strcmp(link->asked.instance, hello->instance) != 0;
}

static void fence_link_make_place(FenceLink *link) {
        if (link->state != FENCE_LINK_OUTDATED || fence_link_came_back(link) ||
            fence_port_is_populated(link->port) || !link->events->is_idle(link->userdata))
                return;
        log_info(NULL, "the fence is of version %s: it makes place for one of " JOBKEEPER_VERSION,
                 fence_port_hello(link->port)->version);
        link->asked = *fence_port_hello(link->port);
        fence_port_leave(link->port);
        fence_link_step(link, FENCE_NEWS_ASKED_TO_LEAVE);
}

/* It is what this machine has: to ask that, too, would be to ask for ever, and nothing begins
 * meanwhile. */
static void fence_link_note_return(FenceLink *link) {
        if (!fence_link_came_back(link) || !*link->asked.instance)
                return;
        log_warning(&(LogAbout){.message_id = MESSAGE_FENCE_LINKED},
                    "the fence is of version %s again: it stays, for what jobkeeper-fence.service "
                    "starts is not of " JOBKEEPER_VERSION,
                    link->asked.version);
        *link->asked.instance = '\0';
}

void fence_link_follow(FenceLink *link) {
        const Session *session = link ? link->node->session : NULL;

        if (!session || !fence_link_has_fence(link))
                return;
        if (session_id(session) == 0)
                fence_link_set_without_session(link);
        else if (session_held_until(session) > 0) /* else what runs is left to the next process */
                fence_link_move_timers(link);
        fence_link_make_place(link);
        fence_link_tell(link);
}

/* ---- the connection ---- */

static void fence_link_on_patience(void *userdata) {
        FenceLink *link = userdata;

        link->silent = true;
        log_warning(&(LogAbout){.message_id = MESSAGE_FENCE_UNREACHABLE},
                    "%s; nothing is begun until there is one", fence_link_fault(link));
}

static void fence_link_connect_later(FenceLink *link) {
        (void)timer_in(link->node->event, &link->retry, link->retry_delay, fence_link_connect,
                       link);
        link->retry_delay = MIN(2 * link->retry_delay, RETRY_MAX);
}

static void fence_link_on_ended(FenceLink *link) {
        if (link->state == FENCE_LINK_LINKED || link->state == FENCE_LINK_OUTDATED)
                log_warning(&(LogAbout){.message_id = MESSAGE_FENCE_LOST},
                            "the fence has ended the connection: if it is gone, what it guarded is "
                            "stopped with it; nothing is begun until there is one");
        link->port = fence_port_free(link->port);
        fence_link_step(link, FENCE_NEWS_ENDED);
        fence_link_tell(link);
        fence_link_connect_later(link);
}

/* Return: what its greeting means. */
static FenceLinkNews fence_link_judge(const FenceHello *hello) {
        if (memcmp(hello->magic, FENCE_MAGIC, sizeof hello->magic) != 0 ||
            strlen(hello->instance) != FENCE_INSTANCE_DIGITS)
                return FENCE_NEWS_OTHER_PROTOCOL;
        return strcmp(hello->version, JOBKEEPER_VERSION) == 0 ? FENCE_NEWS_GREETED
                                                              : FENCE_NEWS_OTHER_VERSION;
}

static void fence_link_on_greeted(FenceLink *link) {
        const FenceHello *hello = fence_port_hello(link->port);
        bool another = *link->instance && strcmp(link->instance, hello->instance) != 0;

        link->patience = sd_event_source_disable_unref(link->patience);
        link->silent = false;
        link->last = FENCE_ARMING_KEEP;
        fence_link_step(link, fence_link_judge(hello));
        if (!fence_link_has_fence(link)) {
                fence_link_tell(link);
                return;
        }
        link->retry_delay = RETRY_FIRST;
        (void)g_strlcpy(link->instance, hello->instance, sizeof link->instance);
        log_info(&(LogAbout){.message_id = MESSAGE_FENCE_LINKED},
                 "what runs here is guarded by jobkeeper-fence %s%s", hello->version,
                 fence_link_can_kill(link) ? "" : ", which may not kill it: nothing is begun");
        fence_link_note_return(link);
        fence_link_follow(link);
        if (another)
                link->events->replaced(link->userdata);
}

static void fence_link_on_port(FencePortEvent event, void *userdata) {
        if (event == FENCE_PORT_GREETED)
                fence_link_on_greeted(userdata);
        else
                fence_link_on_ended(userdata);
}

static void fence_link_connect(void *userdata) {
        FenceLink *link = userdata;

        if (!link->patience && !link->silent)
                (void)timer_in(link->node->event, &link->patience, PATIENCE, fence_link_on_patience,
                               link);
        if (fence_port_new(link->node->event, FENCE_SOCKET, fence_link_on_port, link,
                           &link->port) >= 0)
                fence_link_step(link, FENCE_NEWS_CONNECTED);
        else
                fence_link_connect_later(link);
}

FenceLink *fence_link_new(Node *node, const FenceLinkEvents *events, void *userdata) {
        FenceLink *link = g_new0(FenceLink, 1);

        link->node = node;
        link->events = events;
        link->userdata = userdata;
        link->retry_delay = RETRY_FIRST;
        link->shut = true;
        fence_link_recall(link);
        fence_link_connect(link);
        node->fence = link;
        return link;
}

FenceLink *fence_link_free(FenceLink *link) {
        if (!link)
                return NULL;
        link->node->fence = NULL;
        fence_port_free(link->port);
        sd_event_source_disable_unref(link->retry);
        sd_event_source_disable_unref(link->patience);
        sd_event_source_disable_unref(link->opening);
        g_free(link->owner);
        g_free(link);
        return NULL;
}
