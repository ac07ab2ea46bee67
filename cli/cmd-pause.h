/* `jobkeeper pause` and `jobkeeper resume`. */
#pragma once

int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
