/* See contender.h. A name is head, marker, sequence number; the head's length is fixed in every
 * naming, so nothing is searched for. What fits none exactly is foreign: it is refused rather
 * than guessed at. */
#include "contender.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "draw.h"

#define PROTECTION "_c_"
#define BARE_UUID_LENGTH 32
/* Where a uuid has the digit of its version, and which one says that no twin will come. */
#define UUID_VERSION_AT 14
#define VERSION_WITHOUT_TWIN '8'

static const struct {
        const char *marker; /* between head and sequence number */
        LockNaming naming;
        ContenderKind kind;
} kinds[] = {
    {"-__WRIT__", LOCK_NAMING_CURATOR_RW, CONTENDER_WRITER},
    {"-__READ__", LOCK_NAMING_CURATOR_RW, CONTENDER_READER},
    {"-__SLOT__", LOCK_NAMING_CURATOR_RW, CONTENDER_SLOT},
    {"-lock-", LOCK_NAMING_CURATOR_MUTEX, CONTENDER_WRITER},
    {"__lock__", LOCK_NAMING_KAZOO, CONTENDER_WRITER},
    {"__rlock__", LOCK_NAMING_KAZOO, CONTENDER_READER},
};

static const char *const naming_words[LOCK_NAMING_N] = {
    [LOCK_NAMING_CURATOR_RW] = "curator-rw",
    [LOCK_NAMING_CURATOR_MUTEX] = "curator-mutex",
    [LOCK_NAMING_KAZOO] = "kazoo",
    [LOCK_NAMING_SINGLE_NODE] = "single-node",
};

/* Return: the length of a valid head of that naming at the start of the name, or 0. */
static size_t match_head(LockNaming naming, const char *name,
                         char ret_uuid[static CONTENDER_UUID_LENGTH + 1]) {
        const char *prefix = naming == LOCK_NAMING_KAZOO ? "" : PROTECTION;
        size_t length = naming == LOCK_NAMING_KAZOO ? BARE_UUID_LENGTH : CONTENDER_UUID_LENGTH;
        char uuid[CONTENDER_UUID_LENGTH + 1] = "";

        if (!g_str_has_prefix(name, prefix) || strlen(name) < strlen(prefix) + length)
                return 0;
        memcpy(uuid, name + strlen(prefix), length);
        if (naming == LOCK_NAMING_KAZOO ? strspn(uuid, "0123456789abcdefABCDEF") != length
                                        : !g_uuid_string_is_valid(uuid))
                return 0;
        memcpy(ret_uuid, uuid, sizeof uuid);
        return strlen(prefix) + length;
}

/* The server writes the number as "%010d" of a signed 32-bit counter; only what it can have written
 * is one. */
static bool parse_sequence(const char *text, int64_t *ret_sequence) {
        char canonical[16], *end;
        int64_t value;

        if (!g_ascii_isdigit(text[0]) && text[0] != '-')
                return false;
        value = g_ascii_strtoll(text, &end, 10);
        if (*end || value < INT32_MIN || value > INT32_MAX)
                return false;
        (void)snprintf(canonical, sizeof canonical, "%010d", (int)value);
        if (strcmp(canonical, text) != 0)
                return false;
        *ret_sequence = value;
        return true;
}

void contender_parse(const char *name, Contender *ret) {
        *ret = (Contender){.name = name, .kind = CONTENDER_FOREIGN};
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                char uuid[CONTENDER_UUID_LENGTH + 1] = "";
                size_t head = match_head(kinds[i].naming, name, uuid);

                if (head == 0 || !g_str_has_prefix(name + head, kinds[i].marker) ||
                    !parse_sequence(name + head + strlen(kinds[i].marker), &ret->sequence))
                        continue;
                ret->naming = kinds[i].naming;
                ret->kind = kinds[i].kind;
                ret->may_leave_twin = ret->naming == LOCK_NAMING_CURATOR_RW &&
                                      ret->kind == CONTENDER_WRITER &&
                                      uuid[UUID_VERSION_AT] != VERSION_WITHOUT_TWIN;
                memcpy(ret->uuid, uuid, sizeof uuid);
                return;
        }
}

int contender_compare(const void *a, const void *b) {
        const Contender *x = a, *y = b;

        if (x->sequence != y->sequence)
                return x->sequence < y->sequence ? -1 : 1;
        if (x->kind != y->kind)
                return x->kind < y->kind ? -1 : 1;
        return strcmp(x->name, y->name);
}

char *contender_uuid_new(LockNaming naming, bool may_leave_twin) {
        g_autofree char *uuid = draw_uuid();
        g_auto(GStrv) parts = NULL;

        if (!may_leave_twin)
                uuid[UUID_VERSION_AT] = VERSION_WITHOUT_TWIN;
        if (naming != LOCK_NAMING_KAZOO)
                return g_steal_pointer(&uuid);
        parts = g_strsplit(uuid, "-", -1);
        return g_strjoinv("", parts);
}

char *contender_prefix(LockNaming naming, ContenderKind kind, const char *uuid) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (kinds[i].naming == naming && kinds[i].kind == kind)
                        return g_strconcat(naming == LOCK_NAMING_KAZOO ? "" : PROTECTION, uuid,
                                           kinds[i].marker, NULL);
        return NULL;
}

char *contender_twin(const char *name) {
        g_autofree char *prefix = NULL;
        Contender contender;

        contender_parse(name, &contender);
        if (contender.kind != CONTENDER_WRITER || contender.naming != LOCK_NAMING_CURATOR_RW)
                return NULL;
        prefix = contender_prefix(contender.naming, CONTENDER_READER, contender.uuid);
        return g_strdup_printf("%s%010d", prefix, (int)contender.sequence);
}

bool contender_is_in_the_way(ContenderKind kind, const Contender *other) {
        return kind != CONTENDER_READER || other->kind == CONTENDER_WRITER;
}

const char *lock_naming_to_string(LockNaming naming) {
        return (size_t)naming < G_N_ELEMENTS(naming_words) ? naming_words[naming] : "?";
}

int lock_naming_from_string(const char *word, LockNaming *ret_naming) {
        for (size_t i = 0; i < G_N_ELEMENTS(naming_words); i++)
                if (strcmp(word, naming_words[i]) == 0) {
                        *ret_naming = (LockNaming)i;
                        return 0;
                }
        return -EINVAL;
}
