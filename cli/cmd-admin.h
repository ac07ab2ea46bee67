/* `jobkeeper admin accept-ensemble`: what a person has to decide, since no daemon may. Return: the
 * exit status. */
#pragma once

int cmd_admin(int argc, char **argv);
