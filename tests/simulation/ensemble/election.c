/* Who leads: org.apache.zookeeper.server.quorum.FastLeaderElection, without its messages.
 *
 * A server that looks for a leader asks around for a while. If a quorum says that there is one, it
 * follows. If a quorum looks for one, that with the newest transaction written down leads, so that
 * nothing is lost that a quorum has. Otherwise it asks again. */
#include "ensemble-inside.h"

/* FastLeaderElection.finalizeWait, and what messages take. */
#define ASK_MIN (200 * USEC_PER_MSEC)
#define ASK_MAX (700 * USEC_PER_MSEC)
/* Sometimes the first round is in vain. */
#define SLOW_ONCE_IN 6
#define SLOW_MAX (3 * USEC_PER_SEC)

static bool election_hears(const Server *server, const Server *other) {
        if (server == other)
                return true;
        return !other->frozen && other->state != SERVER_DOWN && !host_is_down(other->host) &&
               !network_is_cut(server->host, other->host) &&
               !network_is_cut(other->host, server->host);
}

/* Return: how many of those who are heard say that this one leads, itself among them. */
static unsigned election_votes(const Server *server, const Server *leader) {
        unsigned votes = 0;

        for (unsigned i = 0; i < ensemble_size(server->ensemble); i++) {
                const Server *other = ensemble_server(server->ensemble, i);

                if (election_hears(server, other) &&
                    (other == leader ||
                     (other->follower && follower_leader(other->follower) == leader)))
                        votes++;
        }
        return votes;
}

static Server *election_leader(const Server *server) {
        for (unsigned i = 0; i < ensemble_size(server->ensemble); i++) {
                Server *other = ensemble_server(server->ensemble, i);

                if (other != server && other->state == SERVER_LEADING &&
                    election_hears(server, other) &&
                    election_votes(server, other) >= ensemble_quorum(server->ensemble))
                        return other;
        }
        return NULL;
}

static bool election_is_better(const Server *one, const Server *other) {
        if (server_is_behind(other, one->epoch, server_logged_zxid(one)))
                return true;
        return !server_is_behind(one, other->epoch, server_logged_zxid(other)) &&
               one->index > other->index;
}

/* Those who look and hear each other, as far as this one knows. Return: who of them is to lead;
 * NULL: they are too few. */
static Server *election_choose(Server *server) {
        Server *best = NULL;
        unsigned n = 0;

        for (unsigned i = 0; i < ensemble_size(server->ensemble); i++) {
                Server *other = ensemble_server(server->ensemble, i);

                if (other->state != SERVER_LOOKING || !election_hears(server, other))
                        continue;
                n++;
                if (!best || election_is_better(other, best))
                        best = other;
        }
        return n >= ensemble_quorum(server->ensemble) ? best : NULL;
}

static void election_follow(Server *server, Server *leader) {
        server->state = SERVER_FOLLOWING;
        server->follower = follower_new(server, leader);
}

/* It is agreed: whoever voted for the leader knows it. */
static void election_install(Server *leader) {
        leader->state = SERVER_LEADING;
        leader->leader = leader_new(leader);
        for (unsigned i = 0; i < ensemble_size(leader->ensemble); i++) {
                Server *other = ensemble_server(leader->ensemble, i);

                if (other->state == SERVER_LOOKING && election_hears(leader, other))
                        election_follow(other, leader);
        }
}

static void election_on_time(void *userdata) {
        Server *server = userdata, *leader;

        if (server->state != SERVER_LOOKING) /* somebody else's vote has settled it */
                return;
        leader = election_leader(server);
        if (leader) {
                election_follow(server, leader);
                return;
        }
        leader = election_choose(server);
        if (leader)
                election_install(leader);
        else
                election_begin(server);
}

void election_begin(Server *server) {
        usec_t max = world_draw_once_in(server->chance, SLOW_ONCE_IN) ? SLOW_MAX : ASK_MAX;

        server_after(server, world_draw_between(server->chance, ASK_MIN, max), election_on_time,
                     server);
}
