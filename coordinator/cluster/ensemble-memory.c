/* See ensemble-memory.h. */
#include "ensemble-memory.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

#include "ensemble-record.h"
#include "field.h"
#include "json-line.h"
#include "log.h"
#include "message-id.h"
#include "state-file.h"
#include "state-writer.h"

#define WORDS "accepted"

typedef struct EnsembleMemoryRecord {
        char *id;
        char *node, *servers, *tree; /* as they were configured */
        int64_t root, newest;
} EnsembleMemoryRecord;

static const Field memory_fields[] = {
    {.key = "id", .kind = FIELD_STRING, .offset = offsetof(EnsembleMemoryRecord, id)},
    {.key = "node", .kind = FIELD_STRING, .offset = offsetof(EnsembleMemoryRecord, node)},
    {.key = "servers", .kind = FIELD_STRING, .offset = offsetof(EnsembleMemoryRecord, servers)},
    {.key = "tree", .kind = FIELD_STRING, .offset = offsetof(EnsembleMemoryRecord, tree)},
    {.key = "root",
     .kind = FIELD_TICK,
     .offset = offsetof(EnsembleMemoryRecord, root),
     .low = 0,
     .high = INT64_MAX},
    {.key = "newest",
     .kind = FIELD_TICK,
     .offset = offsetof(EnsembleMemoryRecord, newest),
     .low = 0,
     .high = INT64_MAX},
    {NULL},
};

struct EnsembleMemory {
        char *path;
        const DaemonConfig *config; /* weak */
        EnsembleMemoryRecord record;
        json_t *words;
        StateWriter *writer;
};

/* ---- the file ---- */

static char *ensemble_memory_to_text(const void *userdata) {
        const EnsembleMemory *memory = userdata;
        json_t *object = field_table_to_json(memory_fields, &memory->record);

        json_object_set(object, WORDS, memory->words);
        return json_line_dump(object);
}

/* Return: whether it is one of ours. */
static bool ensemble_memory_take(EnsembleMemory *memory, const json_t *object) {
        json_t *words = json_object_get(object, WORDS);

        if (!json_is_object(object) || !json_is_array(words) ||
            !field_table_from_json(memory_fields, object, &memory->record) || !memory->record.id ||
            !memory->record.node || !memory->record.servers || !memory->record.tree)
                return false;
        json_decref(memory->words);
        memory->words = json_deep_copy(words);
        return true;
}

static void ensemble_memory_set_aside(EnsembleMemory *memory) {
        bool moved = state_file_set_aside(memory->path) == 0;

        field_table_clear(memory_fields, &memory->record);
        memory->record = (EnsembleMemoryRecord){0};
        log_warning(&(LogAbout){.message_id = MESSAGE_ENSEMBLE_FORGOTTEN},
                    "%s cannot be read%s: whether ZooKeeper was wiped or restored since is not "
                    "recognised by this node; from now on it is",
                    memory->path, moved ? " and is set aside" : "");
}

static void ensemble_memory_load(EnsembleMemory *memory) {
        g_autofree char *text = NULL;
        json_t *object;
        int r = state_file_read(memory->path, JSON_LINE_MAX, &text, NULL);

        if (r == -ENOENT)
                return;
        object = r < 0 ? NULL : json_line_parse(text, strlen(text));
        if (!ensemble_memory_take(memory, object))
                ensemble_memory_set_aside(memory);
        json_decref(object);
}

/* ---- the memory ---- */

EnsembleMemory *ensemble_memory_new(sd_event *event, const char *directory,
                                    const DaemonConfig *config) {
        EnsembleMemory *memory = g_new0(EnsembleMemory, 1);

        memory->path = g_build_filename(directory, "ensemble.json", NULL);
        memory->config = config;
        memory->words = json_array();
        memory->writer = state_writer_new(event, memory->path, ensemble_memory_to_text, memory);
        ensemble_memory_load(memory);
        return memory;
}

EnsembleMemory *ensemble_memory_free(EnsembleMemory *memory) {
        if (!memory)
                return NULL;
        state_writer_free(memory->writer);
        field_table_clear(memory_fields, &memory->record);
        json_decref(memory->words);
        g_free(memory->path);
        g_free(memory);
        return NULL;
}

/* Another name had other open runs. */
EnsembleKnown ensemble_memory_known(const EnsembleMemory *memory) {
        const EnsembleMemoryRecord *record = &memory->record;
        const DaemonConfig *config = memory->config;

        if (!record->id)
                return (EnsembleKnown){.words = memory->words};
        return (EnsembleKnown){
            .id = record->id,
            .root = record->root,
            .newest = g_str_equal(record->node, config->node_name) ? record->newest : 0,
            .words = memory->words,
            .elsewhere = !g_str_equal(record->servers, config->servers) ||
                         !g_str_equal(record->tree, config->root),
        };
}

static bool ensemble_memory_differs(const EnsembleMemory *memory, const EnsembleSeen *seen) {
        EnsembleKnown known = ensemble_memory_known(memory);
        const char *word = ensemble_record_accepted(seen->record, NULL);

        return known.elsewhere || known.root != seen->root || known.newest != seen->newest ||
               g_strcmp0(known.id, ensemble_record_id(seen->record)) != 0 ||
               (word && !ensemble_words_have(memory->words, word)) ||
               g_strcmp0(memory->record.node, memory->config->node_name) != 0;
}

void ensemble_memory_learn(EnsembleMemory *memory, const EnsembleSeen *seen) {
        const DaemonConfig *config = memory->config;

        if (!ensemble_memory_differs(memory, seen))
                return;
        field_table_clear(memory_fields, &memory->record);
        memory->record = (EnsembleMemoryRecord){
            .id = g_strdup(ensemble_record_id(seen->record)),
            .node = g_strdup(config->node_name),
            .servers = g_strdup(config->servers),
            .tree = g_strdup(config->root),
            .root = seen->root,
            .newest = seen->newest,
        };
        ensemble_record_add_words(seen->record, memory->words, ENSEMBLE_MEMORY_WORDS_MAX);
        state_writer_changed(memory->writer, 0);
}

void ensemble_memory_wrote(EnsembleMemory *memory, int64_t zxid) {
        if (!memory || !memory->record.id || zxid <= memory->record.newest)
                return;
        memory->record.newest = zxid;
        state_writer_changed(memory->writer, ENSEMBLE_MEMORY_DELAY);
}

char *ensemble_memory_fault(const EnsembleMemory *memory) {
        const char *fault = memory ? state_writer_fault(memory->writer) : "";

        return *fault ? g_strdup_printf("cannot remember what stands in ZooKeeper: %s; should it "
                                        "be wiped or restored, this node may not notice",
                                        fault)
                      : g_strdup("");
}
