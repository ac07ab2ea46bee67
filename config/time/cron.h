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

/* Return: whether `text` is nothing but cron's times, with a newly allocated sentence fragment that
 * says how they are written here (g_free). */
bool cron_explain(const char *text, char **ret_message);
