/* Nobody overlooks its turn: whose contenders all stand where nobody keeps them waiting claims its
 * run, or goes. Who has missed that those before it went waits in vain, and keeps others waiting.
 * See checker.h. */
#include "turn-checker.h"

#include <string.h>

#include "contender.h"
#include "paths.h"
#include "write-checker.h"

#define ROOT "/jobkeeper"
/* How often it is looked. */
#define LOOK_PERIOD (2 * USEC_PER_SEC)
/* Whom the servers answer takes it within this, and within so many flights to them and back, one
 * after the other: what a process that was killed left in a queue goes once the next one has come
 * back to the session, looked at the tree, registered, read its open runs and their records, listed
 * the locks, the queue and the contender, and had it deleted. Those are ten, and the first and the
 * last may be under way when it is looked; at servers that are slow each takes seconds. */
#define TAKEN_WITHIN (12 * USEC_PER_SEC)
#define TAKEN_WITHIN_FLIGHTS 12
/* A daemon asks every second. */
#define ANSWERED_EVERY (5 * USEC_PER_SEC)

/* In which servers answer. */
typedef struct TurnSession {
        usec_t since, last;
        usec_t landed;    /* the last flight */
        unsigned flights; /* in that time, one after the other */
} TurnSession;

/* It has come. */
typedef struct Turn {
        usec_t since;
        unsigned flights; /* of the session, by then */
} Turn;

struct TurnBook {
        GHashTable *sessions; /* int64_t → TurnSession */
        GHashTable *turns;    /* path of a contender → Turn */
        usec_t looked;
};

typedef struct TurnLook {
        Checker *checker;
        TurnBook *book;
        const DataTree *tree;
        GHashTable *turns; /* those of this look */
        GPtrArray *here;   /* of TreeNode: contenders for jobs whose turn it is */
        GHashTable *kept;  /* what the contenders of those say that are kept waiting, a set */
} TurnLook;

TurnBook *turn_book_new(void) {
        TurnBook *book = g_new0(TurnBook, 1);

        book->sessions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        book->turns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return book;
}

TurnBook *turn_book_free(TurnBook *book) {
        if (!book)
                return NULL;
        g_hash_table_unref(book->sessions);
        g_hash_table_unref(book->turns);
        g_free(book);
        return NULL;
}

/* ---- a queue ---- */

/* Return: how many may hold what that contender of a job stands for; 0: it is no job's. */
static unsigned turn_slots(const Checker *checker, const TreeNode *contender) {
        const PlanJob *job = checker_contender_job(checker, contender);

        if (!job)
                return 0;
        if (job->allows || !g_str_has_prefix(contender->parent->name, "job:"))
                return plan_slots(contender->parent->name);
        return job->roll.node ? plan_roll_turns(job) : job->beside;
}

typedef struct TurnQueue {
        Contender own;
        unsigned before;
} TurnQueue;

static gboolean turn_count(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        TurnQueue *queue = userdata;
        Contender other;

        contender_parse(node->name, &other);
        if (other.kind != CONTENDER_FOREIGN && contender_compare(&other, &queue->own) < 0 &&
            contender_is_in_the_way(queue->own.kind, &other))
                queue->before++;
        return FALSE;
}

/* Return: whether it stands for a machine that may have to wait for others, which are away. */
static bool turn_waits_for_machines(const TurnLook *look, const TreeNode *contender) {
        const PlanJob *job = checker_contender_job(look->checker, contender);
        const Write write = {checker_book(look->checker), look->checker, NULL, look->tree};

        return job && job->roll.node && rejoin_keeps_waiting(&write, job);
}

static gboolean turn_look_at(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;
        TurnLook *look = userdata;
        unsigned slots = turn_slots(look->checker, node);
        TurnQueue queue = {.before = 0};

        if (slots == 0 || write_book_holder(checker_book(look->checker), node->path))
                return FALSE;
        contender_parse(node->name, &queue.own);
        g_tree_foreach(node->parent->children, turn_count, &queue);
        if (queue.before >= (queue.own.kind == CONTENDER_SLOT ? slots : 1) ||
            turn_waits_for_machines(look, node))
                g_hash_table_add(look->kept, node->data);
        else
                g_ptr_array_add(look->here, (void *)node);
        return FALSE;
}

static gboolean turn_look_in(gpointer name, gpointer data, gpointer userdata) {
        const TreeNode *node = data;

        if (node->children)
                g_tree_foreach(node->children, turn_look_at, userdata);
        return FALSE;
}

/* ---- a turn ---- */

/* Return: whether servers answer in the session, and have for long enough. */
static bool turn_is_late(const TurnSession *session, const Turn *turn, usec_t now) {
        bool answered = turn->since >= session->since; /* all the time */

        return now < session->last + ANSWERED_EVERY &&
               now - MAX(turn->since, session->since) >= TAKEN_WITHIN &&
               session->flights - (answered ? turn->flights : 0) >= TAKEN_WITHIN_FLIGHTS;
}

/* Return: whether it may be what a process left that was killed, where PID 1 hangs: it stays until
 * all that lives of its runs is gone, which PID 1 has to end. */
static bool turn_is_left_over(const TurnLook *look, const char *host, usec_t since, usec_t now) {
        const History *history = checker_history(look->checker);

        return history_befell(history, host, HISTORY_HANG, since, now) &&
               history_befell(history, host, HISTORY_DAEMON, usec_sub(since, USEC_PER_MINUTE), now);
}

static void turn_judge(const TurnLook *look, const TreeNode *node, const TurnSession *session,
                       const Turn *turn) {
        usec_t now = checker_now(look->checker), since = turn->since;
        const char *host = write_book_host(checker_book(look->checker), node->owner);

        if (!host || !turn_is_late(session, turn, now) ||
            history_befell(checker_history(look->checker), host, HISTORY_ANY, since, now) ||
            turn_is_left_over(look, host, since, now))
                return;
        checker_complain(look->checker,
                         "the turn of %s has come %" G_GUINT64_FORMAT
                         " s ago, and it does nothing: %s",
                         host, (now - since) / USEC_PER_SEC, node->path);
}

/* Of several locks the others may be waited for. */
static void turn_take(const TurnLook *look, const TreeNode *node) {
        const TurnSession *session = g_hash_table_lookup(look->book->sessions, &node->owner);
        const Turn *before = g_hash_table_lookup(look->book->turns, node->path);
        Turn turn;

        if (!session || g_hash_table_contains(look->kept, node->data))
                return;
        turn = before ? *before : (Turn){checker_now(look->checker), session->flights};
        g_hash_table_insert(look->turns, g_strdup(node->path), g_memdup2(&turn, sizeof(turn)));
        turn_judge(look, node, session, &turn);
}

void turn_note_answer(TurnBook *book, int64_t id, usec_t asked, usec_t now) {
        TurnSession *session = g_hash_table_lookup(book->sessions, &id);

        if (!session) {
                session = g_new0(TurnSession, 1);
                g_hash_table_insert(book->sessions, g_memdup2(&id, sizeof(id)), session);
        }
        if (now >= session->last + ANSWERED_EVERY) {
                session->since = now;
                session->flights = 0;
        }
        session->last = now;
        if (asked < session->landed)
                return;
        session->landed = now;
        session->flights++;
}

bool turn_is_answered(const TurnBook *book, int64_t session, usec_t since, usec_t now,
                      unsigned *ret_flights) {
        const TurnSession *one = g_hash_table_lookup(book->sessions, &session);

        if (!one || one->since > since || now >= one->last + ANSWERED_EVERY)
                return false;
        *ret_flights = one->flights;
        return true;
}

void turn_look(Checker *checker, TurnBook *book, const DataTree *tree) {
        g_autofree char *path = path_locks(ROOT);
        const TreeNode *locks = data_tree_find(tree, path);
        usec_t now = checker_now(checker);
        TurnLook look = {.checker = checker, .book = book, .tree = tree};

        if (!locks || !locks->children || now < book->looked + LOOK_PERIOD)
                return;
        book->looked = now;
        look.turns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        look.here = g_ptr_array_new();
        look.kept = g_hash_table_new(g_str_hash, g_str_equal);
        g_tree_foreach(locks->children, turn_look_in, &look);
        for (guint i = 0; i < look.here->len; i++)
                turn_take(&look, look.here->pdata[i]);
        g_hash_table_unref(look.kept);
        g_ptr_array_unref(look.here);
        g_hash_table_unref(book->turns);
        book->turns = look.turns;
}
