/* `jobkeeper resolve JOB RUN succeeded|failed`: a person says how an unknown run ended. */
#pragma once

int cmd_resolve(int argc, char **argv);
