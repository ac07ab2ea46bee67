/* See place-view.h. */
#include "place-view.h"

Sight *sight_new(Place *place, const char *name, int64_t sequence) {
        Sight *sight = g_new0(Sight, 1);

        sight->place = place;
        sight->name = g_strdup(name);
        sight->sequence = sequence;
        return sight;
}

Sight *sight_free(Sight *sight) {
        if (!sight)
                return NULL;
        sight->call = zk_call_free(sight->call);
        sight->watch = zk_watch_free(sight->watch);
        g_free(sight->name);
        g_free(sight);
        return NULL;
}

static void sight_destroy(gpointer sight) {
        sight_free(sight);
}

void place_view_init(PlaceView *view) {
        view->ahead = g_ptr_array_new_with_free_func(sight_destroy);
        view->gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void place_view_done(PlaceView *view) {
        g_clear_pointer(&view->ahead, g_ptr_array_unref);
        g_clear_pointer(&view->gone, g_hash_table_unref);
}

void place_view_begin(PlaceView *view) {
        g_ptr_array_set_size(view->ahead, 0);
}

void place_view_add(PlaceView *view, Sight *sight) {
        g_ptr_array_add(view->ahead, sight);
}

void place_view_give_up(PlaceView *view) {
        view->before = place_view_told(view);
        g_ptr_array_set_size(view->ahead, 0);
}

void place_view_bury(PlaceView *view, const char *name) {
        g_hash_table_add(view->gone, g_strdup(name));
}

bool place_view_is_buried(const PlaceView *view, const char *name) {
        return g_hash_table_contains(view->gone, name);
}

static void place_view_strike_at(PlaceView *view, guint index) {
        place_view_bury(view, ((Sight *)view->ahead->pdata[index])->name);
        g_ptr_array_remove_index(view->ahead, index);
}

void place_view_strike(PlaceView *view, const Sight *sight) {
        guint index;

        if (g_ptr_array_find(view->ahead, sight, &index))
                place_view_strike_at(view, index);
}

void place_view_strike_up_to(PlaceView *view, int64_t sequence) {
        for (guint i = view->ahead->len; i-- > 0;)
                if (((Sight *)view->ahead->pdata[i])->sequence <= sequence)
                        place_view_strike_at(view, i);
}

size_t place_view_length(const PlaceView *view) {
        return view->ahead->len;
}

size_t place_view_told(const PlaceView *view) {
        return view->ahead->len > 0 ? view->ahead->len : view->before;
}

Sight *place_view_nearest(const PlaceView *view, size_t index) {
        return index < view->ahead->len ? view->ahead->pdata[view->ahead->len - 1 - index] : NULL;
}

bool place_view_awaits_any(const PlaceView *view) {
        for (guint i = 0; i < view->ahead->len; i++) {
                SightState state = ((Sight *)view->ahead->pdata[i])->state;

                if (state == SIGHT_ASKED || state == SIGHT_STALLED)
                        return true;
        }
        return false;
}

void place_view_forget_stalled(PlaceView *view) {
        for (guint i = 0; i < view->ahead->len; i++) {
                Sight *sight = view->ahead->pdata[i];

                if (sight->state == SIGHT_STALLED)
                        sight->state = SIGHT_UNASKED;
        }
}

bool place_view_watches(const PlaceView *view, size_t depth) {
        const Sight *sight;

        for (size_t i = 0; i < depth && (sight = place_view_nearest(view, i)); i++)
                if (sight->state != SIGHT_WATCHED)
                        return false;
        return true;
}
