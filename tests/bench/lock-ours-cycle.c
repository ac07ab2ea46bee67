/* Acquire and release, alone.
 *
 * A release goes on after lock_set_free(), and no event tells when it is through, as nobody needs
 * to know. Only a comparison with a bare delete that was answered does. So the linker puts
 * functions of ours between the library and its port (--wrap), which count the writes that have not
 * been answered.
 */
#include "lock-ours-cycle.h"

#include <string.h>

typedef struct Write {
        ZkReplyFunc func;
        void *userdata;
        bool *pending; /* NULL outside of a cycle */
} Write;

static bool *watched_release; /* the cycle's, while it waits for one */

/* --wrap's names. */
int __real_zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
                     ZkCall **ret_call);
int __wrap_zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
                     ZkCall **ret_call);
int __real_zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
                    ZkCall **ret_call);
int __wrap_zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
                    ZkCall **ret_call);

static Write *write_new(ZkReplyFunc func, void *userdata) {
        Write *write = g_new0(Write, 1);

        write->func = func;
        write->userdata = userdata;
        write->pending = watched_release;
        *write->pending = true;
        return write;
}

static void on_written(const ZkReply *reply, void *userdata) {
        g_autofree Write *write = userdata;

        *write->pending = false;
        if (write->func)
                write->func(reply, write->userdata);
}

int __wrap_zk_delete(Zk *zk, const char *path, int32_t version, ZkReplyFunc func, void *userdata,
                     ZkCall **ret_call) {
        if (!watched_release)
                return __real_zk_delete(zk, path, version, func, userdata, ret_call);
        return __real_zk_delete(zk, path, version, on_written, write_new(func, userdata), ret_call);
}

int __wrap_zk_multi(Zk *zk, const ZkOp *ops, size_t n_ops, ZkReplyFunc func, void *userdata,
                    ZkCall **ret_call) {
        bool deletes = false;

        for (size_t i = 0; i < n_ops; i++)
                deletes = deletes || ops[i].type == ZK_OP_DELETE;
        if (!watched_release || !deletes)
                return __real_zk_multi(zk, ops, n_ops, func, userdata, ret_call);
        return __real_zk_multi(zk, ops, n_ops, on_written, write_new(func, userdata), ret_call);
}

char *ours_split(const char *path, const char **ret_resource) {
        const char *slash = strrchr(path, '/');

        *ret_resource = slash + 1;
        return g_strndup(path, (gsize)(slash - path));
}

static void on_event(LockSet *set, LockEvent event, void *userdata) {
        (void)set;
        if (event != LOCK_EVENT_HELD)
                bench_die("a lock of nobody else's was not had");
        *(bool *)userdata = true;
}

static bool is_true(void *userdata) {
        return *(bool *)userdata;
}

static bool is_false(void *userdata) {
        return !*(bool *)userdata;
}

static void one_cycle(const Bench *bench, size_t index, const LockRequest *request,
                      const LockOptions *options) {
        bool held = false, pending = false;
        LockSet *set = NULL;
        int r = lock_set_acquire(bench_session(bench, index), request, 1, options, on_event, &held,
                                 &set);

        if (r < 0)
                bench_die("acquire: %s", g_strerror(-r));
        bench_await(bench, is_true, &held, "acquire");
        watched_release = &pending;
        (void)lock_set_free(set);
        watched_release = NULL;
        if (!pending)
                bench_die("the release sent nothing");
        bench_await(bench, is_false, &pending, "release");
}

json_t *ours_cycle(Bench *bench, char **words) {
        LockRequest request = {.mode = LOCK_EXCLUSIVE};
        g_autofree char *parent = ours_split(words[0], &request.resource);
        const LockOptions options = {.parent = parent, .wait = USEC_INFINITY};
        GArray *samples = g_array_new(FALSE, FALSE, sizeof(usec_t));

        one_cycle(bench, 0, &request, &options); /* makes the directory */
        for (unsigned i = 0, n = bench_number(words[1]); i < n; i++) {
                usec_t begin = clock_monotonic(), took;

                one_cycle(bench, i % bench->sessions->len, &request, &options);
                took = clock_monotonic() - begin;
                g_array_append_val(samples, took);
        }
        return bench_samples(samples);
}
