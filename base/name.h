/* The rule for names of jobs, nodes and resources: they become znode, unit and file names, so they
 * are [a-z0-9._-], begin with a letter or a digit, and have at most NAME_LENGTH_MAX bytes. */
#pragma once

#include <stdbool.h>

#define NAME_LENGTH_MAX 100

/* Return: whether `name` is a valid name. NULL is not. */
bool name_is_valid(const char *name);

/* Return: NULL when `name` is valid, else a constant sentence fragment that says what is wrong with
 * it. */
const char *name_fault(const char *name);

/* A job of mode each-node is one of its own on each node: "JOB@NODE", as systemd's instances are
 * called. No name in a file has an '@'. */
#define JOB_NAME_LENGTH_MAX (2 * NAME_LENGTH_MAX + 1)
/* Return: whether it can be a job's name: a valid name, or that of an instance. NULL is not. */
bool job_name_is_valid(const char *name);
/* Return: where the node's name begins in the name of an instance, borrowed from it; NULL: it is
 * not one, or not a valid one. */
const char *job_name_node(const char *name);
/* Return: newly allocated (g_free), the name of the job in files: of an instance what stands before
 * the node's. */
char *job_name_base(const char *name);
/* Return: newly allocated (g_free), the name of the job's instance on that node. */
char *job_name_of_instance(const char *job, const char *node);

/* A job's own lock is the resource "job:NAME"; only its runs take it. */
#define NAME_OF_JOB_LOCK_PREFIX "job:"
/* Return: whether `name` is meant as such a one (NAME may be wrong). NULL is not. */
bool name_is_of_job_lock(const char *name);

/* What was given as a name, as a message repeats it: whoever asks may send millions of bytes.
 * Return: newly allocated (g_free), its beginning in valid UTF-8, with "…" where more follows. */
char *name_shown(const char *text);
