/* See listing.h. */
#include "listing.h"

#include <glib.h>

#include "name.h"
#include "timer.h"

struct Listing {
        const Node *node; /* weak */
        ListingOptions options;
        const ListingEvents *events;
        void *userdata;
        GHashTable *names; /* a set: what the last list had; NULL: there was none */
        usec_t read_at;    /* CLOCK_MONOTONIC: asked for */
        ZkCall *call;
        ZkWatch *watch;
        sd_event_source *timer; /* of a change that came too early */
};

Listing *listing_new(const Node *node, const ListingOptions *options, const ListingEvents *events,
                     void *userdata) {
        Listing *listing = g_new0(Listing, 1);

        listing->node = node;
        listing->options = *options;
        listing->events = events;
        listing->userdata = userdata;
        return listing;
}

static void listing_cancel(Listing *listing) {
        listing->call = zk_call_free(listing->call);
        listing->watch = zk_watch_free(listing->watch);
        listing->timer = sd_event_source_disable_unref(listing->timer);
}

void listing_reset(Listing *listing) {
        listing_cancel(listing);
        g_clear_pointer(&listing->names, g_hash_table_unref);
}

Listing *listing_free(Listing *listing) {
        if (!listing)
                return NULL;
        listing_reset(listing);
        g_free(listing->options.path);
        g_free(listing);
        return NULL;
}

bool listing_is_known(const Listing *listing) {
        return listing->names != NULL;
}

static void listing_tell_gone(const Listing *listing, GHashTable *before) {
        GHashTableIter iterator;
        gpointer name;

        g_hash_table_iter_init(&iterator, before);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                if (!g_hash_table_contains(listing->names, name))
                        listing->events->gone(name, listing->userdata);
}

static void listing_take(Listing *listing, const ZkReply *reply) {
        g_autoptr(GHashTable) before = listing->names;

        listing->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (size_t i = 0; i < reply->n_children; i++) {
                if (!name_is_valid(reply->children[i]) ||
                    g_hash_table_size(listing->names) >= listing->options.max)
                        continue;
                g_hash_table_add(listing->names, g_strdup(reply->children[i]));
                listing->events->present(reply->children[i], listing->userdata);
        }
        if (before)
                listing_tell_gone(listing, before);
        if (listing->events->complete)
                listing->events->complete(listing->userdata);
}

static void listing_on_reply(const ZkReply *reply, void *userdata) {
        Listing *listing = userdata;

        listing->call = NULL;
        if (reply->code == ZK_OK) {
                listing_take(listing, reply);
                return;
        }
        listing->watch = zk_watch_free(listing->watch); /* it was not set */
        listing->events->failed(reply->code, listing->userdata);
}

static void listing_on_timer(void *userdata) {
        Listing *listing = userdata;

        if (session_zk(listing->node->session))
                listing_read(listing);
}

static usec_t listing_period(const Listing *listing) {
        guint names = listing->names ? g_hash_table_size(listing->names) : 0;

        return listing->options.period + names * listing->options.each;
}

static void listing_on_event(ZkWatchEvent event, const char *path, void *userdata) {
        Listing *listing = userdata;
        usec_t at = usec_add(listing->read_at, listing_period(listing));

        (void)event;
        (void)path;
        listing->watch = zk_watch_free(listing->watch);
        if (listing->timer || (clock_monotonic() < at &&
                               timer_at(listing->node->event, &listing->timer, CLOCK_MONOTONIC, at,
                                        listing_on_timer, listing) >= 0))
                return;
        listing_on_timer(listing);
}

void listing_read(Listing *listing) {
        listing_cancel(listing);
        listing->read_at = clock_monotonic();
        (void)zk_get_children(session_zk(listing->node->session), listing->options.path,
                              listing_on_reply, listing, &listing->call, listing_on_event, listing,
                              &listing->watch);
}

void listing_resume(Listing *listing) {
        if (!listing->call && !listing->watch && !listing->timer)
                listing_read(listing);
}
