/* `jobkeeper run JOB`: asks the cluster for a run now. Return: the exit status. */
#pragma once

int cmd_run(int argc, char **argv);
