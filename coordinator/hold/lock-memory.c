/* See lock-memory.h. */
#include "lock-memory.h"

#include "field.h"
#include "json-line.h"
#include "log.h"

#define MEMBER(kind, key, member)                                                                  \
        { key, kind, offsetof(LockRecord, member) }

/* Reading ends at what is not ours: what is needed to give a lock up comes first. */
static const Field record_fields[] = {
    MEMBER(FIELD_STRING, "id", id),
    MEMBER(FIELD_PATHS, "directories", directories),
    MEMBER(FIELD_PATHS, "paths", paths),
    MEMBER(FIELD_STRING, "scope", scope),
    MEMBER(FIELD_STRING, "cgroup", cgroup),
    {"pid", FIELD_INT, offsetof(LockRecord, pid), .low = 2, .high = INT32_MAX},
    MEMBER(FIELD_STRING, "label", label),
    {"token", FIELD_TICK, offsetof(LockRecord, token), .low = INT64_MIN, .high = INT64_MAX},
    MEMBER(FIELD_BOOL, "go-on", go_on),
    MEMBER(FIELD_BOOL, "ending", ending),
    MEMBER(FIELD_BOOL, "session-over", session_over),
    {NULL},
};

typedef struct Swept {
        char **paths;
} Swept;

static const Field swept_fields[] = {
    {"swept", FIELD_PATHS, offsetof(Swept, paths)},
    {NULL},
};

void lock_record_copy(const LockRecord *record, LockRecord *ret_copy) {
        *ret_copy = *record;
        field_table_own(record_fields, ret_copy);
}

void lock_record_clear(LockRecord *record) {
        field_table_clear(record_fields, record);
}

static void lock_record_free(void *data) {
        lock_record_clear(data);
        g_free(data);
}

static json_t *lock_memory_to_json(const GPtrArray *records, const GPtrArray *swept) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        g_auto(GStrv) paths = NULL;
        json_t *file = NULL, *array = json_array();

        for (guint i = 0; i < swept->len; i++)
                g_strv_builder_add(builder, swept->pdata[i]);
        paths = g_strv_builder_end(builder);
        file = field_table_to_json(swept_fields, &(Swept){paths});
        for (guint i = 0; i < records->len; i++)
                json_array_append_new(array, field_table_to_json(record_fields, records->pdata[i]));
        json_object_set_new(file, "locks", array);
        return file;
}

bool lock_memory_save(const char *path, const GPtrArray *records, const GPtrArray *swept) {
        g_autofree char *text = json_line_dump(lock_memory_to_json(records, swept));
        g_autoptr(GError) error = NULL;

        /* Replaced as a whole by rename. */
        if (g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error))
                return true;
        log_warning(NULL, "cannot store the locks held for commands: %s", error->message);
        return false;
}

GPtrArray *lock_memory_load(const char *path, char ***ret_swept) {
        GPtrArray *records = g_ptr_array_new_with_free_func(lock_record_free);
        json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
        const json_t *object = NULL;
        Swept swept = {0};
        size_t index = 0;

        (void)field_table_from_json(swept_fields, file, &swept);
        json_array_foreach(json_object_get(file, "locks"), index, object) {
                LockRecord *record = g_new0(LockRecord, 1);

                (void)field_table_from_json(record_fields, object, record);
                if (record->id)
                        g_ptr_array_add(records, record);
                else
                        lock_record_free(record);
        }
        json_decref(file);
        *ret_swept = swept.paths;
        return records;
}
