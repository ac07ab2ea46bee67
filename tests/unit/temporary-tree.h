/* A temporary directory with files in it, for tests of what is read from disk. */
#pragma once

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Return: newly allocated, the path of a new directory; tree_remove() it. */
char *tree_make(void);
/* Return: newly allocated, where a name below the root is; its directories are made. */
char *tree_path(const char *root, const char *name);
void tree_write(const char *root, const char *name, const char *text);
void tree_link(const char *root, const char *name, const char *target);
void tree_delete(const char *root, const char *name);
void tree_remove(const char *path);
/* Replaces every occurrence of the root's path by "ROOT". Return: newly allocated. */
char *tree_strip(const char *root, const char *text);
