/* See window-keys.h. The forms of the values have been judged by the table of keys: what is of
 * another form is passed over. */
#include "window-keys.h"

#include <errno.h>

#include "duration.h"
#include "windows.h"

static const Key window_keys[] = {
    {
        .name = "from",
        .forms = KEY_TEXT,
        .documentation = "When the window begins: a calendar expression. Required.",
    },
    {
        .name = "for",
        .forms = KEY_DURATION,
        .min = USEC_PER_SEC,
        .max = WINDOW_LENGTH_MAX,
        .documentation = "How long it lasts, less than the time between two beginnings. Required.",
    },
    {NULL},
};
const KeyTable window_table = {"a window", window_keys};
const Key window_entry = {.name = "window", .forms = KEY_TABLE, .table = &window_table};

/* Return: whether both of its keys are there. */
static bool window_is_whole(const YamlNode *window, Diagnostics *diagnostics) {
        bool from = yaml_node_get(window, "from"), length = yaml_node_get(window, "for");

        if (!from)
                diagnostics_add(diagnostics, &window->mark,
                                "a window needs \"from\": when it begins, such as \"Sat 22:00\"");
        if (!length)
                diagnostics_add(diagnostics, &window->mark,
                                "a window needs \"for\": how long it lasts, such as 6h");
        return from && length;
}

static void window_read(const YamlNode *window, WindowFunc func, void *userdata,
                        Diagnostics *diagnostics) {
        const YamlNode *from, *length;
        g_autofree char *fault = NULL;
        usec_t lasts;
        int r;

        if (window->type != YAML_MAPPING || !window_is_whole(window, diagnostics))
                return;
        from = yaml_node_get(window, "from");
        length = yaml_node_get(window, "for");
        if (yaml_node_kind(from) != YAML_KIND_TEXT || length->type != YAML_SCALAR ||
            duration_parse(length->text, &lasts) < 0 || lasts < USEC_PER_SEC ||
            lasts > WINDOW_LENGTH_MAX)
                return;
        r = func(from->text, lasts, userdata, &fault);
        if (r == -ERANGE)
                diagnostics_add(diagnostics, &length->mark, "\"for\" %s", fault);
        else if (r < 0)
                diagnostics_add(diagnostics, &from->mark, "\"window\": %s", fault);
}

void window_keys_read(const YamlNode *node, WindowFunc func, void *userdata,
                      Diagnostics *diagnostics) {
        if (node->type == YAML_MAPPING)
                window_read(node, func, userdata, diagnostics);
        for (guint i = 0; node->type == YAML_LIST && i < node->items->len; i++)
                window_read(node->items->pdata[i], func, userdata, diagnostics);
}
