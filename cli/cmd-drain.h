/* `jobkeeper drain [NODE]` and `jobkeeper undrain [NODE]`: nothing begins there any more, or does
 * again. Return: the exit status. */
#pragma once

int cmd_drain(int argc, char **argv);
int cmd_undrain(int argc, char **argv);
