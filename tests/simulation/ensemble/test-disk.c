/* A server's disk. */
#include <criterion/criterion.h>

#include "disk.h"

Test(disk, what_comes_during_a_write_goes_with_the_next) {
        Disk disk = {0};

        cr_expect_eq(disk_write(&disk, 100, 10), 110);
        for (usec_t now = 100; now < 110; now++)
                cr_expect_eq(disk_write(&disk, now, 10), 120);
        cr_expect_eq(disk_write(&disk, 110, 10), 130, "the next has begun");
        cr_expect_eq(disk_write(&disk, 129, 10), 140);
        cr_expect_eq(disk_write(&disk, 500, 10), 510, "it has had nothing to do for long");
        cr_expect_eq(disk_write(&disk, 510, 10), 520);
}
