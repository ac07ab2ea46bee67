/* What is drawn from chance.h: numbers, and names that nobody else has. */
#pragma once

#include <stdint.h>

#include "clock.h"

uint32_t draw_bits(void);
/* Return: 0 .. limit - 1, evenly; 0 for a limit of 0. */
uint64_t draw_below(uint64_t limit);
/* Return: between half of it and all of it: who failed together does not try again together. */
usec_t draw_delay(usec_t delay);

/* 128 bits as 32 hex digits. */
#define DRAW_ID_MAX 33
void draw_id(char ret_id[DRAW_ID_MAX]);
/* Return: newly allocated, a UUID of version 4 (RFC 9562), in lower case. */
char *draw_uuid(void);
