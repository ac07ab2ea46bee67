/* Recognising what cron understands, so that whoever writes it is told how it is written here. */
#pragma once

#include <stdbool.h>

typedef struct CronTimes CronTimes;

/* What a crontab's first five fields, or its "@daily", are as calendar expressions. */
struct CronTimes {
        char *first;  /* NULL: no expression says it ("@reboot") */
        char *second; /* NULL, except where cron takes a day of the month or a weekday, whichever
                         comes */
};

/* Reads the times at the beginning of `text`. Return: the number of bytes that they and the white
 * space behind them take, 0 when they are none of cron's (*ret_times is untouched then). */
unsigned cron_times_parse(const char *text, CronTimes *ret_times);
void cron_times_clear(CronTimes *times);

/* The number of fields before the command. */
#define CRON_FIELDS 5

/* Return: NULL, or newly allocated (g_free) what cron would not take of one field, as a sentence
 * fragment: `has no minute "60" (0 to 59)`. The fields are counted from 0. */
char *cron_field_fault(unsigned field, const char *word);
