/* Who connects to the fence: jobkeeperd, or somebody who is shown the door.
 *
 * Root's uid alone is not enough: a script of root's that connects by mistake would take
 * jobkeeperd's place. (Whoever means it can as well kill the fence, and what it guards.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fence-protocol.h"

/* `text`: a /proc/PID/cgroup of `size` bytes. Return: whether it is that of the unified hierarchy's
 * `cgroup`, alone or beside others. */
bool fence_cgroup_is(const char *text, size_t size, const char *cgroup);

/* What is sent along to whoever is not let in must not be ours to close: a socket that lingers
 * would keep us. (Where the kernel cannot refuse descriptors, before 6.16, they are closed.)
 * Return: 0 or negative errno. */
int fence_door_prepare(int listener);

/* What everybody who is let in is told. */
void fence_hello_init(FenceHello *hello, const char *instance, uint32_t flags);

/* Takes who waits at `listener`, and greets the one whose cgroup is `cgroup` with the timers;
 * whoever else it is is closed. Return: a connection; -EAGAIN when nobody waits (any more);
 * -EACCES, or another negative errno, when somebody was turned away. */
int fence_peer_accept(int listener, const char *cgroup, const int timers[FENCE_TIMERS],
                      const FenceHello *hello);

typedef enum FencePeerWord { FENCE_PEER_NOTHING, FENCE_PEER_LEAVE, FENCE_PEER_END } FencePeerWord;

/* What it has sent. FENCE_PEER_END: it is gone, or sends what nobody sends. Descriptors that came
 * along are not taken. */
FencePeerWord fence_peer_read(int peer);
