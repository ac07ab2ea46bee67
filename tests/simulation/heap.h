/* A binary heap of pointers that know where they stand. What is equal stands in an order that
 * follows from what was done with the heap, and that is the order in which sd-event's own heap has
 * it: two event sources that are equal to sd-event are not dispatched in the order of their making,
 * and a simulation that did so would never see what the daemon sees. */
#pragma once

#include "cleanup.h"

typedef struct Heap Heap;

typedef int (*HeapCompare)(const void *one, const void *other);

/* Not in a heap. */
#define HEAP_NONE ((unsigned)-1)

Heap *heap_new(HeapCompare compare);
Heap *heap_free(Heap *heap);
DEFINE_CLEANUP(Heap, heap_free);

/* `index` stays where it is, and says where the item stands. */
void heap_put(Heap *heap, void *item, unsigned *index);
/* Nothing happens where it is not in. */
void heap_remove(Heap *heap, void *item, unsigned *index);
/* The item is less or more than it was. */
void heap_reshuffle(Heap *heap, void *item, const unsigned *index);
/* Return: the least; NULL where there is none. */
void *heap_peek(const Heap *heap);
