/* Addresses of servers, HOST:PORT. Pure. */
#pragma once

/* Return: what is wrong with one server's address, as a sentence fragment; or NULL. */
const char *server_address_fault(const char *server);
