/* A watched listing: the names in a directory of ZooKeeper, kept current.
 *
 * The list is read with a watch on it, and read again when the watch tells of a change; what came
 * and what went follows from two lists in a row. Where very many change at a time (a fleet that is
 * restarted), `period` bounds how often it is read, and a long list is read less often. An answer
 * that was lost is the owner's to ask for again (listing_resume()), with whatever else it lost on
 * that occasion.
 */
#pragma once

#include "node.h"

typedef struct Listing Listing;

typedef struct ListingEvents {
        /* There is such a child; in every list, also when it was in the last one. */
        void (*present)(const char *name, void *userdata);
        /* It was in the last list, and is not in this one. */
        void (*gone)(const char *name, void *userdata);
        /* Everything of a list was told. NULL: nobody waits for that. */
        void (*complete)(void *userdata);
        /* It could not be read. */
        void (*failed)(ZkCode code, void *userdata);
} ListingEvents;

typedef struct ListingOptions {
        char *path;    /* of the directory; taken over */
        usec_t period; /* between two lists, at least */
        unsigned max;  /* names; what goes beyond that is not looked at */
        usec_t each; /* so much more for each name that the last list had: every node asks for it */
} ListingOptions;

/* `node` and `events` live longer than the listing. Names that are none of ours (name.h) are not
 * told. The events may neither free nor reset the listing. */
Listing *listing_new(const Node *node, const ListingOptions *options, const ListingEvents *events,
                     void *userdata);
Listing *listing_free(Listing *listing);
DEFINE_CLEANUP(Listing, listing_free);

/* Reads the list at once, whatever is on its way; there is a session. */
void listing_read(Listing *listing);
/* Reads it unless it is being read or watched; there is a session. */
void listing_resume(Listing *listing);
/* Forgets every name, and watches no more. */
void listing_reset(Listing *listing);
/* Return: whether a list came since the last reset. */
bool listing_is_known(const Listing *listing);
