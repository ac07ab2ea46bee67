/* See reload.h. */
#include "reload.h"

#include <string.h>

#include "daemon-file.h"
#include "job-loader.h"
#include "log.h"
#include "message-id.h"
#include "sweep.h"

/* How many jobs that went a line names. */
#define RELOAD_GONE_NAMED_MAX 10

struct Reload {
        const Node *node; /* weak, as the next two */
        JobSet *jobset;
        Inventory *inventory;
        ReloadFunc done;
        void *userdata;
        char *config_path;
        char **directories;
        JobLoader *loader;
        Sweep *sweep;    /* of jobs whose definition may be another now, gone or new: names, the
                            inventory's or the job set's */
        GPtrArray *gone; /* names of jobs that the files had, for people */
};

Reload *reload_free(Reload *reload) {
        if (!reload)
                return NULL;
        job_loader_free(reload->loader);
        sweep_free(reload->sweep);
        g_clear_pointer(&reload->gone, g_ptr_array_unref);
        g_strfreev(reload->directories);
        g_free(reload->config_path);
        g_free(reload);
        return NULL;
}

int reload_read_config(const char *path, DaemonConfig **ret_config) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        int r = daemon_config_load(path, diagnostics, ret_config);
        g_auto(GStrv) lines = diagnostics_to_strv(diagnostics);

        for (char **line = lines; *line; line++)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s", *line);
        if (r < 0 && !*lines)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s: %s", path,
                          g_strerror(-r));
        return r;
}

/* What is in force stays, but a restart would fail: said while there is somebody who runs. */
static void reload_check_config(const Reload *reload) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;

        if (reload_read_config(reload->config_path, &config) < 0)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR},
                          "%s has errors: what is in force stays, but jobkeeperd could not be "
                          "restarted now, and its runs would be stopped",
                          reload->config_path);
}

static void reload_log_left_out(const JobSet *jobset) {
        for (const char *const *job = jobset_left_out(jobset); *job; job++) {
                const LogAbout about = {.message_id = MESSAGE_CONFIG_ERROR, .job = *job};

                log_error(&about,
                          "%s is not loaded on this node until that is corrected: nothing of it "
                          "was in force before",
                          *job);
        }
}

static void reload_log_faults(const Reload *reload) {
        for (const char *const *error = jobset_errors(reload->jobset); error && *error; error++)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s", *error);
        for (const char *const *file = jobset_unloaded(reload->jobset); *file; file++)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR},
                          "%s has had errors since jobkeeperd was started: none of its jobs is "
                          "loaded on this node until they are corrected",
                          *file);
        reload_log_left_out(reload->jobset);
        for (const char *const *warning = jobset_warnings(reload->jobset); *warning; warning++)
                log_warning(&(LogAbout){.message_id = MESSAGE_CONFIG_WARNING}, "%s", *warning);
}

/* ---- reading the files again ---- */

static gint reload_compare_names(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void reload_tell_gone(Reload *reload) {
        g_autoptr(GString) text = g_string_new(NULL);
        guint named = MIN(reload->gone->len, RELOAD_GONE_NAMED_MAX);

        g_ptr_array_sort(reload->gone, reload_compare_names);
        for (guint i = 0; i < named; i++)
                g_string_append_printf(text, "%s%s", i > 0 ? ", " : "",
                                       (const char *)reload->gone->pdata[i]);
        if (reload->gone->len > named)
                g_string_append_printf(text, " and %u more", reload->gone->len - named);
        if (named > 0)
                log_warning(&(LogAbout){.message_id = MESSAGE_RELOADED},
                            "no longer in this node's job files: %s", text->str);
        g_ptr_array_set_size(reload->gone, 0);
}

/* Every job is as the set says. */
static void reload_is_done(Reload *reload) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED};
        g_autofree char *summary = jobset_summary(reload->jobset);

        log_write(*jobset_errors(reload->jobset) ? LOG_WARNING : LOG_INFO, &about, "reloaded: %s",
                  summary);
        reload_tell_gone(reload);
        inventory_publish(reload->inventory);
        /* Also what left the files earlier, beside a broken one that could have had it. */
        inventory_withdraw_removed(reload->inventory);
        reload->done(reload->userdata);
        notify_say(reload->node->notify, "READY=1");
}

/* Until its turn a job is what it was, and a new one is none. */
static void reload_on_turn(void *item, unsigned what, void *userdata) {
        Reload *reload = userdata;
        const JobSpec *spec = jobset_find(reload->jobset, item);

        if (node_is_ending(reload->node))
                return;
        if (spec && inventory_has(reload->inventory, item))
                inventory_replace(reload->inventory, spec);
        else if (spec)
                inventory_add(reload->inventory, spec);
        else {
                g_ptr_array_add(reload->gone, g_strdup(item));
                inventory_remove(reload->inventory, item);
        }
        if (sweep_length(reload->sweep) == 0)
                reload_is_done(reload);
}

static void reload_take_all(Reload *reload) {
        g_autoptr(GPtrArray) names = inventory_names(reload->inventory);

        for (guint i = 0; i < names->len; i++)
                sweep_add(reload->sweep, names->pdata[i], 0);
        for (guint i = 0; i < jobset_size(reload->jobset); i++) {
                const JobSpec *spec = jobset_get(reload->jobset, i);

                if (!inventory_has(reload->inventory, spec->name))
                        sweep_add(reload->sweep, spec->name, 0);
        }
        if (sweep_length(reload->sweep) == 0)
                reload_is_done(reload);
}

static void reload_on_files(int r, GPtrArray *files, Diagnostics *diagnostics, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED};
        Reload *reload = userdata;

        if (node_is_ending(reload->node))
                return;
        if (r >= 0) /* names of the set that is going; whatever waits comes in again */
                sweep_clear(reload->sweep);
        jobset_take(reload->jobset, r, files, diagnostics, reload->node->config);
        reload_log_faults(reload);
        if (r < 0) {
                log_error(&about,
                          "the job files could not be read (%s): the definitions in force stay",
                          g_strerror(-r));
                notify_say(reload->node->notify, "READY=1");
                return;
        }
        reload_take_all(reload);
}

void reload_again(Reload *reload) {
        int r;

        if (node_is_ending(reload->node))
                return;
        notify_say(reload->node->notify, "RELOADING=1\nMONOTONIC_USEC=%" G_GUINT64_FORMAT,
                   clock_monotonic());
        reload_check_config(reload);
        r = job_loader_start(reload->loader, (const char *const *)reload->directories);
        if (r < 0)
                reload_on_files(r, NULL, NULL, reload);
}

bool reload_is_busy(const Reload *reload) {
        return job_loader_is_busy(reload->loader) || sweep_length(reload->sweep) > 0;
}

unsigned reload_longest_turn(const Reload *reload) {
        return sweep_longest_turn(reload->sweep);
}

/* ---- the beginning ---- */

int reload_begin(Reload *reload) {
        int r = jobset_load(reload->jobset, (const char *const *)reload->directories,
                            reload->node->config);

        reload_log_faults(reload);
        if (r < 0) {
                log_error(NULL, "the job files could not be read: %s", g_strerror(-r));
                return r;
        }
        for (guint i = 0; i < jobset_size(reload->jobset); i++)
                inventory_add(reload->inventory, jobset_get(reload->jobset, i));
        return 0;
}

int reload_new(const ReloadParts *parts, ReloadFunc done, void *userdata, Reload **ret_reload) {
        _cleanup_(reload_freep) Reload *reload = g_new0(Reload, 1);
        sd_event *event = parts->node->event;
        int r;

        reload->node = parts->node;
        reload->jobset = parts->jobset;
        reload->inventory = parts->inventory;
        reload->done = done;
        reload->userdata = userdata;
        reload->config_path = g_strdup(parts->config_path);
        reload->directories = job_directories(parts->prefix);
        reload->gone = g_ptr_array_new_with_free_func(g_free);
        reload->sweep = sweep_new(event, reload_on_turn, reload);
        r = job_loader_new(event, reload_on_files, reload, &reload->loader);
        if (r < 0)
                return r;
        *ret_reload = g_steal_pointer(&reload);
        return 0;
}
