/* See bus-owner.h. */
#include "bus-owner.h"

#include <glib.h>

#define DBUS_SERVICE "org.freedesktop.DBus"
#define DBUS_PATH "/org/freedesktop/DBus"

struct BusOwner {
        char *name;
        char *unique; /* NULL: nobody's, or not known yet */
        BusOwnerFunc func;
        void *userdata;
        sd_bus_slot *changed, *asked;
};

/* Return: whether the bus itself sent it. */
static bool bus_itself_sent(sd_bus_message *message) {
        return g_strcmp0(sd_bus_message_get_sender(message), DBUS_SERVICE) == 0;
}

bool bus_owner_sent(const BusOwner *owner, sd_bus_message *message) {
        return owner->unique && g_strcmp0(sd_bus_message_get_sender(message), owner->unique) == 0;
}

static void owner_set(BusOwner *owner, const char *unique) {
        g_free(owner->unique);
        owner->unique = *unique ? g_strdup(unique) : NULL;
}

static int owner_on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name = NULL, *before = NULL, *now = NULL;
        BusOwner *owner = userdata;

        if (!bus_itself_sent(message) ||
            sd_bus_message_read(message, "sss", &name, &before, &now) < 0 ||
            !g_str_equal(name, owner->name))
                return 0;
        owner->asked = sd_bus_slot_unref(owner->asked); /* would say something older */
        owner_set(owner, now);
        if (owner->func)
                owner->func(owner, before, now, owner->userdata);
        return 0;
}

static int owner_on_asked(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusOwner *owner = userdata;
        const char *unique = NULL;

        owner->asked = sd_bus_slot_unref(owner->asked);
        if (!sd_bus_message_is_method_error(reply, NULL)) {
                if (sd_bus_message_read(reply, "s", &unique) >= 0)
                        owner_set(owner, unique);
        } else if (owner->func &&
                   sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                owner->func(owner, "", "", owner->userdata);
        return 0;
}

int bus_owner_new(sd_bus *bus, const char *name, BusOwnerFunc func, void *userdata,
                  BusOwner **ret_owner) {
        _cleanup_(bus_owner_freep) BusOwner *owner = g_new0(BusOwner, 1);
        g_autofree char *rule =
            g_strdup_printf("type='signal',sender='" DBUS_SERVICE "',path='" DBUS_PATH
                            "',interface='" DBUS_SERVICE "',member='NameOwnerChanged',arg0='%s'",
                            name);
        int r;

        owner->name = g_strdup(name);
        owner->func = func;
        owner->userdata = userdata;
        /* First the match, then the question: no change falls between them. */
        r = sd_bus_add_match_async(bus, &owner->changed, rule, owner_on_changed, NULL, owner);
        if (r >= 0)
                r = sd_bus_call_method_async(bus, &owner->asked, DBUS_SERVICE, DBUS_PATH,
                                             DBUS_SERVICE, "GetNameOwner", owner_on_asked, owner,
                                             "s", name);
        if (r < 0)
                return r;
        *ret_owner = g_steal_pointer(&owner);
        return 0;
}

BusOwner *bus_owner_free(BusOwner *owner) {
        if (!owner)
                return NULL;
        sd_bus_slot_unref(owner->changed);
        sd_bus_slot_unref(owner->asked);
        g_free(owner->unique);
        g_free(owner->name);
        g_free(owner);
        return NULL;
}
