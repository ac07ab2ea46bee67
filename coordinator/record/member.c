/* See member.h. */
#include "member.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "json-line.h"
#include "name.h"

Member *member_new(const char *node) {
        Member *member = g_new0(Member, 1);

        member->node = g_strdup(node);
        member->labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        member->unfit = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        member->drifted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return member;
}

Member *member_free(Member *member) {
        if (!member)
                return NULL;
        g_free(member->node);
        g_free(member->machine);
        g_free(member->boot);
        g_free(member->version);
        g_clear_pointer(&member->labels, g_hash_table_unref);
        g_clear_pointer(&member->unfit, g_hash_table_unref);
        g_clear_pointer(&member->drifted, g_hash_table_unref);
        g_free(member);
        return NULL;
}

json_t *member_strings_to_json(GHashTable *strings) {
        json_t *object = json_object();
        GHashTableIter iterator;
        gpointer name, value;

        g_hash_table_iter_init(&iterator, strings);
        while (g_hash_table_iter_next(&iterator, &name, &value))
                json_object_set_new(object, name, json_string(value));
        return object;
}

json_t *member_set_to_json(GHashTable *set) {
        json_t *array = json_array();
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, set);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                json_array_append_new(array, json_string(name));
        return array;
}

/* What peers say of jobs and labels goes into answers and from there to wherever these are used:
 * what is no name is nothing that a node of ours would have said. */
static bool is_job(const char *name) {
        return name_is_valid(name) || g_str_equal(name, MEMBER_ALL_JOBS);
}

/* One that is missing (another version's) is empty. */
static bool set_from_json(const json_t *array, GHashTable *set) {
        const json_t *value;
        size_t index;

        if (!array)
                return true;
        if (!json_is_array(array))
                return false;
        json_array_foreach(array, index, value) {
                if (!json_is_string(value) || !is_job(json_string_value(value)))
                        return false;
                g_hash_table_add(set, g_strdup(json_string_value(value)));
        }
        return true;
}

static bool strings_from_json(json_t *object, bool (*is_name)(const char *), GHashTable *strings) {
        const char *name;
        json_t *value;

        if (!object)
                return true;
        if (!json_is_object(object))
                return false;
        json_object_foreach(object, name, value) {
                if (!json_is_string(value) || !is_name(name))
                        return false;
                g_hash_table_insert(strings, g_strdup(name), g_strdup(json_string_value(value)));
        }
        return true;
}

/* A node that cannot run hundreds of jobs says so without the reasons, and one that cannot run
 * thousands says that it can run none: what its peers could not read they would ignore. */
static json_t *unfit_to_json(const Member *member, size_t detail) {
        json_t *object = detail == 0 ? member_strings_to_json(member->unfit) : json_object();
        GHashTableIter iterator;
        gpointer name;

        if (detail == 2)
                json_object_set_new(object, MEMBER_ALL_JOBS,
                                    json_string("too many jobs that it cannot run"));
        g_hash_table_iter_init(&iterator, member->unfit);
        while (detail == 1 && g_hash_table_iter_next(&iterator, &name, NULL))
                json_object_set_new(object, name, json_string(""));
        return object;
}

static json_t *drifted_to_json(const Member *member, size_t detail) {
        json_t *array = detail < 2 ? member_set_to_json(member->drifted) : json_array();

        if (detail == 2 && g_hash_table_size(member->drifted) > 0)
                json_array_append_new(array, json_string(MEMBER_ALL_JOBS));
        return array;
}

static char *encode(const Member *member, size_t detail) {
        json_t *object = json_object();

        json_object_set_new(object, "node", json_string(member->node));
        json_object_set_new(object, "machine", json_string(member->machine));
        json_object_set_new(object, "boot", json_string(member->boot));
        json_object_set_new(object, "version", json_string(member->version));
        json_object_set_new(object, "labels", member_strings_to_json(member->labels));
        json_object_set_new(object, "unfit", unfit_to_json(member, detail));
        json_object_set_new(object, "drifted", drifted_to_json(member, detail));
        json_object_set_new(object, "skewed", json_boolean(member->skewed));
        return json_line_dump(object);
}

char *member_encode(const Member *member) {
        char *text = encode(member, 0);

        for (size_t detail = 1; strlen(text) > JSON_LINE_MAX && detail <= 2; detail++) {
                g_free(text);
                text = encode(member, detail);
        }
        return text;
}

static bool has_job(GHashTable *table, const char *job) {
        return g_hash_table_contains(table, job) || g_hash_table_contains(table, MEMBER_ALL_JOBS);
}

bool member_is_drifted(const Member *member, const char *job) {
        return has_job(member->drifted, job);
}

bool member_is_unfit(const Member *member, const char *job) {
        return has_job(member->unfit, job) || member_is_drifted(member, job);
}

static int member_from_json(json_t *object, Member *member) {
        const char *machine = json_string_value(json_object_get(object, "machine"));
        const char *boot = json_string_value(json_object_get(object, "boot"));

        if (!machine || !boot ||
            !strings_from_json(json_object_get(object, "labels"), name_is_valid, member->labels) ||
            !strings_from_json(json_object_get(object, "unfit"), is_job, member->unfit) ||
            !set_from_json(json_object_get(object, "drifted"), member->drifted))
                return -EBADMSG;
        member->machine = g_strdup(machine);
        member->boot = g_strdup(boot);
        member->version = g_strdup(json_string_value(json_object_get(object, "version")));
        member->skewed = json_is_true(json_object_get(object, "skewed"));
        return 0;
}

int member_decode(const char *node, const char *data, size_t size, Member **ret_member) {
        _cleanup_(member_freep) Member *member = member_new(node);
        json_t *object = json_line_parse(data, size);
        int r = object ? member_from_json(object, member) : -EBADMSG;

        json_decref(object);
        if (r < 0)
                return r;
        *ret_member = g_steal_pointer(&member);
        return 0;
}
