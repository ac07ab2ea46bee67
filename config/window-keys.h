/* A `window:` in a file, a job's or the node's: the keys of one, and reading one or a list of them.
 */
#pragma once

#include "diagnostics.h"
#include "key.h"
#include "yaml.h"

extern const KeyTable window_table;
extern const Key window_entry; /* of a list */

/* Adds one. Return: 0; -ERANGE where it is about how long it lasts, other negative errno where it
 * is about when it begins, with a sentence fragment in *ret_message (g_free). */
typedef int (*WindowFunc)(const char *expression, usec_t length, void *userdata,
                          char **ret_message);

/* Adds all that stand in `node` by `func`. What the table of keys has refused is passed over, other
 * faults go to `diagnostics`. */
void window_keys_read(const YamlNode *node, WindowFunc func, void *userdata,
                      Diagnostics *diagnostics);
