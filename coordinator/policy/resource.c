/* See resource.h. The two floors below have a word of their own for the same things; here they are
 * mapped. */
#include "resource.h"

#include "daemon-keys.h"
#include "name.h"
#include "paths.h"

static LockNaming lock_naming(DaemonNaming naming) {
        static const LockNaming namings[] = {
            [DAEMON_NAMING_CURATOR_RW] = LOCK_NAMING_CURATOR_RW,
            [DAEMON_NAMING_CURATOR_MUTEX] = LOCK_NAMING_CURATOR_MUTEX,
            [DAEMON_NAMING_KAZOO] = LOCK_NAMING_KAZOO,
            [DAEMON_NAMING_SINGLE_NODE] = LOCK_NAMING_SINGLE_NODE,
        };

        return namings[naming];
}

static LockMode lock_mode(JobLockMode mode) {
        return mode == JOB_LOCK_SHARED ? LOCK_SHARED : LOCK_EXCLUSIVE;
}

char *resource_refusal(const char *name) {
        const char *fault = name_fault(name);
        g_autofree char *shown = name_shown(name ? name : "");

        if (name_is_of_job_lock(name))
                return g_strdup_printf("\"%s\" is a job's own lock, which only its runs take",
                                       shown);
        return fault ? g_strdup_printf("the resource name \"%s\" %s", shown, fault) : NULL;
}

/* What a resource that is not declared is like. */
static const DaemonResource *declared(const DaemonConfig *config, const char *name) {
        static const DaemonResource ordinary = {.naming = DAEMON_NAMING_CURATOR_RW};
        const DaemonResource *resource = daemon_config_resource(config, name);

        return resource ? resource : &ordinary;
}

void resource_request(const DaemonConfig *config, const char *name, LockMode mode, unsigned slots,
                      const DaemonNaming *naming, LockRequest *ret_request) {
        const DaemonResource *resource = declared(config, name);

        *ret_request = (LockRequest){
            .resource = name,
            .mode = mode,
            .slots = slots ? slots : resource->slots,
            .naming = lock_naming(naming ? *naming : resource->naming),
            .path = resource->path,
        };
}

void resource_request_of_job(const DaemonConfig *config, const JobResource *resource,
                             LockRequest *ret_request) {
        resource_request(config, resource->name, lock_mode(resource->mode), resource->slots, NULL,
                         ret_request);
}

char *resource_directory(const DaemonConfig *config, const char *name) {
        g_autofree char *parent = path_locks(config->root);
        const char *path = declared(config, name)->path;

        return path ? g_strdup(path) : g_strconcat(parent, "/", name, NULL);
}

/* Return: newly allocated, "FILE:LINE:COLUMN" of what is declared. */
static char *place_of(const DaemonResource *resource) {
        return g_strdup_printf("%s:%u:%u", resource->mark.file, resource->mark.line,
                               resource->mark.column);
}

/* What is asked for against what is declared. */
static char *contradiction(const DaemonResource *resource, LockMode mode, unsigned slots,
                           const DaemonNaming *naming) {
        g_autofree char *place = place_of(resource);

        if (naming && *naming != resource->naming)
                return g_strdup_printf("the naming of resource \"%s\" is %s here, but %s in %s",
                                       resource->name, daemon_naming_to_string(*naming),
                                       daemon_naming_to_string(resource->naming), place);
        if (slots && resource->slots && slots != resource->slots)
                return g_strdup_printf("resource \"%s\" has slots: %u here, but slots: %u in %s",
                                       resource->name, slots, resource->slots, place);
        if (mode == LOCK_SHARED && resource->slots > 1)
                return g_strdup_printf("resource \"%s\" cannot be held shared: it has slots: %u in "
                                       "%s",
                                       resource->name, resource->slots, place);
        return NULL;
}

char *resource_contradiction(const DaemonConfig *config, const char *name, LockMode mode,
                             unsigned slots, const DaemonNaming *naming) {
        const DaemonResource *resource = daemon_config_resource(config, name);
        DaemonNaming effective = naming ? *naming : declared(config, name)->naming;
        g_autofree char *place = resource ? place_of(resource) : NULL;
        const char *in = place ? " in " : "", *where = place ? place : "",
                   *word = daemon_naming_to_string(effective);
        char *fault = resource ? contradiction(resource, mode, slots, naming) : NULL;

        if (fault)
                return fault;
        if (mode == LOCK_SHARED &&
            (effective == DAEMON_NAMING_CURATOR_MUTEX || effective == DAEMON_NAMING_SINGLE_NODE))
                return g_strdup_printf("resource \"%s\" cannot be held shared: its naming is "
                                       "%s%s%s, which knows only exclusive holders",
                                       name, word, in, where);
        if (slots > 1 && effective != DAEMON_NAMING_CURATOR_RW)
                return g_strdup_printf("resource \"%s\" cannot have slots: %u: its naming is "
                                       "%s%s%s, which knows no slots",
                                       name, slots, word, in, where);
        if (slots > 1 && mode == LOCK_SHARED)
                return g_strdup_printf("resource \"%s\" has slots: it is not held shared", name);
        return NULL;
}

void resource_check_job(const DaemonConfig *config, const JobSpec *spec, Diagnostics *diagnostics) {
        for (guint i = 0; i < spec->resources->len; i++) {
                const JobResource *resource = spec->resources->pdata[i];
                g_autofree char *fault = resource_contradiction(
                    config, resource->name, lock_mode(resource->mode), resource->slots, NULL);

                if (fault)
                        diagnostics_add(diagnostics, &resource->mark, "%s", fault);
        }
}
