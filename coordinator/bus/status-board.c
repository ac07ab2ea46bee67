/* See status-board.h. */
#include "status-board.h"

#include <string.h>

#include "json-line.h"
#include "paths.h"
#include "status-report.h"
#include "timer.h"

/* Reads of ours under way: the window is for other questions, too. */
#define BOARD_READS_MAX 32
/* So long may ZooKeeper be silent before the report does without it. */
#define BOARD_PATIENCE (2 * USEC_PER_SEC)
/* So long may the reading take where others want to read as well: who asks meanwhile waits for the
 * end of that, for the pause, and for the next, and must not give up before (after 25 s). */
#define BOARD_READING_MAX (6 * USEC_PER_SEC)
/* Where everybody may ask, reports take a fifth of the time. */
#define BOARD_PAUSE_FACTOR 4
#define BOARD_PAUSE_MAX (10 * USEC_PER_SEC)
/* A report for ten thousand jobs has megabytes: the next one is sent when the bus took the last. */
#define BOARD_SEND_DELAY (10 * USEC_PER_MSEC)
/* What members say of themselves must leave room for the jobs. */
#define BOARD_MEMBERS_BYTES (ANSWER_BYTES_MAX / 4)
/* For the end of the report. */
#define BOARD_REST_BYTES 1024

typedef enum BoardPhase {
        BOARD_IDLE,    /* nobody asks, or the pause is not over */
        BOARD_READING, /* the ledgers */
        BOARD_WRITING, /* the text */
        BOARD_SENDING,
} BoardPhase;

struct StatusBoard {
        Answers *owner; /* weak */
        BoardPhase phase;
        GPtrArray *next, *now; /* Answer, weak: wait for the next report, for the one in work */
        GPtrArray *jobs;       /* names */
        guint asked, answered, written;
        char *member;              /* the last one that was written; NULL: none */
        bool members_written;      /* all of them */
        guint no_members, no_jobs; /* so many are left out */
        GPtrArray *reads;          /* BoardRead */
        GHashTable *ledgers;
        char **nodes;
        GString *text;
        bool complete, late;      /* `late`: others read so much that not all could be read */
        usec_t begun, not_before; /* CLOCK_MONOTONIC */
        Slice *slice;
        sd_event_source *timer; /* of the phase */
};

typedef struct BoardRead {
        StatusBoard *board; /* weak: owns us */
        const char *job;    /* borrowed; NULL: the nodes */
        WindowedRead *read;
} BoardRead;

static void board_read_free(void *data) {
        BoardRead *item = data;

        windowed_read_free(item->read);
        g_free(item);
}

static void board_ledger_free(void *ledger) {
        ledger_free(ledger);
}

static void board_begin(StatusBoard *board);

static void board_arm(StatusBoard *board, usec_t delay, TimerFunc func) {
        (void)timer_in(board->owner->view->node->event, &board->timer, delay, func, board);
}

/* ---- sending ---- */

static void board_on_pause(void *userdata) {
        StatusBoard *board = userdata;

        if (board->next->len > 0)
                board_begin(board);
}

static void board_over(StatusBoard *board) {
        usec_t now = clock_monotonic(), took = usec_sub(now, board->begun);

        board->phase = BOARD_IDLE;
        board->timer = sd_event_source_disable_unref(board->timer);
        g_ptr_array_set_size(board->reads, 0);
        g_ptr_array_set_size(board->jobs, 0);
        g_hash_table_remove_all(board->ledgers);
        (void)g_string_truncate(board->text, 0);
        board->not_before = board->owner->privileged
                                ? 0
                                : usec_add(now, MIN(BOARD_PAUSE_FACTOR * took, BOARD_PAUSE_MAX));
        if (board->next->len > 0)
                board_arm(board, usec_sub(board->not_before, now), board_on_pause);
}

static void board_on_send(void *userdata) {
        StatusBoard *board = userdata;
        uint64_t queued = 0;
        Answer *answer = NULL;

        if (board->now->len == 0) {
                board_over(board);
                return;
        }
        answer = board->now->pdata[0];
        (void)sd_bus_get_n_queued_write(sd_bus_message_get_bus(answer->message), &queued);
        if (queued == 0)
                answer_reply_text(answer, board->text->str); /* which forgets it */
        board_arm(board, queued ? BOARD_SEND_DELAY : 0, board_on_send);
}

/* ---- writing ---- */

static void board_begin_text(StatusBoard *board) {
        json_t *head = status_report_head(board->owner->view, board->owner->privileged,
                                          (const char *const *)board->nodes);
        g_autofree char *text = json_line_dump(head);

        text[strlen(text) - 1] = '\0'; /* the closing brace */
        (void)g_string_assign(board->text, text);
        (void)g_string_append(board->text, ",\"members\":[");
}

/* Takes the reference. Return: whether it has its place in the text, which then ends with it. */
static bool board_add_item(StatusBoard *board, json_t *item, size_t limit) {
        g_autofree char *text = json_line_dump(item);
        bool first = board->text->str[board->text->len - 1] == '[';

        if (board->text->len + strlen(text) + BOARD_REST_BYTES > limit)
                return false;
        g_string_append_printf(board->text, "%s%s", first ? "" : ",", text);
        return true;
}

/* The next one by name, whoever came or left since the last one. Return: borrowed, or NULL. */
static const Member *board_next_member(const StatusBoard *board) {
        const GPtrArray *members = members_list(board->owner->view->members);

        for (guint i = 0; i < members->len; i++) {
                const Member *member = members->pdata[i];

                if (!board->member || strcmp(member->node, board->member) > 0)
                        return member;
        }
        return NULL;
}

static void board_write_member(StatusBoard *board) {
        const Member *member = board_next_member(board);
        json_t *object = NULL;

        if (!member) {
                board->members_written = true;
                (void)g_string_append(board->text, "],\"jobs\":[");
                return;
        }
        object = status_report_member(board->owner->view, member);
        board->no_members += !board_add_item(board, object, BOARD_MEMBERS_BYTES);
        g_free(board->member);
        board->member = g_strdup(member->node);
}

static void board_write_job(StatusBoard *board) {
        const char *name = board->jobs->pdata[board->written++];
        json_t *job =
            status_report_job(board->owner->view, name, g_hash_table_lookup(board->ledgers, name));

        if (job)
                board->no_jobs += !board_add_item(board, job, ANSWER_BYTES_MAX);
}

/* Return: a sentence, or "", newly allocated. */
static char *board_note(const StatusBoard *board) {
        if (board->no_members + board->no_jobs > 0)
                return g_strdup_printf(
                    "the answer would be too long: %u jobs and %u members are left out",
                    board->no_jobs, board->no_members);
        if (board->late)
                return g_strdup_printf(
                    "%u of %u are shown only as far as this node knows by itself: more is asked "
                    "of it than it reads for everybody at a time; " READS_ADVICE,
                    board->jobs->len + 1 - board->answered, board->jobs->len);
        return g_strdup("");
}

static void board_end_text(StatusBoard *board) {
        g_autofree char *note = board_note(board), *text = NULL;
        json_t *tail = json_object();

        json_object_set_new(tail, "complete", json_boolean(board->complete && !*note));
        json_object_set_new(tail, "note", json_string(note));
        text = json_line_dump(tail);
        g_string_append_printf(board->text, "],%s", text + 1); /* without its opening brace */
}

static bool board_write(void *userdata) {
        StatusBoard *board = userdata;

        if (board->text->len == 0)
                board_begin_text(board);
        else if (!board->members_written)
                board_write_member(board);
        else if (board->written < board->jobs->len)
                board_write_job(board);
        else {
                board->slice = slice_free(board->slice);
                board_end_text(board);
                board->phase = BOARD_SENDING;
                board_arm(board, 0, board_on_send);
                return false;
        }
        return true;
}

static void board_begin_writing(StatusBoard *board) {
        board->phase = BOARD_WRITING;
        board->timer = sd_event_source_disable_unref(board->timer);
        g_ptr_array_set_size(board->reads, 0);
        (void)slice_new(board->owner->view->node->event, board_write, board, &board->slice);
}

/* ---- reading ---- */

static void board_on_silence(void *userdata) {
        StatusBoard *board = userdata;

        board->complete = false;
        board_begin_writing(board);
}

static void board_feed(StatusBoard *board);

static void board_take(StatusBoard *board, const char *job, const ZkReply *reply) {
        Ledger *ledger = NULL;

        if (reply->code != ZK_OK && reply->code != ZK_NO_NODE)
                board->complete = false;
        if (reply->code != ZK_OK)
                return;
        if (!job)
                board->nodes = g_strdupv((char **)(void *)reply->children);
        else if (ledger_decode(reply->data, reply->data_size, &ledger) == 0)
                g_hash_table_insert(board->ledgers, (char *)job, ledger);
}

static void board_on_read(const ZkReply *reply, void *userdata) {
        const BoardRead *item = userdata;
        StatusBoard *board = item->board;

        board->answered++;
        board_take(board, item->job, reply);
        if (board->phase == BOARD_READING)
                board_feed(board);
}

static bool board_read(StatusBoard *board, ReadKind kind, const char *path, const char *job) {
        BoardRead *item = g_new0(BoardRead, 1);

        item->board = board;
        item->job = job;
        item->read = read_window_add(board->owner->status_window, kind, path, board_on_read, item);
        g_ptr_array_add(board->reads, item);
        board->asked += item->read != NULL;
        return item->read;
}

static bool board_is_late(const StatusBoard *board) {
        return board->answered <= board->jobs->len && read_budget_is_short(board->owner->budget) &&
               clock_monotonic() > usec_add(board->begun, BOARD_READING_MAX);
}

/* Keeps some reads under way until all are answered. */
static void board_feed(StatusBoard *board) {
        const char *root = board->owner->view->node->config->root;
        bool sent = true;

        while (sent && board->asked - board->answered < BOARD_READS_MAX &&
               board->asked <= board->jobs->len) {
                const char *job = board->asked > 0 ? board->jobs->pdata[board->asked - 1] : NULL;
                g_autofree char *path = job ? path_job(root, job) : path_open(root);

                sent = board_read(board, job ? READ_DATA : READ_CHILDREN, path, job);
        }
        board->complete = board->complete && sent;
        board->late = board_is_late(board);
        if (!sent || board->answered > board->jobs->len || board->late)
                board_begin_writing(board);
        else
                board_arm(board, BOARD_PATIENCE, board_on_silence);
}

static bool board_can_read(const Node *node) {
        g_autofree char *silence = status_silence(node);

        return node_is_ready(node) && !silence && session_state(node->session) == SESSION_CONNECTED;
}

static void board_begin(StatusBoard *board) {
        const View *view = board->owner->view;
        GPtrArray *next = board->next;

        board->next = board->now;
        board->now = next;
        board->begun = clock_monotonic();
        board->asked = board->answered = board->written = 0;
        board->no_members = board->no_jobs = 0;
        board->late = false;
        board->members_written = false;
        g_clear_pointer(&board->member, g_free);
        g_clear_pointer(&board->nodes, g_strfreev);
        for (guint i = 0; i < jobset_size(view->jobset); i++)
                g_ptr_array_add(board->jobs, g_strdup(jobset_get(view->jobset, i)->name));
        status_add_left_jobs(view, board->jobs);
        board->phase = BOARD_READING;
        board->complete = board_can_read(view->node);
        if (board->complete)
                board_feed(board);
        else
                board_begin_writing(board);
}

/* ---- the board ---- */

static void board_on_gone(const Answer *answer, void *userdata) {
        const StatusBoard *board = userdata;

        (void)g_ptr_array_remove(board->next, (void *)answer);
        (void)g_ptr_array_remove(board->now, (void *)answer);
}

int status_board_ask(StatusBoard *board, sd_bus_message *message, sd_bus_error *error) {
        usec_t now = clock_monotonic();
        Answer *answer = answer_new(board->owner, message, NULL);

        answer_on_gone(answer, board_on_gone, board);
        answer_is_patient(answer); /* the board sees to it that it ends */
        g_ptr_array_add(board->next, answer);
        if (board->phase == BOARD_IDLE && !board->timer) {
                if (now >= board->not_before)
                        board_begin(board);
                else
                        board_arm(board, usec_sub(board->not_before, now), board_on_pause);
        }
        return 1;
}

StatusBoard *status_board_new(Answers *owner) {
        StatusBoard *board = g_new0(StatusBoard, 1);

        board->owner = owner;
        board->next = g_ptr_array_new();
        board->now = g_ptr_array_new();
        board->jobs = g_ptr_array_new_with_free_func(g_free);
        board->reads = g_ptr_array_new_with_free_func(board_read_free);
        board->ledgers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, board_ledger_free);
        board->text = g_string_new(NULL);
        return board;
}

StatusBoard *status_board_free(StatusBoard *board) {
        if (!board)
                return NULL;
        sd_event_source_disable_unref(board->timer);
        slice_free(board->slice);
        g_ptr_array_unref(board->reads);
        g_hash_table_unref(board->ledgers);
        g_ptr_array_unref(board->next);
        g_ptr_array_unref(board->now);
        g_ptr_array_unref(board->jobs);
        g_strfreev(board->nodes);
        g_free(board->member);
        g_string_free(board->text, TRUE);
        g_free(board);
        return NULL;
}
