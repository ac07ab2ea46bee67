/* `jobkeeper stop`. */
#pragma once

int cmd_stop(int argc, char **argv);
