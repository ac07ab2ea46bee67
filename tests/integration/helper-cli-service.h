/* A system bus of its own for a test, and a service on it that stands in for the daemon: what it
 * answers goes by the names of jobs and resources. */
#pragma once

#include "helper-cli.h"

/* For a suite's .init and .fini: a bus; a bus with the service. */
void cli_bus_setup(void);
void cli_service_setup(void);
void cli_bus_teardown(void);

/* One by one: where the bus is to be, which need not be there; the bus; the service. */
void cli_bus_choose(void);
void cli_bus_start(void);
void cli_service_start(void);
/* Return: its socket, newly allocated. */
char *cli_bus_path(void);

#define EXPECT(status, out, err, ...)                                                              \
        cli_expect((status), (out), (err), (const char *const[]){__VA_ARGS__, NULL})

/* What it says of the status. */
#define SERVICE_STATUS                                                                             \
        "{\"node\":\"n1\",\"version\":\"0.1.0\",\"session\":{\"state\":\"connected\",\"server\":"  \
        "\"127.0.0.1:2181\"},"                                                                     \
        "\"clock\":{\"skew\":0.002,\"skewed\":false},\"members\":[{\"node\":\"n1\",\"self\":true}" \
        "],"                                                                                       \
        "\"jobs\":[{\"job\":\"orders-backup\",\"schedule\":\"daily\",\"next\":4102444800,"         \
        "\"state\":\"idle\",\"why\":"                                                              \
        "\"\",\"running\":[],\"last\":{\"run\":\"1\",\"state\":\"failed\",\"exit\":3,\"node\":"    \
        "\"n2\",\"started\":1}}],"                                                                 \
        "\"errors\":[\"/etc/jobkeeper/jobs.d/a.yaml:1:2: error: \\u001b[31mred\"]}"
