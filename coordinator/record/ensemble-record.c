/* See ensemble-record.h. */
#include "ensemble-record.h"

#include <glib.h>
#include <string.h>

#include "draw.h"
#include "json-line.h"

#define ID "id"
#define DOUBT "doubt"
#define ACCEPTED "accepted"
#define WORD "word"
#define FOR "for"

json_t *ensemble_record_new(const char *id) {
        json_t *record = json_object();

        json_object_set_new(record, ID, json_string(id));
        return record;
}

/* Return: whether it is as draw_id() makes them. */
static bool ensemble_word_is_valid(const json_t *word) {
        const char *text = json_string_value(word);

        return text && strlen(text) == DRAW_ID_MAX - 1 &&
               strspn(text, "0123456789abcdef") == DRAW_ID_MAX - 1;
}

/* Return: borrowed; NULL where there is no such word. */
static const char *json_word_of(const json_t *object, const char *key) {
        const json_t *word = json_object_get(object, key);

        return ensemble_word_is_valid(word) ? json_string_value(word) : NULL;
}

static bool ensemble_accepted_is_valid(const json_t *accepted) {
        size_t index = 0;
        const json_t *entry = NULL;

        if (accepted && !json_is_array(accepted))
                return false;
        json_array_foreach(accepted, index, entry) if (!json_word_of(entry, WORD)) return false;
        return true;
}

json_t *ensemble_record_parse(const char *data, size_t size) {
        json_t *record = json_line_parse(data, size);

        if (ensemble_word_is_valid(json_object_get(record, ID)) &&
            ensemble_accepted_is_valid(json_object_get(record, ACCEPTED)))
                return record;
        json_decref(record);
        return NULL;
}

/* Return: a new reference. */
static json_t *ensemble_accepted_new(const char *word, const Statement *accepted,
                                     const char *known) {
        json_t *entry = statement_write(accepted);

        json_object_set_new(entry, WORD, json_string(word));
        if (known)
                json_object_set_new(entry, FOR, json_string(known));
        return entry;
}

/* Return: a new reference: what is ours, which always fits. */
static json_t *ensemble_record_ours(const json_t *record) {
        json_t *ours = ensemble_record_new(ensemble_record_id(record)), *all = json_array();
        const json_t *entry = NULL;
        Statement statement = {0};
        size_t index = 0;

        if (ensemble_record_is_doubted(record, &statement))
                ensemble_record_doubt(ours, &statement,
                                      json_word_of(json_object_get(record, DOUBT), FOR));
        statement_clear(&statement);
        json_array_foreach(json_object_get(record, ACCEPTED), index, entry) {
                statement_read(entry, &statement);
                json_array_append_new(all,
                                      ensemble_accepted_new(json_word_of(entry, WORD), &statement,
                                                            json_word_of(entry, FOR)));
                statement_clear(&statement);
        }
        while (json_array_size(all) > ENSEMBLE_ACCEPTED_MAX)
                json_array_remove(all, 0);
        json_object_set_new(ours, ACCEPTED, all);
        return ours;
}

char *ensemble_record_encode(const json_t *record) {
        char *text = json_line_dump(json_deep_copy(record));

        if (strlen(text) <= JSON_LINE_MAX)
                return text;
        g_free(text);
        return json_line_dump(ensemble_record_ours(record));
}

const char *ensemble_record_id(const json_t *record) {
        return json_string_value(json_object_get(record, ID));
}

/* ---- doubted ---- */

bool ensemble_record_is_doubted(const json_t *record, Statement *ret_doubt) {
        const json_t *doubt = json_object_get(record, DOUBT);

        if (doubt && ret_doubt)
                statement_read(doubt, ret_doubt);
        return doubt;
}

void ensemble_record_doubt(json_t *record, const Statement *doubt, const char *known) {
        json_t *entry = statement_write(doubt);

        if (known)
                json_object_set_new(entry, FOR, json_string(known));
        json_object_set_new(record, DOUBT, entry);
}

/* ---- accepted ---- */

void ensemble_record_accept(json_t *record, const char *word, const Statement *accepted,
                            const char *known) {
        json_t *all = json_object_get(record, ACCEPTED), *doubt = json_object_get(record, DOUBT),
               *entry =
                   ensemble_accepted_new(word, accepted, doubt ? json_word_of(doubt, FOR) : known);

        json_object_del(record, DOUBT);
        if (!all) {
                all = json_array();
                json_object_set_new(record, ACCEPTED, all);
        }
        json_array_append_new(all, entry);
        while (json_array_size(all) > ENSEMBLE_ACCEPTED_MAX)
                json_array_remove(all, 0);
}

const char *ensemble_record_accepted(const json_t *record, Statement *ret_accepted) {
        const json_t *all = json_object_get(record, ACCEPTED);
        const json_t *newest =
            json_array_size(all) > 0 ? json_array_get(all, json_array_size(all) - 1) : NULL;

        if (newest && ret_accepted)
                statement_read(newest, ret_accepted);
        return json_string_value(json_object_get(newest, WORD));
}

bool ensemble_record_is_accepted_for(const json_t *record, const char *known, const json_t *words,
                                     bool here) {
        size_t index = 0;
        const json_t *entry = NULL;

        json_array_foreach(json_object_get(record, ACCEPTED), index, entry) {
                const char *instead = json_word_of(entry, FOR);

                if (!ensemble_words_have(words, json_word_of(entry, WORD)) &&
                    (instead ? g_strcmp0(instead, known) == 0 : here))
                        return true;
        }
        return false;
}

bool ensemble_words_have(const json_t *words, const char *word) {
        size_t index = 0;
        const json_t *known = NULL;

        json_array_foreach(words, index,
                           known) if (g_strcmp0(json_string_value(known), word) == 0) return true;
        return false;
}

void ensemble_record_add_words(const json_t *record, json_t *words, size_t max) {
        size_t index = 0;
        const json_t *entry = NULL;

        json_array_foreach(json_object_get(record, ACCEPTED), index, entry) {
                json_t *word = json_object_get(entry, WORD);

                if (!ensemble_words_have(words, json_string_value(word)))
                        json_array_append(words, word);
        }
        while (json_array_size(words) > max)
                json_array_remove(words, 0);
}
