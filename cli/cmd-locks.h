/* `jobkeeper locks [RESOURCE]`: who holds, and who waits. Return: the exit status. */
#pragma once

int cmd_locks(int argc, char **argv);
