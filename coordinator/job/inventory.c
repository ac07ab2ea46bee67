/* See inventory.h. */
#include "inventory.h"

#include <glib.h>

#include "log.h"
#include "message-id.h"

struct Inventory {
        InventoryParts parts; /* weak */
        const InventoryEvents *events;
        void *userdata;
        GHashTable *names; /* a set */
};

Inventory *inventory_new(const InventoryParts *parts, const InventoryEvents *events,
                         void *userdata) {
        Inventory *inventory = g_new0(Inventory, 1);

        inventory->parts = *parts;
        inventory->events = events;
        inventory->userdata = userdata;
        inventory->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return inventory;
}

Inventory *inventory_free(Inventory *inventory) {
        if (!inventory)
                return NULL;
        g_hash_table_unref(inventory->names);
        g_free(inventory);
        return NULL;
}

bool inventory_has(const Inventory *inventory, const char *job) {
        return g_hash_table_contains(inventory->names, job);
}

GPtrArray *inventory_names(const Inventory *inventory) {
        GPtrArray *names = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, inventory->names);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                g_ptr_array_add(names, name);
        return names;
}

void inventory_publish(Inventory *inventory) {
        registration_publish(inventory->parts.registration);
}

/* ---- what is gone ---- */

/* Return: whether it goes on under a name that is new here: the ledger is told by whoever reads
 * that one's (renaming.h). It is forgotten once we agree with that. */
static bool inventory_is_renamed(const Inventory *inventory, const char *job) {
        const JobSpec *next = jobset_find_was(inventory->parts.jobset, job);

        return next && !digest_memory_get(inventory->parts.digests, next->name);
}

/* A job that was in our files is not any more: the ledger says so, so that, added again, it begins
 * at its re-adding. What a broken file does not say is not removed. */
static void inventory_withdraw(Inventory *inventory, const char *job) {
        const char *const *errors = jobset_errors(inventory->parts.jobset);

        if ((errors && *errors) || !node_is_ready(inventory->parts.node))
                return;
        /* Whoever has it need not wait for us at each tick. */
        registration_set_absent(inventory->parts.registration, job, true);
        if (!inventory_is_renamed(inventory, job))
                withdrawals_add(inventory->parts.withdrawals, job);
}

void inventory_withdraw_removed(Inventory *inventory) {
        g_autoptr(GPtrArray) remembered = digest_memory_jobs(inventory->parts.digests);

        for (guint i = 0; i < remembered->len; i++)
                if (!inventory_has(inventory, remembered->pdata[i]))
                        inventory_withdraw(inventory, remembered->pdata[i]);
        inventory_publish(inventory);
}

/* ---- what this machine can run ---- */

void inventory_judge(const char *const *jobs, void *userdata) {
        Inventory *inventory = userdata;

        for (const char *const *job = jobs; *job; job++) {
                const LogAbout about = {.message_id = MESSAGE_JOB_UNFIT, .job = *job};
                const char *why = fitness_why(inventory->parts.fitness, *job);

                if (why)
                        log_warning(&about, "this node cannot run it: %s", why);
                if (!inventory_has(inventory, *job))
                        continue;
                registration_set_unfit(inventory->parts.registration, *job, why);
                inventory->events->judged(*job, inventory->userdata);
        }
        inventory_publish(inventory);
}

/* The others are told when it has been looked at; until then the last verdict holds. */
static void inventory_look(Inventory *inventory, const JobSpec *spec) {
        const DaemonConfig *config = inventory->parts.node->config;
        Fitness *fitness = inventory->parts.fitness;

        if (job_spec_matches_node(spec, config->node_name, config->labels))
                fitness_ask(fitness, spec, config);
        else
                fitness_forget(fitness, spec->name);
        registration_set_unfit(inventory->parts.registration, spec->name,
                               fitness_why(fitness, spec->name));
}

/* ---- what comes and goes ---- */

void inventory_add(Inventory *inventory, const JobSpec *spec) {
        inventory_look(inventory, spec); /* until it has been looked at, it cannot be run */
        withdrawals_remove(inventory->parts.withdrawals, spec->name);
        registration_set_absent(inventory->parts.registration, spec->name, false);
        g_hash_table_add(inventory->names, g_strdup(spec->name));
        inventory->events->added(spec, inventory->userdata);
}

void inventory_replace(Inventory *inventory, const JobSpec *spec) {
        inventory->events->replaced(spec, inventory->userdata);
        inventory_look(inventory, spec);
}

void inventory_remove(Inventory *inventory, const char *job) {
        g_autofree char *name = g_strdup(job);

        fitness_forget(inventory->parts.fitness, name);
        registration_set_unfit(inventory->parts.registration, name, NULL);
        ranks_forget(inventory->parts.ranks, name);
        inventory->events->removed(name, inventory->userdata);
        g_hash_table_remove(inventory->names, name);
        if (digest_memory_get(inventory->parts.digests, name))
                inventory_withdraw(inventory, name);
}
