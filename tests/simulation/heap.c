/* See heap.h. */
#include "heap.h"

#include <glib.h>

typedef struct HeapItem {
        void *item;
        unsigned *index;
} HeapItem;

struct Heap {
        HeapCompare compare;
        GArray *items; /* of HeapItem */
};

Heap *heap_new(HeapCompare compare) {
        Heap *heap = g_new0(Heap, 1);

        heap->compare = compare;
        heap->items = g_array_new(FALSE, FALSE, sizeof(HeapItem));
        return heap;
}

Heap *heap_free(Heap *heap) {
        if (!heap)
                return NULL;
        g_array_unref(heap->items);
        g_free(heap);
        return NULL;
}

static HeapItem *heap_at(const Heap *heap, unsigned k) {
        return &g_array_index(heap->items, HeapItem, k);
}

static int heap_order(const Heap *heap, unsigned one, unsigned other) {
        return heap->compare(heap_at(heap, one)->item, heap_at(heap, other)->item);
}

static void heap_swap(Heap *heap, unsigned j, unsigned k) {
        HeapItem item = *heap_at(heap, j);

        *heap_at(heap, j) = *heap_at(heap, k);
        *heap_at(heap, k) = item;
        *heap_at(heap, j)->index = j;
        *heap_at(heap, k)->index = k;
}

/* Return: where it stands now. */
static unsigned heap_up(Heap *heap, unsigned k) {
        while (k > 0) {
                unsigned parent = (k - 1) / 2;

                if (heap_order(heap, parent, k) <= 0)
                        break;
                heap_swap(heap, parent, k);
                k = parent;
        }
        return k;
}

static void heap_down(Heap *heap, unsigned k) {
        for (;;) {
                unsigned left = 2 * k + 1, right = 2 * k + 2, least = k;

                if (left < heap->items->len && heap_order(heap, left, least) < 0)
                        least = left;
                if (right < heap->items->len && heap_order(heap, right, least) < 0)
                        least = right;
                if (least == k)
                        return;
                heap_swap(heap, k, least);
                k = least;
        }
}

void heap_put(Heap *heap, void *item, unsigned *index) {
        const HeapItem new = {item, index};

        *index = heap->items->len;
        g_array_append_val(heap->items, new);
        (void)heap_up(heap, *index);
}

void heap_remove(Heap *heap, void *item, unsigned *index) {
        unsigned k = *index, last = heap->items->len - 1;

        if (k == HEAP_NONE)
                return;
        g_assert_true(heap_at(heap, k)->item == item);
        *index = HEAP_NONE;
        if (k != last) {
                *heap_at(heap, k) = *heap_at(heap, last);
                *heap_at(heap, k)->index = k;
        }
        g_array_set_size(heap->items, last);
        if (k != last)
                heap_down(heap, heap_up(heap, k));
}

void heap_reshuffle(Heap *heap, void *item, const unsigned *index) {
        if (*index == HEAP_NONE)
                return;
        g_assert_true(heap_at(heap, *index)->item == item);
        heap_down(heap, heap_up(heap, *index));
}

void *heap_peek(const Heap *heap) {
        return heap->items->len > 0 ? heap_at(heap, 0)->item : NULL;
}
