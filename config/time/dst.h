/* What becomes of fixed local times when clocks change: of one that does not exist, because clocks
 * are put forward over it, and of one that exists twice, because they are put back. */
#pragma once

typedef enum DstGap {
        DST_GAP_SHIFT, /* it is taken right after the gap */
        DST_GAP_SKIP,  /* there is none that day */
} DstGap;

typedef enum DstOverlap { DST_OVERLAP_FIRST, DST_OVERLAP_LAST, DST_OVERLAP_BOTH } DstOverlap;

/* All zero: the default. */
typedef struct Dst {
        DstGap gap;
        DstOverlap overlap;
} Dst;
