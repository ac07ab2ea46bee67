/* See disk.h. */
#include "disk.h"

usec_t disk_write(Disk *disk, usec_t now, usec_t takes) {
        if (now >= disk->done && disk->next > 0) /* it has begun meanwhile */
                *disk = (Disk){.done = disk->next};
        if (now >= disk->done) {
                disk->done = now + takes;
                return disk->done;
        }
        if (disk->next == 0)
                disk->next = disk->done + takes;
        return disk->next;
}
