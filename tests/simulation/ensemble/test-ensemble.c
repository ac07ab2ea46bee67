/* The model of ZooKeeper as clients see it: through the port, on simulated machines. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "trace.h"

#define TICK (2 * USEC_PER_SEC)
#define TIMEOUT (10 * USEC_PER_SEC)

static Site *site_of(unsigned n_servers, uint64_t seed) {
        EnsembleOptions options = ENSEMBLE_DEFAULTS;

        options.n_servers = n_servers;
        return site_new(seed, &options);
}

/* NULL servers: any. */
static Client *connected_to(Site *site, const char *machine, const char *servers) {
        Client *client = client_new(site, machine, servers, TIMEOUT, NULL, NULL);

        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        cr_assert_str_eq(client_read(client), "connected");
        return client;
}

static Client *connected(Site *site, const char *machine) {
        return connected_to(site, machine, NULL);
}

static unsigned leader_of(const Site *site) {
        int leader = ensemble_leader(site_ensemble(site));

        cr_assert_geq(leader, 0);
        return (unsigned)leader;
}

static const char *server_name(unsigned server) {
        return (const char *[]){"zk1:2181", "zk2:2181", "zk3:2181"}[server];
}

/* Between a machine and all servers, or back again. */
static void cut_off(const Site *site, const char *machine, bool cut) {
        Host *host = site_host(site, machine);

        for (unsigned i = 0; i < ensemble_size(site_ensemble(site)); i++) {
                Host *server = ensemble_host(site_ensemble(site), i);

                (cut ? network_cut : network_mend)(host, server);
                (cut ? network_cut : network_mend)(server, host);
        }
}

static bool exists(const Site *site, const char *path) {
        return data_tree_find(ensemble_tree(site_ensemble(site)), path);
}

static bool is_answered(void *userdata) {
        return !client_waits(userdata);
}

static void await_answer(const Site *site, Client *client) {
        cr_assert(site_await(site, is_answered, client, USEC_PER_MINUTE));
}

Test(ensemble, one_server_serves) {
        _cleanup_(site_freep) Site *site = site_of(1, 1);
        Client *client = connected(site, "n1");

        cr_assert_eq(client_create(client, "/a", "x", 0), ZK_OK);
        cr_assert_eq(client_create(client, "/a", "x", 0), ZK_NODE_EXISTS);
        cr_assert_eq(client_create(client, "/a/b", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        cr_assert_eq(client_create(client, "/a/b/c", NULL, 0), ZK_NO_CHILDREN_FOR_EPHEMERALS);
        cr_assert_eq(client_get(client, "/a", true), ZK_OK);
        cr_assert_str_eq(client_answer(client)->data, "x");
        client_read(client);
        cr_assert_eq(client_set(client, "/a", "y", 0), ZK_OK);
        cr_assert_str_eq(client_read(client), "changed:/a done");
        cr_assert_lt(client_answer(client)->took, 10 * USEC_PER_MSEC);
}

Test(ensemble, a_session_that_is_closed_takes_its_nodes_with_it_at_once) {
        _cleanup_(site_freep) Site *site = site_of(3, 2);
        Client *client = connected(site, "n1");

        cr_assert_eq(client_create(client, "/e", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        client_close(client);
        cr_assert(client_await_state(client, ZK_STATE_CLOSED));
        site_run(site, 100 * USEC_PER_MSEC);
        cr_assert_not(exists(site, "/e"));
}

Test(ensemble, a_session_that_is_abandoned_can_be_attached_to) {
        _cleanup_(site_freep) Site *site = site_of(3, 3);
        Client *client = connected(site, "n1"), *other;
        ZkSessionId session = zk_session_id(client_zk(client)), wrong = session;

        cr_assert_eq(client_create(client, "/e", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        client_abandon(client);
        cr_assert(client_await_state(client, ZK_STATE_CLOSED));
        other = client_new(site, "n2", NULL, TIMEOUT, &session, NULL);
        cr_assert(client_await_state(other, ZK_STATE_CONNECTED));
        cr_assert_eq(zk_session_id(client_zk(other)).id, session.id);
        site_run(site, USEC_PER_MINUTE);
        cr_assert(exists(site, "/e"));
        wrong.password[3] ^= 1;
        cr_assert(client_await_state(client_new(site, "n3", NULL, TIMEOUT, &wrong, NULL),
                                     ZK_STATE_EXPIRED));
        client_kill(other);
        site_run(site, TIMEOUT - TICK);
        cr_assert(exists(site, "/e"), "nobody closed it");
        site_run(site, 3 * TICK);
        cr_assert_not(exists(site, "/e"));
}

Test(ensemble, who_attaches_ends_the_connection_that_was_there) {
        _cleanup_(site_freep) Site *site = site_of(1, 23);
        Client *client = connected(site, "n1"), *other;
        ZkSessionId session = zk_session_id(client_zk(client));

        process_stop(client_process(client));
        other = client_new(site, "n2", NULL, TIMEOUT, &session, NULL);
        cr_assert(client_await_state(other, ZK_STATE_CONNECTED));
        process_continue(client_process(client));
        cr_assert(client_await_state(client, ZK_STATE_SUSPENDED));
        cr_assert_str_eq(client_read(client), "suspended");
}

Test(ensemble, a_timeout_is_what_the_server_grants) {
        _cleanup_(site_freep) Site *site = site_of(1, 4);
        Client *few = client_new(site, "n1", NULL, USEC_PER_SEC, NULL, NULL),
               *many = client_new(site, "n1", NULL, USEC_PER_HOUR, NULL, NULL);

        cr_assert(client_await_state(few, ZK_STATE_CONNECTED));
        cr_assert(client_await_state(many, ZK_STATE_CONNECTED));
        cr_assert_eq(zk_timeout(client_zk(few)), 2 * TICK);
        cr_assert_eq(zk_timeout(client_zk(many)), 20 * TICK);
}

Test(ensemble, who_is_cut_off_hears_of_the_expiry_only_from_a_server) {
        _cleanup_(site_freep) Site *site = site_of(3, 5);
        Client *client = connected(site, "n1");

        cr_assert_eq(client_create(client, "/e", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        client_read(client);
        cut_off(site, "n1", true);
        site_run(site, TIMEOUT - TICK);
        cr_assert(exists(site, "/e"));
        cr_assert_str_eq(client_read(client), "suspended");
        site_run(site, 4 * TICK);
        cr_assert_not(exists(site, "/e"));
        cr_assert_str_eq(client_read(client), "");
        cut_off(site, "n1", false);
        cr_assert(client_await_state(client, ZK_STATE_EXPIRED));
        cr_assert_eq(client_create(client, "/f", NULL, 0), ZK_CLOSED);
}

Test(ensemble, watches_outlive_a_lost_connection) {
        _cleanup_(site_freep) Site *site = site_of(3, 6);
        Client *client = connected(site, "n1"), *other = connected(site, "n2");

        cr_assert_eq(client_create(other, "/a", "1", 0), ZK_OK);
        cr_assert_eq(client_create(other, "/b", "1", 0), ZK_OK);
        cr_assert_eq(client_create(other, "/c", "1", 0), ZK_OK);
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_eq(client_get(client, "/a", true), ZK_OK);
        cr_assert_eq(client_exists(client, "/b", true), ZK_OK);
        cr_assert_eq(client_exists(client, "/new", true), ZK_NO_NODE);
        cr_assert_eq(client_list(client, "/c", true), ZK_OK);
        client_read(client);
        cut_off(site, "n1", true);
        cr_assert(client_await_state(client, ZK_STATE_SUSPENDED));
        cr_assert_eq(client_set(other, "/a", "2", -1), ZK_OK);
        cr_assert_eq(client_delete(other, "/b", -1), ZK_OK);
        cr_assert_eq(client_create(other, "/new", NULL, 0), ZK_OK);
        cut_off(site, "n1", false);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_str_eq(client_read(client),
                         "suspended connected changed:/a deleted:/b created:/new done");
        cr_assert_eq(client_create(other, "/c/d", NULL, 0), ZK_OK);
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_str_eq(client_read(client), "children:/c done", "it was set again");
}

Test(ensemble, a_lost_answer_leaves_what_was_done) {
        _cleanup_(site_freep) Site *site = site_of(1, 7);
        Client *client = connected(site, "n1");
        Host *server = ensemble_host(site_ensemble(site), 0);

        network_cut(server, site_host(site, "n1"));
        client_send_create(client, "/a", 0);
        await_answer(site, client);
        cr_assert_eq(client_answer(client)->code, ZK_UNKNOWN);
        cr_assert(exists(site, "/a"));
}

Test(ensemble, a_request_may_be_done_after_its_client_gave_it_up) {
        _cleanup_(site_freep) Site *site = site_of(1, 8);
        Client *client = connected(site, "n1");
        Host *server = ensemble_host(site_ensemble(site), 0), *host = site_host(site, "n1");

        network_cut(host, server);
        client_send_create(client, "/a", 0);
        await_answer(site, client);
        cr_assert_eq(client_answer(client)->code, ZK_UNKNOWN);
        cr_assert_not(exists(site, "/a"));
        client_kill(client);
        network_mend(host, server);
        site_run(site, 5 * USEC_PER_SEC);
        cr_assert(exists(site, "/a"));
}

Test(ensemble, a_connection_that_breaks_loses_the_answer_or_the_request_too) {
        for (int arrives = 0; arrives <= 1; arrives++) {
                _cleanup_(site_freep) Site *site = site_of(1, 9);
                Client *client = connected(site, "n1");

                client_send_create(client, "/a", 0);
                ensemble_break_connections(site_ensemble(site), "n1", arrives);
                await_answer(site, client);
                cr_assert_eq(client_answer(client)->code, ZK_UNKNOWN);
                cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
                cr_assert_eq(exists(site, "/a"), arrives);
        }
}

Test(ensemble, a_sync_waits_for_what_its_session_wrote_over_the_connection_before) {
        _cleanup_(site_freep) Site *site = site_of(1, 10);
        Client *client = connected(site, "n1");

        ensemble_set_disk(site_ensemble(site), 0, 5 * USEC_PER_SEC);
        client_send_create(client, "/a", 0);
        site_run(site, 10 * USEC_PER_MSEC);
        ensemble_break_connections(site_ensemble(site), "n1", true);
        await_answer(site, client);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        cr_assert_not(exists(site, "/a"));
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_eq(client_exists(client, "/a", false), ZK_OK);
}

Test(ensemble, a_request_that_comes_by_the_former_server_is_refused) {
        _cleanup_(site_freep) Site *site = site_of(3, 9);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site), former = (leader + 1) % 3;
        Client *client = connected(site, "n1");
        ZkSessionId session = zk_session_id(client_zk(client));
        Host *host = site_host(site, "n1");

        client_kill(client);
        client = client_new(site, "n1", server_name(former), TIMEOUT, &session, NULL);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        network_cut(host, ensemble_host(ensemble, former));
        client_send_create(client, "/late", 0);
        client_kill(client);
        client = client_new(site, "n1", server_name(leader), TIMEOUT, &session, NULL);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        network_mend(host, ensemble_host(ensemble, former));
        site_run(site, 5 * USEC_PER_SEC);
        cr_assert_not(exists(site, "/late"));
}

Test(ensemble, sessions_outlive_their_leader) {
        _cleanup_(site_freep) Site *site = site_of(3, 10);
        Client *client = connected(site, "n1");
        unsigned leader = leader_of(site);

        cr_assert_eq(client_create(client, "/e", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        ensemble_kill(site_ensemble(site), leader);
        cr_assert_eq(ensemble_leader(site_ensemble(site)), -1);
        cr_assert(client_await_state(client, ZK_STATE_SUSPENDED));
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        cr_assert_neq(leader_of(site), leader);
        cr_assert_eq(client_create(client, "/e/f", NULL, 0), ZK_NO_CHILDREN_FOR_EPHEMERALS);
        ensemble_start(site_ensemble(site), leader);
        site_run(site, 10 * USEC_PER_SEC);
        cr_assert(ensemble_serves(site_ensemble(site), leader));
        cr_assert(exists(site, "/e"));
}

/* Everybody has written it down, and the leader never learns that. */
Test(ensemble, what_a_dead_leader_had_proposed_is_done_by_its_successor) {
        _cleanup_(site_freep) Site *site = site_of(3, 11);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site);
        Client *client = connected_to(site, "n1", server_name(leader));
        size_t committed;

        for (unsigned i = 1; i < 3; i++)
                network_cut(ensemble_host(ensemble, (leader + i) % 3),
                            ensemble_host(ensemble, leader));
        committed = ensemble_committed(ensemble);
        client_send_create(client, "/a", 0);
        site_run(site, 100 * USEC_PER_MSEC);
        cr_assert(client_waits(client));
        cr_assert_eq(ensemble_committed(ensemble), committed);
        ensemble_kill(ensemble, leader);
        await_answer(site, client);
        cr_assert_eq(client_answer(client)->code, ZK_UNKNOWN);
        site_run(site, 20 * USEC_PER_SEC);
        cr_assert(exists(site, "/a"));
}

/* Nobody else has heard of it. */
Test(ensemble, what_only_a_dead_leader_knew_never_was) {
        _cleanup_(site_freep) Site *site = site_of(3, 12);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site);
        Client *client = connected_to(site, "n1", server_name(leader));

        for (unsigned i = 1; i < 3; i++)
                ensemble_part(ensemble, leader, (leader + i) % 3, true);
        client_send_create(client, "/a", 0);
        site_run(site, 15 * TICK);
        cr_assert_neq(leader_of(site), leader);
        for (unsigned i = 1; i < 3; i++)
                ensemble_part(ensemble, leader, (leader + i) % 3, false);
        site_run(site, 15 * USEC_PER_SEC);
        cr_assert(ensemble_serves(ensemble, leader));
        cr_assert_not(exists(site, "/a"));
}

Test(ensemble, a_leader_that_is_cut_off_answers_reads_and_syncs_for_a_while) {
        _cleanup_(site_freep) Site *site = site_of(3, 13);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site);
        Client *client = connected_to(site, "n1", server_name(leader));

        for (unsigned i = 1; i < 3; i++)
                ensemble_part(ensemble, leader, (leader + i) % 3, true);
        site_run(site, 3 * TICK);
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_eq(client_exists(client, "/", false), ZK_OK);
        client_send_create(client, "/a", 0);
        site_run(site, TICK);
        cr_assert(client_waits(client), "a write needs a quorum");
        await_answer(site, client);
        cr_assert_eq(client_answer(client)->code, ZK_UNKNOWN);
        cr_assert_not(ensemble_serves(ensemble, leader));
}

Test(ensemble, who_follows_shows_what_is_old_until_it_lets_its_clients_go) {
        _cleanup_(site_freep) Site *site = site_of(3, 14);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site), follower = (leader + 1) % 3;
        Client *old = connected_to(site, "n1", server_name(follower)),
               *client = connected_to(site, "n2", server_name(leader));

        cr_assert_eq(client_create(client, "/a", "1", 0), ZK_OK);
        cr_assert_eq(client_sync(old), ZK_OK);
        ensemble_part(ensemble, follower, leader, true);
        ensemble_part(ensemble, follower, (leader + 2) % 3, true);
        cr_assert_eq(client_set(client, "/a", "2", -1), ZK_OK);
        site_run(site, 3 * TICK);
        cr_assert_eq(client_get(old, "/a", false), ZK_OK);
        cr_assert_str_eq(client_answer(old)->data, "1");
        client_read(old);
        site_run(site, 3 * TICK);
        cr_assert_str_eq(client_read(old), "suspended");
        cr_assert_not(ensemble_serves(ensemble, follower));
}

Test(ensemble, who_lags_tells_everything_late_and_in_order) {
        _cleanup_(site_freep) Site *site = site_of(3, 22);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site), follower = (leader + 1) % 3;
        Client *late = connected_to(site, "n1", server_name(follower)),
               *client = connected_to(site, "n2", server_name(leader));

        cr_assert_eq(client_create(client, "/a", "1", 0), ZK_OK);
        cr_assert_eq(client_sync(late), ZK_OK);
        cr_assert_eq(client_get(late, "/a", true), ZK_OK);
        cr_assert_eq(client_list(late, "/", true), ZK_OK);
        ensemble_set_lag(ensemble, follower, 3 * USEC_PER_SEC);
        cr_assert_eq(client_set(client, "/a", "2", -1), ZK_OK);
        cr_assert_eq(client_create(client, "/b", NULL, 0), ZK_OK);
        client_read(late);
        site_run(site, 2 * USEC_PER_SEC);
        cr_assert_eq(client_get(late, "/a", false), ZK_OK);
        cr_assert_str_eq(client_answer(late)->data, "1");
        cr_assert_eq(client_create(late, "/c", NULL, 0), ZK_OK);
        cr_assert_gt(client_answer(late)->took, 2 * USEC_PER_SEC, "it is done here, too");
        cr_assert_str_eq(client_read(late), "done changed:/a children:/ done");
        cr_assert_eq(client_sync(late), ZK_OK);
        cr_assert_eq(client_get(late, "/a", false), ZK_OK);
        cr_assert_str_eq(client_answer(late)->data, "2");
}

Test(ensemble, nobody_goes_back_to_a_server_that_is_behind) {
        _cleanup_(site_freep) Site *site = site_of(3, 15);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site), behind = (leader + 1) % 3;
        Client *client = connected(site, "n1");
        ZkSessionId session;

        network_cut(ensemble_host(ensemble, leader), ensemble_host(ensemble, behind));
        while (strcmp(zk_server(client_zk(client)), server_name(behind)) == 0) {
                client_kill(client);
                client = connected(site, "n1");
        }
        cr_assert_eq(client_create(client, "/a", NULL, 0), ZK_OK);
        session = zk_session_id(client_zk(client));
        for (unsigned i = 0; i < 3; i++)
                if (i != behind)
                        network_cut(site_host(site, "n1"), ensemble_host(ensemble, i));
        client_read(client);
        site_run(site, TIMEOUT * 2 / 3 + TICK);
        cr_assert_str_eq(client_read(client), "suspended", "it tries only the one that is behind");
        /* Who has seen nothing is taken there. */
        client = client_new(site, "n2", server_name(behind), TIMEOUT, &session, NULL);
        site_run(site, USEC_PER_SEC);
        cr_assert_eq(zk_state(client_zk(client)), ZK_STATE_CONNECTING,
                     "whether it lives only the leader knows");
}

Test(ensemble, a_frozen_leader_is_replaced_and_believes_it_leads_for_a_moment) {
        _cleanup_(site_freep) Site *site = site_of(3, 16);
        Ensemble *ensemble = site_ensemble(site);
        unsigned leader = leader_of(site);
        Client *client = connected(site, "n1");

        ensemble_freeze(ensemble, leader);
        site_run(site, 10 * TICK);
        cr_assert_neq(leader_of(site), leader);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
        cr_assert_eq(client_create(client, "/a", NULL, 0), ZK_OK);
        ensemble_thaw(ensemble, leader);
        site_run(site, 10 * TICK);
        cr_assert(ensemble_serves(ensemble, leader));
        cr_assert_neq(leader_of(site), leader);
        cr_assert_eq(client_set(client, "/a", "x", 0), ZK_OK);
}

/* At each moment of an election: whoever is about to lead, or to follow, stands still. */
Test(ensemble, who_was_frozen_when_it_was_to_lead_leads_no_more) {
        for (usec_t pause = 0; pause < 2 * USEC_PER_SEC; pause += 10 * USEC_PER_MSEC) {
                _cleanup_(site_freep) Site *site = site_of(3, 1);
                Ensemble *ensemble = site_ensemble(site);
                Client *client = connected(site, "n1");
                unsigned leader = leader_of(site);

                ensemble_kill(ensemble, leader);
                site_run(site, pause);
                ensemble_start(ensemble, leader);
                ensemble_freeze(ensemble, leader == 2 ? 1 : 2);
                site_run(site, 14 * USEC_PER_SEC);
                cr_assert(client_await_state(client, ZK_STATE_CONNECTED));
                cr_assert_eq(client_create(client, "/a", "", 0), ZK_OK);
                ensemble_thaw(ensemble, leader == 2 ? 1 : 2);
                site_run(site, 5 * USEC_PER_SEC);
                cr_assert(exists(site, "/a"));
                cr_assert_geq(ensemble_leader(ensemble), 0);
        }
}

Test(ensemble, without_a_quorum_nobody_answers_and_nobody_expires) {
        _cleanup_(site_freep) Site *site = site_of(3, 17);
        Ensemble *ensemble = site_ensemble(site);
        Client *client = connected(site, "n1");

        cr_assert_eq(client_create(client, "/e", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        ensemble_crash(ensemble, 0);
        ensemble_kill(ensemble, 1);
        site_run(site, 10 * USEC_PER_MINUTE);
        cr_assert_eq(ensemble_leader(ensemble), -1);
        cr_assert_eq(zk_state(client_zk(client)), ZK_STATE_SUSPENDED);
        ensemble_start(ensemble, 0);
        ensemble_start(ensemble, 1);
        cr_assert(client_await_state(client, ZK_STATE_CONNECTED), "its time began anew");
        cr_assert_eq(client_exists(client, "/e", false), ZK_OK);
}

Test(ensemble, a_process_that_was_stopped_reads_what_came_meanwhile) {
        _cleanup_(site_freep) Site *site = site_of(3, 18);
        Client *client = connected(site, "n1"), *other = connected(site, "n2");

        cr_assert_eq(client_create(other, "/a", NULL, 0), ZK_OK);
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_eq(client_get(client, "/a", true), ZK_OK);
        client_read(client);
        process_stop(client_process(client));
        cr_assert_eq(client_set(other, "/a", "x", -1), ZK_OK);
        site_run(site, 2 * USEC_PER_SEC);
        process_continue(client_process(client));
        cr_assert_eq(client_sync(client), ZK_OK);
        cr_assert_str_eq(client_read(client), "changed:/a done");
        process_stop(client_process(client));
        site_run(site, 3 * TIMEOUT);
        process_continue(client_process(client));
        cr_assert(client_await_state(client, ZK_STATE_EXPIRED));
}

Test(ensemble, an_empty_container_goes_after_a_while) {
        _cleanup_(site_freep) Site *site = site_of(1, 19);
        Client *client = connected(site, "n1");

        cr_assert_eq(client_create(client, "/box", NULL, ZK_CREATE_CONTAINER), ZK_OK);
        site_run(site, 3 * USEC_PER_MINUTE);
        cr_assert_eq(client_create(client, "/box/x", NULL, 0), ZK_OK);
        cr_assert_eq(client_delete(client, "/box/x", -1), ZK_OK);
        cr_assert(exists(site, "/box"));
        site_run(site, 61 * USEC_PER_SEC);
        cr_assert_not(exists(site, "/box"));
}

Test(ensemble, a_secret_closes_nodes_also_to_watches) {
        _cleanup_(site_freep) Site *site = site_of(1, 20);
        Client *owner = client_new(site, "n1", NULL, TIMEOUT, NULL, "alice:secret"), *other;

        cr_assert(client_await_state(owner, ZK_STATE_CONNECTED));
        other = connected(site, "n2");
        cr_assert_eq(client_exists(other, "/a", true), ZK_NO_NODE);
        client_read(other);
        cr_assert_eq(client_create(owner, "/a", "x", 0), ZK_OK);
        cr_assert_eq(client_acl(owner, "/a"), ZK_OK);
        cr_assert_str_eq(client_answer(owner)->others, "");
        cr_assert_eq(client_acl(owner, "/"), ZK_OK);
        cr_assert_str_eq(client_answer(owner)->others, "world:anyone");
        cr_assert_eq(client_get(other, "/a", false), ZK_NO_AUTH);
        cr_assert_eq(client_exists(other, "/a", false), ZK_OK);
        cr_assert_str_eq(client_read(other), "not permitted done", "the event was dropped");
        ensemble_kill(site_ensemble(site), 0);
        ensemble_start(site_ensemble(site), 0);
        cr_assert(client_await_state(owner, ZK_STATE_SUSPENDED));
        cr_assert(client_await_state(owner, ZK_STATE_CONNECTED));
        cr_assert_eq(client_get(owner, "/a", false), ZK_OK, "it proves itself on each connection");
}

Test(ensemble, a_name_that_nobody_knows_is_a_fault) {
        _cleanup_(site_freep) Site *site = site_of(1, 21);
        Client *client = client_new(site, "n1", "zk1:2181,zk7:2181", TIMEOUT, NULL, NULL);

        cr_assert(client_await_state(client, ZK_STATE_FAILED));
        cr_assert_not_null(strstr(zk_fault(client_zk(client)), "zk7"));
}

/* A busy minute with faults, told in words. */
static char *story(uint64_t seed) {
        g_autofree char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        Site *site = site_of(3, seed);
        Client *one, *other;

        trace_begin(site_world(site), file);
        one = client_new(site, "n1", NULL, TIMEOUT, NULL, NULL);
        other = client_new(site, "n2", NULL, TIMEOUT, NULL, NULL);
        cr_assert(client_await_state(one, ZK_STATE_CONNECTED));
        cr_assert(client_await_state(other, ZK_STATE_CONNECTED));
        for (unsigned i = 0; i < 6; i++) {
                ensemble_kill(site_ensemble(site), i % 3);
                (void)client_create(one, "/x-", NULL, ZK_CREATE_SEQUENTIAL);
                (void)client_list(other, "/", true);
                site_run(site, 10 * USEC_PER_SEC);
                ensemble_start(site_ensemble(site), i % 3);
                trace_write("test", "%s | %s", client_read(one), client_read(other));
        }
        trace_end();
        site_free(site);
        (void)fclose(file);
        return g_steal_pointer(&text);
}

Test(ensemble, the_same_seed_is_the_same_story) {
        g_autofree char *one = story(4), *same = story(4), *other = story(5);

        cr_assert_gt(strlen(one), 1000);
        cr_assert_str_eq(one, same);
        cr_assert_str_neq(one, other);
}
