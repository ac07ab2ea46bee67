/* `jobkeeper history JOB`: its runs, newest first. Return: the exit status. */
#pragma once

int cmd_history(int argc, char **argv);
