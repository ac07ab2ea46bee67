/* Who may do what with a node, which the port does not let one choose. */
#pragma once

/* ZooKeeper's own numbers. */
typedef enum AclRights {
        ACL_READ = 1,
        ACL_WRITE = 2,
        ACL_CREATE = 4,
        ACL_DELETE = 8,
        ACL_ADMIN = 16,
        ACL_ALL = 31,
} AclRights;

/* Lets everybody do this, and nothing else, with the node. Waits until it is done; aborts the test
 * where it is not within 20 s. */
void acl_set(const char *server, const char *path, int rights);
