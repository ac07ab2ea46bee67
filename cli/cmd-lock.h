/* `jobkeeper lock RESOURCE -- COMMAND…`: holds a lock around a command. Return: the exit status. */
#pragma once

int cmd_lock(int argc, char **argv);
