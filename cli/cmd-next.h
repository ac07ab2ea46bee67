/* `jobkeeper next JOB|EXPRESSION`: the coming ticks. Return: the exit status. */
#pragma once

int cmd_next(int argc, char **argv);
