/* `jobkeeper verify [FILE…]`: judges configuration without a daemon. Return: the exit status. */
#pragma once

int cmd_verify(int argc, char **argv);
