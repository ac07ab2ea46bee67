/* The port's handle (lock/zk/zk-handle.h) over the simulated library: the steps of the helper
 * thread that opens and closes one, each a task of its process. What the real one does beyond that
 * is about names and descriptors, of which there are none here: a server's name is its host's.
 *
 * So everything of the port above the library is the product's own, its queue and its watches
 * included.
 */
#include <string.h>

#include "handle.h"
#include "library.h"
#include "zk-handle.h"

#define OPEN_MIN 200
#define OPEN_MAX (8 * USEC_PER_MSEC)
/* As the real one has them. */
#define ANSWERED_TIMEOUT (2 * USEC_PER_SEC)
#define LOST_TIMEOUT (500 * USEC_PER_MSEC)
/* For so long zookeeper_close() waits for the server. */
#define GOODBYE_TIMEOUT (1500 * USEC_PER_MSEC)
#define LOOK_AGAIN (1 * USEC_PER_MSEC)

/* A helper thread at work. */
typedef struct Helper {
        ZkHandle *handle;
        ZkQueue *queue; /* a reference */
        Process *process;
        ProcessTask *task;
        usec_t until; /* it waits no longer */
        bool asked;   /* the last request went out */
} Helper;

static GPtrArray *helpers; /* of Helper, of all processes */

static void helper_close(void *userdata);

static usec_t helper_now(const Helper *helper) {
        return world_now(machine_world(process_machine(helper->process)));
}

static void helper_free(Helper *helper) {
        ZkQueue *queue = helper->queue;

        process_task_free(helper->task);
        g_ptr_array_remove(helpers, helper);
        if (helpers->len == 0)
                g_clear_pointer(&helpers, g_ptr_array_unref);
        g_free(helper);
        (void)zk_queue_unref(queue);
}

static void helper_after(Helper *helper, usec_t delay, WorldFunc func) {
        helper->task = process_after(helper->process, delay, func, helper);
}

/* ---- what the library says ---- */

/* Return: newly allocated, how the servers write whom "USER:PASSWORD" proves. */
static char *handle_identity(const char *auth) {
        gsize size = 20; /* SHA-1's */
        guint8 digest[20];
        GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA1);
        g_autofree char *hash = NULL;

        g_checksum_update(checksum, (const guchar *)auth, (gssize)strlen(auth));
        g_checksum_get_digest(checksum, digest, &size);
        g_checksum_free(checksum);
        hash = g_base64_encode(digest, size);
        return g_strdup_printf("%.*s:%s", (int)strcspn(auth, ":"), auth, hash);
}

static void handle_on_state(zhandle_t *theirs, int state, void *userdata) {
        ZkHandle *handle = userdata;
        ZkItem *item = zk_item_new(ZK_ITEM_SESSION);

        item->code = state;
        item->handle = theirs;
        if (state == ZOO_CONNECTED_STATE) {
                const clientid_t *id = zoo_client_id(theirs);

                if (handle->auth && !handle->authenticated) {
                        g_autofree char *identity = handle_identity(handle->auth);

                        library_add_auth(theirs, identity);
                        handle->authenticated = true;
                }
                item->asked = handle->asked;
                item->timeout = (usec_t)zoo_recv_timeout(theirs) * USEC_PER_MSEC;
                item->session.id = id->client_id;
                memcpy(item->session.password, id->passwd, sizeof(item->session.password));
                item->text = library_server(theirs);
        }
        zk_post(handle->queue, item);
}

/* ---- opening ---- */

/* Return: whether all names are known; *ret_fault (g_free) otherwise. */
static bool handle_resolve(const ZkHandle *handle, const Ensemble *ensemble, GArray *servers,
                           char **ret_fault) {
        g_auto(GStrv) names = g_strsplit(handle->servers, ",", -1);

        for (size_t i = 0; names[i]; i++) {
                size_t length = strcspn(names[i], ":");
                unsigned server = 0;

                while (
                    server < ensemble_size(ensemble) &&
                    !(strncmp(host_name(ensemble_host(ensemble, server)), names[i], length) == 0 &&
                      host_name(ensemble_host(ensemble, server))[length] == '\0'))
                        server++;
                if (server == ensemble_size(ensemble)) {
                        *ret_fault =
                            g_strdup_printf("the ZooKeeper server name \"%.*s\" does not resolve",
                                            (int)length, names[i]);
                        return false;
                }
                g_array_append_val(servers, server);
        }
        return true;
}

static zhandle_t *handle_open(ZkHandle *handle, const Process *process, char **ret_fault) {
        Ensemble *ensemble = ensemble_of(machine_world(process_machine(process)));
        g_autoptr(GArray) servers = g_array_new(FALSE, FALSE, sizeof(unsigned));
        clientid_t session = {.client_id = handle->wanted.id};

        memcpy(session.passwd, handle->wanted.password, sizeof(session.passwd));
        if (!handle_resolve(handle, ensemble, servers, ret_fault))
                return NULL;
        handle->asked = clock_boottime();
        return library_open(ensemble, (const unsigned *)(const void *)servers->data, servers->len,
                            handle->timeout_ms, &session, handle_on_state, handle);
}

static void helper_open(void *userdata) {
        Helper *helper = userdata;
        ZkHandle *handle = helper->handle;
        ZkItem *item = zk_item_new(ZK_ITEM_STARTED);

        helper->task = NULL;
        handle->made = handle_open(handle, helper->process, &item->text);
        zk_post(helper->queue, item);
        if (handle->wish != ZK_WISH_RUN) {
                helper_close(helper);
                return;
        }
        handle->running = false;
        helper_free(helper);
}

/* ---- closing ---- */

static void helper_finish(Helper *helper) {
        ZkHandle *handle = helper->handle;

        handle->made = library_free(handle->made);
        handle->running = false;
        zk_post(helper->queue, zk_item_new(ZK_ITEM_CLOSED));
        helper_free(helper);
}

static void helper_await_goodbye(void *userdata) {
        Helper *helper = userdata;

        helper->task = NULL;
        if (library_is_through(helper->handle->made) || helper_now(helper) >= helper->until)
                helper_finish(helper);
        else
                helper_after(helper, LOOK_AGAIN, helper_await_goodbye);
}

static void helper_await_answers(void *userdata) {
        Helper *helper = userdata;

        helper->task = NULL;
        if (helper->queue->in_flight > 0 && helper_now(helper) < helper->until) {
                helper_after(helper, LOOK_AGAIN, helper_await_answers);
                return;
        }
        library_say_goodbye(helper->handle->made);
        helper->until = helper_now(helper) + GOODBYE_TIMEOUT;
        helper_await_goodbye(helper);
}

/* What still waits in the port goes out before the end. */
static void handle_send_rest(ZkHandle *handle) {
        ZkSending *sending;

        while ((sending = g_queue_pop_head(&handle->unsent))) {
                _cleanup_(zk_request_freep) ZkRequest *request = g_steal_pointer(&sending->waiting);

                zk_queue_expect(handle->queue);
                if (zk_send(handle->made, request, sending) != ZOK)
                        zk_queue_unexpect(handle->queue);
        }
}

static void helper_close(void *userdata) {
        Helper *helper = userdata;
        ZkHandle *handle = helper->handle;
        bool served;

        helper->task = NULL;
        if (!handle->made) {
                helper_finish(helper);
                return;
        }
        served = handle->wish == ZK_WISH_CLOSE && zoo_state(handle->made) == ZOO_CONNECTED_STATE;
        if (served)
                handle_send_rest(handle);
        else
                library_disconnect(handle->made);
        helper->until = helper_now(helper) + (served ? ANSWERED_TIMEOUT : LOST_TIMEOUT);
        helper_await_answers(helper);
}

/* ---- zk-handle.h ---- */

void zk_handle_init(ZkHandle *handle, ZkQueue *queue, const ZkOptions *options) {
        handle->queue = queue;
        handle->servers = g_strdup(options->servers);
        handle->auth = g_strdup(options->auth);
        handle->timeout_ms = (int)MIN(options->session_timeout / USEC_PER_MSEC, (usec_t)INT32_MAX);
        if (options->session)
                handle->wanted = *options->session;
}

void zk_handle_clear(ZkHandle *handle) {
        g_queue_clear(&handle->unsent);
        g_free(handle->auth);
        g_free(handle->servers);
}

int zk_handle_start(ZkHandle *handle, ZkWish wish) {
        Helper *helper;
        bool running = handle->running;

        handle->wish = wish;
        if (running)
                return 0;
        handle->running = true;
        helper = g_new0(Helper, 1);
        helper->handle = handle;
        helper->queue = zk_queue_ref(handle->queue);
        helper->process = process_turn();
        if (!helpers)
                helpers = g_ptr_array_new();
        g_ptr_array_add(helpers, helper);
        helper_after(helper,
                     world_draw_between(machine_chance(process_machine(helper->process)), OPEN_MIN,
                                        OPEN_MAX),
                     wish == ZK_WISH_RUN ? helper_open : helper_close);
        return 0;
}

void zk_handle_join(ZkHandle *handle) {
        (void)handle;
}

void zk_handle_detach(ZkHandle *handle) {
        (void)handle;
}

bool zk_handle_is_idle(ZkHandle *handle) {
        return !handle->running && !handle->made;
}

/* ---- the process's end ---- */

void handles_finish(const Process *process) {
        for (guint i = helpers ? helpers->len : 0; i-- > 0;) {
                Helper *helper = helpers->pdata[i];

                if (helper->process != process)
                        continue;
                helper->handle->made = library_free(helper->handle->made);
                helper->handle->running = false;
                helper_free(helper);
                if (!helpers)
                        return;
        }
}
