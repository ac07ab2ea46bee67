/* What stands in /ensemble: which ensemble this is, and whether its data may be trusted. Pure: one
 * line of JSON.
 *
 *     {"id": "HEX", "doubt": {"by": "n1", "why": "…", "since": T, "for": "HEX"},
 *      "accepted": [{"word": "HEX", "by": "alice on n1", "why": "…", "since": T, "for": "HEX"}]}
 *
 * The id is drawn once, when the tree is made: a tree that was wiped and made anew has another. A
 * node that finds less than it knows puts its doubt there, and while there is one nobody claims
 * anything, also who knows nothing to compare. A person who accepts what is there takes the doubt
 * away and leaves a word that nobody has seen before: whoever had known something else goes by it.
 * "for" is what was known in its place: the id that the doubter knew. So a node that was sent here
 * by mistake, from an ensemble of which nobody spoke, does not take an acceptance of long ago for
 * its own.
 *
 * It is worked with as it stands, so that what another version put there is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "statement.h"

/* So many acceptances are kept, the newest. */
#define ENSEMBLE_ACCEPTED_MAX 16

/* Return: a new reference. */
json_t *ensemble_record_new(const char *id);
/* Return: a new reference; NULL for what is none of ours. */
json_t *ensemble_record_parse(const char *data, size_t size);
/* Return: newly allocated (g_free). What would be longer than can be read is without what others
 * have put there. */
char *ensemble_record_encode(const json_t *record);

/* Return: borrowed. */
const char *ensemble_record_id(const json_t *record);
/* Return: whether somebody doubts it; *ret_doubt is filled in then, unless NULL. */
bool ensemble_record_is_doubted(const json_t *record, Statement *ret_doubt);
/* `known`: the id that the doubter knows; NULL: none. */
void ensemble_record_doubt(json_t *record, const Statement *doubt, const char *known);
/* The doubt is over; `word` is one that nobody has used before. `known`: the id in whose place it
 * is accepted where the doubt does not say that; NULL: none. */
void ensemble_record_accept(json_t *record, const char *word, const Statement *accepted,
                            const char *known);
/* Return: whether somebody who knows the ensemble of this id, and those words of acceptances, is to
 * go by what stands here: it was accepted in that one's place since. One that does not say for whom
 * it is counts where `here`, for those who were always here. */
bool ensemble_record_is_accepted_for(const json_t *record, const char *known, const json_t *words,
                                     bool here);
/* Return: the word of the newest acceptance, borrowed; NULL where there was none. *ret_accepted is
 * filled in where there is one, unless NULL. */
const char *ensemble_record_accepted(const json_t *record, Statement *ret_accepted);
/* Adds the words of all acceptances to an array of strings that has each once, and drops the oldest
 * above `max`. */
void ensemble_record_add_words(const json_t *record, json_t *words, size_t max);
/* Return: whether the array has it. */
bool ensemble_words_have(const json_t *words, const char *word);
