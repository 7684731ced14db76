/* Sixteen threads wait for a condition that never comes while the main thread appends and syncs; the end of the process ends their wait. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int work;

static void *idle(void *unused) {
    pthread_mutex_lock(&lock);
    while (!work) pthread_cond_wait(&called, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **words) {
    char line[200] = {'x'};
    int log = open("log", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 16; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, idle, 0)) return 1;
    }
    for (int i = atoi(words[count - 1]); i > 0; i--)
        if (write(log, line, sizeof line) != sizeof line || fdatasync(log)) return 1;
    return 0;
}
