/* `jobkeeper rerun`. */
#pragma once

int cmd_rerun(int argc, char **argv);
