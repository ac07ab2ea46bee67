/* See lock-memory.h.
 *
 * A file is replaced as a whole by rename, so that whoever is killed leaves what was there before
 * or what is there now. */
#include "lock-memory.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#include "field.h"
#include "json-line.h"
#include "kept-file.h"
#include "log.h"
#include "name.h"

#define SUFFIX ".json"
/* More than one lock of a command can need, and than all of them. */
#define RECORD_BYTES_MAX ((size_t)1024 * 1024)
#define ALL_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define LOST "locks that were held for commands are given up"

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

bool lock_record_is_held(const LockRecord *record) {
        return record->paths && *record->paths;
}

/* ---- one file ---- */

static char *memory_path(const char *runtime_dir, const char *id) {
        g_autofree char *name = g_strconcat(id, SUFFIX, NULL);

        return g_build_filename(runtime_dir, LOCK_MEMORY_DIRECTORY, name, NULL);
}

static bool memory_write(const char *runtime_dir, const LockRecord *record, GError **error) {
        g_autofree char *directory = g_build_filename(runtime_dir, LOCK_MEMORY_DIRECTORY, NULL),
                        *path = memory_path(runtime_dir, record->id),
                        *text = json_line_dump(field_table_to_json(record_fields, record));

        (void)g_mkdir(directory, 0700); /* it is there, or the error follows */
        return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                        error);
}

char *lock_memory_save(const char *runtime_dir, const LockRecord *record) {
        g_autoptr(GError) error = NULL;

        if (memory_write(runtime_dir, record, &error))
                return NULL;
        log_warning(NULL, "cannot store a lock held for a command: %s", error->message);
        return g_strdup_printf("jobkeeperd cannot store it in its runtime directory: %s",
                               error->message);
}

void lock_memory_remove(const char *runtime_dir, const char *id) {
        g_autofree char *path = memory_path(runtime_dir, id);

        (void)g_unlink(path);
}

/* ---- all of them ---- */

/* Return: a new reference; NULL: there is none that is one of ours, which is said. */
static json_t *memory_parse(const char *path, size_t most) {
        g_autofree char *text = kept_file_read(path, most, LOST);
        json_t *file = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

        if (text && !json_is_object(file)) {
                json_decref(file);
                file = NULL;
                kept_file_refuse(path, -EBADMSG, LOST);
        }
        return file;
}

/* Adds what can be read, unless there is one of that id; takes the id. */
static void memory_read(GPtrArray *records, GHashTable *ids, char *id, const json_t *object) {
        LockRecord *record = g_new0(LockRecord, 1);

        (void)field_table_from_json(record_fields, object, record);
        g_free(record->id);
        record->id = id;
        if (name_is_valid(id) && g_hash_table_add(ids, id))
                g_ptr_array_add(records, record);
        else
                lock_record_free(record);
}

static void memory_read_file(GPtrArray *records, GHashTable *ids, const char *directory,
                             const char *name) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        json_t *file = memory_parse(path, RECORD_BYTES_MAX);

        memory_read(records, ids, g_strndup(name, strlen(name) - strlen(SUFFIX)), file);
        json_decref(file);
}

/* Reads the file of all. Its directories that are to be swept are those of a lock that is over. */
static void memory_read_old(GPtrArray *records, GHashTable *ids, const char *runtime_dir) {
        g_autofree char *path = g_build_filename(runtime_dir, LOCK_MEMORY_OF_ALL, NULL);
        json_t *file = memory_parse(path, ALL_BYTES_MAX), *over = json_object();
        const json_t *object = NULL;
        size_t index = 0;

        json_array_foreach(json_object_get(file, "locks"), index, object) {
                const char *id = json_string_value(json_object_get(object, "id"));

                memory_read(records, ids, g_strdup(id), object);
        }
        if (json_array_size(json_object_get(file, "swept")) > 0) {
                json_object_set(over, "directories", json_object_get(file, "swept"));
                memory_read(records, ids, g_strdup("swept"), over);
        }
        json_decref(over);
        json_decref(file);
}

/* `tidy`: deletes what was not written to the end. */
static GPtrArray *memory_load(const char *runtime_dir, bool tidy) {
        g_autofree char *path = g_build_filename(runtime_dir, LOCK_MEMORY_DIRECTORY, NULL);
        g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
        g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal); /* borrowed */
        GPtrArray *records = g_ptr_array_new_with_free_func(lock_record_free);
        const char *name;

        while (directory && (name = g_dir_read_name(directory))) {
                g_autofree char *file = g_build_filename(path, name, NULL);

                if (g_str_has_suffix(name, SUFFIX))
                        memory_read_file(records, ids, path, name);
                else if (tidy)
                        (void)g_unlink(file);
        }
        memory_read_old(records, ids, runtime_dir);
        return records;
}

GPtrArray *lock_memory_load(const char *runtime_dir) {
        return memory_load(runtime_dir, false);
}

/* Without a directory no lock could be had. */
static void memory_make_room(const char *runtime_dir) {
        g_autofree char *path = g_build_filename(runtime_dir, LOCK_MEMORY_DIRECTORY, NULL);
        struct stat st;

        if (lstat(path, &st) >= 0 && !S_ISDIR(st.st_mode))
                kept_file_refuse(path, -EBADMSG, LOST);
}

GPtrArray *lock_memory_take_over(const char *runtime_dir) {
        g_autofree char *old = g_build_filename(runtime_dir, LOCK_MEMORY_OF_ALL, NULL);
        GPtrArray *records;
        bool written = true;

        memory_make_room(runtime_dir);
        records = memory_load(runtime_dir, true);
        if (!g_file_test(old, G_FILE_TEST_IS_REGULAR))
                return records;
        for (guint i = 0; i < records->len; i++) {
                g_autofree char *why = lock_memory_save(runtime_dir, records->pdata[i]);

                written = written && !why;
        }
        if (written)
                (void)g_unlink(old);
        return records;
}
