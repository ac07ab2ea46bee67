/* `jobkeeper status`: this node, its session, the members and the jobs. Return: the exit status. */
#pragma once

int cmd_status(int argc, char **argv);
