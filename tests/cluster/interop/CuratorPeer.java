/* Curator's locks, driven from outside as lock-probe drives ours: the protocol is in tests/integration/lock-probe.c.
 *
 * Commands: acquire ID DIRECTORY exclusive|shared WAIT_MS|forever [naming=curator-rw|curator-mutex], downgrade ID, release ID. Curator's
 * locks belong to threads, so each ID has one from its acquire to its release. Tokens are 0, contenders "-", and UNTIL is for ever: Curator
 * does not tell them.
 *
 * Stepping down from write to read is taking the read lock and giving the write lock back. Up to 5.4 Curator then stands as a reader at the
 * end of the queue, and a writer who waits gets the lock beside it, Curator's own as well (CURATOR-621). From 5.5 on the reader has its
 * writer's number. With an older one we make that contender with Curator's client as 5.5 makes it, since that is what is to be shown.
 *
 * Usage: CuratorPeer SERVERS SESSION_TIMEOUT_MS CLOCK_OFFSET, the last being what makes CLOCK_BOOTTIME (usec) of CLOCK_MONOTONIC, which is
 * the clock that Java has.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

public final class CuratorPeer {
    private static final int CONNECT_MS = 3000;
    private static final int SEQUENCE_DIGITS = 10;
    private static final int RETRIES = 20;
    private static final int RETRY_PAUSE_MS = 100;

    private interface Release {
        void run() throws Exception;
    }

    private final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false, StandardCharsets.US_ASCII);
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Map<String, BlockingQueue<String>> going = new ConcurrentHashMap<>();
    private final CuratorFramework client;
    private final long clockOffset;

    private CuratorPeer(String servers, int sessionTimeout, long clockOffset) {
        this.clockOffset = clockOffset;
        client = CuratorFrameworkFactory.newClient(servers, sessionTimeout, CONNECT_MS, new RetryNTimes(RETRIES, RETRY_PAUSE_MS));
    }

    private long now() {
        return System.nanoTime() / 1000 + clockOffset;
    }

    private synchronized void say(long when, String words) {
        out.print(when + " " + words + "\n");
        out.flush();
    }

    private static String word(ConnectionState state) {
        switch (state) {
            case CONNECTED:
                return "connected";
            case RECONNECTED:
                return "resumed";
            case LOST:
                return "lost";
            default:
                return "suspended";
        }
    }

    private static boolean readerGetsWritersNumber() {
        return Arrays.stream(StandardLockInternalsDriver.class.getDeclaredMethods()).anyMatch(method -> method.getName().equals("getSortingSequence"));
    }

    /* Returns how to let go of what it is then. */
    private Release stepDown(InterProcessReadWriteLock both, String directory) throws Exception {
        if (readerGetsWritersNumber()) {
            both.readLock().acquire();
            both.writeLock().release();
            return both.readLock()::release;
        }
        String writer = both.writeLock().getParticipantNodes().iterator().next();
        String number = writer.substring(writer.length() - SEQUENCE_DIGITS);
        String reader = client.create().withProtection().withMode(CreateMode.EPHEMERAL).forPath(directory + "/__READ__" + number, new byte[0]);
        both.writeLock().release();
        return () -> client.delete().guaranteed().forPath(reader);
    }

    /* One ID, from its acquire to its release. */
    private void hold(String id, String[] words, BlockingQueue<String> commands) {
        try {
            boolean mutex = words.length > 5 && words[5].equals("naming=curator-mutex");
            InterProcessReadWriteLock both = mutex ? null : new InterProcessReadWriteLock(client, words[2]);
            InterProcessLock lock = mutex ? new InterProcessMutex(client, words[2]) : words[3].equals("shared") ? both.readLock() : both.writeLock();
            if (words[4].equals("forever")) {
                lock.acquire();
            } else if (!lock.acquire(Long.parseLong(words[4]), TimeUnit.MILLISECONDS)) {
                going.remove(id);
                say(now(), "timeout " + id);
                return;
            }
            say(now(), "held " + id + " 0 " + Long.MAX_VALUE + " -");
            Release release = lock::release;
            while (commands.take().equals("downgrade")) {
                release = stepDown(both, words[2]);
                say(now(), "downgraded " + id);
            }
            long when = now(); /* somebody may have it before we could say so */
            release.run();
            going.remove(id);
            say(when, "released " + id);
        } catch (Exception fault) { /* whatever Curator throws belongs in the history */
            going.remove(id);
            say(now(), "error " + id + " " + fault);
        }
    }

    private void obey(String line) {
        String[] words = line.split(" ");
        if (words[0].equals("acquire")) {
            BlockingQueue<String> commands = new LinkedBlockingQueue<>();
            going.put(words[1], commands);
            threads.execute(() -> hold(words[1], words, commands));
        } else if (words.length == 2 && (words[0].equals("release") || words[0].equals("downgrade")) && going.containsKey(words[1])) {
            going.get(words[1]).add(words[0]);
        } else {
            say(now(), "error " + (words.length > 1 ? words[1] : "-") + " not a command: " + line);
        }
    }

    private void run() throws Exception {
        client.getConnectionStateListenable().addListener((who, state) -> say(now(), "session " + word(state) + " " + Long.MAX_VALUE));
        client.start();
        try (BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
                obey(line);
            }
        }
        client.close();
        System.exit(0); /* threads may still wait */
    }

    public static void main(String[] arguments) throws Exception {
        new CuratorPeer(arguments[0], Integer.parseInt(arguments[1]), Long.parseLong(arguments[2])).run();
    }
}
