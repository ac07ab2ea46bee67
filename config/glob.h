/* Globs as people write them in `nodes`: what fnmatch() would silently take to the letter. Pure. */
#pragma once

/* Return: what is wrong with a glob, as a sentence fragment; NULL when nothing is. */
const char *glob_fault(const char *pattern);
