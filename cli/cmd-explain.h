/* jobkeeper explain: why a tick of a job is run, was run, or is not. */
#pragma once

int cmd_explain(int argc, char **argv);
