/* A queue of messages: four producers append to segments of 1 MiB, each batch is forced, and a consumer reads what is complete. */
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.concurrent.*;

public class Segments {
    static FileChannel segment;
    static int number;

    static synchronized void append(byte[] batch, BlockingQueue<Path> complete) throws Exception {
        if (segment == null || segment.position() > 1 << 20) {
            if (segment != null) {
                segment.close();
                complete.put(Path.of("segment-" + number++));
            }
            segment = FileChannel.open(Path.of("segment-" + number), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        }
        segment.write(ByteBuffer.wrap(batch));
        segment.force(false);
    }

    public static void main(String[] words) throws Exception {
        int batches = Integer.parseInt(words[0]);
        BlockingQueue<Path> complete = new LinkedBlockingQueue<>();
        Thread consumer = new Thread(() -> {
            try {
                for (Path path = complete.take(); !path.toString().isEmpty(); path = complete.take()) {
                    Files.copy(path, Path.of(path + ".read"));
                    Files.delete(path);
                }
            } catch (Exception failed) {
                throw new RuntimeException(failed);
            }
        });
        consumer.start();
        ExecutorService producers = Executors.newFixedThreadPool(4);
        for (int batch = 0; batch < batches; batch++) {
            byte[] content = new byte[1000 + batch % 7000];
            producers.submit(() -> {
                append(content, complete);
                return null;
            });
        }
        producers.shutdown();
        producers.awaitTermination(10, TimeUnit.MINUTES);
        segment.close();
        complete.put(Path.of(""));
        consumer.join();
    }
}
