/* A worker (locks.c has the commands) for Curator. `use write|mutex` chooses between InterProcessReadWriteLock and InterProcessMutex; the
 * readers are the former's either way.
 *
 * Each contender has a client of its own, that is a session of its own, and a thread. Retries are those of Curator's own examples.
 *
 * Clients that were once connected stay so: of many in one process, ZooKeeper's Java client closes ten a second, no more.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorWorker {
    private boolean mutex;
    private final List<CuratorFramework> clients = new ArrayList<>();
    private int connected; // of the clients
    private Audience audience;
    private Line line;

    /** Between `queue` and `finish`. */
    private static final class Audience {
        final AtomicLong granted = new AtomicLong();
        final CountDownLatch all;
        final CountDownLatch letGo = new CountDownLatch(1);
        final List<Thread> readers = new ArrayList<>();
        InterProcessLock writer;

        Audience(int n) {
            all = new CountDownLatch(n);
        }
    }

    /** Between `line` and `drain`. */
    private static final class Line {
        final CountDownLatch held = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        final CountDownLatch finished = new CountDownLatch(1);
        final CountDownLatch turns;
        final AtomicInteger holders = new AtomicInteger();
        final AtomicInteger overlaps = new AtomicInteger();
        volatile long hold;

        Line(int n) {
            turns = new CountDownLatch(n);
        }

        void start(int index, InterProcessLock lock) {
            CuratorWorker.start(() -> {
                lock.acquire();
                if (holders.getAndIncrement() > 0)
                    overlaps.incrementAndGet();
                held.countDown();
                turns.countDown();
                go.await();
                if (turns.getCount() == 0)
                    finished.await();
                if (hold > 0 && index > 0)
                    TimeUnit.MICROSECONDS.sleep(hold);
                holders.decrementAndGet();
                lock.release();
            });
        }
    }

    private interface Task {
        void run() throws Exception;
    }

    private CuratorWorker() {
    }

    private static Thread start(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (Exception exception) {
                exception.printStackTrace();
                System.exit(1);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static long now() {
        return System.nanoTime() / 1000;
    }

    private InterProcessLock exclusive(int index, String path) {
        CuratorFramework client = clients.get(index);
        return mutex ? new InterProcessMutex(client, path) : new InterProcessReadWriteLock(client, path).writeLock();
    }

    private String connect(String servers, int count) throws Exception {
        String[] each = servers.split(",");
        for (int i = clients.size(); i < count; i++) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(each[i % each.length], 30000, 15000, new ExponentialBackoffRetry(100, 5));
            client.start();
            clients.add(client);
        }
        for (CuratorFramework client : clients)
            client.blockUntilConnected();
        connected = count;
        List<Long> sessions = new ArrayList<>();
        for (CuratorFramework client : clients.subList(0, count))
            sessions.add(client.getZookeeperClient().getZooKeeper().getSessionId());
        return "{\"sessions\":" + sessions + "}";
    }

    private static void once(InterProcessLock lock) throws Exception {
        lock.acquire();
        lock.release();
    }

    private String cycle(String path, int count) throws Exception {
        List<InterProcessLock> locks = new ArrayList<>();
        List<Long> samples = new ArrayList<>();
        for (int i = 0; i < connected; i++)
            locks.add(exclusive(i, path));
        once(locks.get(0));
        for (int i = 0; i < count; i++) {
            long begin = now();
            once(locks.get(i % locks.size()));
            samples.add(now() - begin);
        }
        return answer(samples, "");
    }

    private String handover(String path, int n, long hold, long warm, long measure) throws Exception {
        long begin = now() + warm * 1000;
        long end = begin + measure * 1000;
        AtomicLong released = new AtomicLong();
        AtomicInteger holders = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        List<Long> samples = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            InterProcessLock lock = exclusive(i, path);
            threads.add(start(() -> {
                while (now() < end) {
                    lock.acquire();
                    long at = now();
                    long before = released.get();
                    if (holders.getAndIncrement() > 0)
                        overlaps.incrementAndGet();
                    if (before != 0 && at >= begin && at < end)
                        synchronized (samples) {
                            samples.add(at - before);
                        }
                    if (hold > 0)
                        TimeUnit.MICROSECONDS.sleep(hold);
                    holders.decrementAndGet();
                    released.set(now());
                    lock.release();
                    if (hold > 0)
                        TimeUnit.MICROSECONDS.sleep(hold / 2);
                }
            }));
        }
        for (Thread thread : threads)
            thread.join();
        return answer(samples, ",\"handovers\":" + samples.size() + ",\"overlaps\":" + overlaps + ",\"seconds\":" + measure / 1000.0);
    }

    private String queue(String path, int n) throws Exception {
        audience = new Audience(n);
        audience.writer = new InterProcessReadWriteLock(clients.get(n), path).writeLock();
        audience.writer.acquire();
        for (int i = 0; i < n; i++)
            audience.readers.add(reader(audience, new InterProcessReadWriteLock(clients.get(i), path).readLock()));
        while (clients.get(n).getChildren().forPath(path).size() < n + 1)
            Thread.sleep(20);
        return "{}";
    }

    private static Thread reader(Audience audience, InterProcessLock lock) {
        return start(() -> {
            lock.acquire();
            long at = now();
            audience.granted.accumulateAndGet(at, Math::max);
            audience.all.countDown();
            audience.letGo.await();
            lock.release();
        });
    }

    private String admit() throws Exception {
        List<Long> samples = new ArrayList<>();
        long begin = now();
        audience.writer.release();
        audience.all.await();
        samples.add(audience.granted.get() - begin);
        return answer(samples, "");
    }

    private String finish() throws Exception {
        if (line != null)
            line.finished.countDown();
        line = null;
        if (audience == null)
            return "{}";
        audience.letGo.countDown();
        for (Thread thread : audience.readers)
            thread.join();
        audience = null;
        return "{}";
    }

    private String line(String path, int n) throws Exception {
        line = new Line(n);
        line.start(0, exclusive(0, path));
        line.held.await();
        for (int i = 1; i < n; i++)
            line.start(i, exclusive(i, path));
        while (clients.get(0).getChildren().forPath(path).size() < n)
            Thread.sleep(20);
        return "{}";
    }

    private String drain(long hold) throws Exception {
        long begin = now();
        line.hold = hold;
        line.go.countDown();
        line.turns.await();
        return "{\"seconds\":" + (now() - begin) / 1e6 + ",\"overlaps\":" + line.overlaps + "}";
    }

    private static String answer(List<Long> samples, String rest) {
        return "{\"usec\":" + samples + rest + "}";
    }

    private String run(String[] words) throws Exception {
        switch (words[0]) {
            case "connect":
                return connect(words[1], Integer.parseInt(words[2]));
            case "use":
                mutex = words[1].equals("mutex");
                return "{}";
            case "disconnect":
                return "{}";
            case "cycle":
                return cycle(words[1], Integer.parseInt(words[2]));
            case "handover":
                return handover(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]), Long.parseLong(words[4]), Long.parseLong(words[5]));
            case "queue":
                return queue(words[1], Integer.parseInt(words[2]));
            case "admit":
                return admit();
            case "finish":
                return finish();
            case "line":
                return line(words[1], Integer.parseInt(words[2]));
            case "drain":
                return drain(Long.parseLong(words[1]));
            default:
                throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        CuratorWorker worker = new CuratorWorker();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(worker.run(line.trim().split(" ")));
            System.out.flush();
        }
        System.exit(0);
    }
}
