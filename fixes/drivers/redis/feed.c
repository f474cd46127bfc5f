/* Runs a server, sends it the commands of a file and reads all replies:
 *
 *     feed FILE SERVER [ARGUMENT...]
 *
 * The server gets a socket in a folder of its own, and becomes this process, so that it is what
 * is measured; another one feeds it. The reply to the file's last command ends in MARK: it then
 * prints a hash of the replies (FNV-1a, G. Fowler, L. Noll, K. Vo, 1991), shuts the server down, and
 * is gone before it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MARK "all-read\r\n"
#define STOP "*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n"

enum { PATH_BYTES = 64, REPLY_BYTES = 1 << 18, TRIES = 6000 };

static void fail(const char *what) {
    perror(what);
    _exit(1);
}

/* A connection to the server, which may still be starting: a minute is enough. */
static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    for (int i = 0; i < TRIES; i++) {
        int to = socket(AF_UNIX, SOCK_STREAM, 0);
        if (to < 0) fail("socket");
        if (connect(to, (struct sockaddr *)&address, sizeof address) == 0) return to;
        close(to);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail("connect");
    return -1;
}

static void feed(const char *file, const char *folder, const char *path, const char *log) {
    int from = open(file, O_RDONLY);
    struct stat all;
    if (from < 0 || fstat(from, &all) != 0) fail(file);
    const char *commands = mmap(NULL, all.st_size, PROT_READ, MAP_PRIVATE, from, 0);
    if (commands == MAP_FAILED) fail(file);
    int to = connected(path);
    static unsigned char replies[REPLY_BYTES];
    uint64_t hash = 14695981039346656037u;
    off_t sent = 0;
    size_t matched = 0;
    while (matched < strlen(MARK)) {
        struct pollfd one = {.fd = to, .events = POLLIN | (sent < all.st_size ? POLLOUT : 0)};
        if (poll(&one, 1, -1) < 0) fail("poll");
        if (one.revents & (POLLIN | POLLHUP | POLLERR)) {
            ssize_t got = read(to, replies, sizeof replies);
            if (got <= 0) fail("the server ended early");
            for (ssize_t i = 0; i < got; i++) {
                hash = (hash ^ replies[i]) * 1099511628211u;
                matched = replies[i] == MARK[matched] ? matched + 1 : replies[i] == MARK[0];
                if (matched == strlen(MARK)) break;
            }
        }
        if (one.revents & POLLOUT) {
            ssize_t put = send(to, commands + sent, all.st_size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (put > 0) sent += put;
        }
    }
    printf("%016llx\n", (unsigned long long)hash);
    fflush(stdout);
    unlink(log);
    unlink(path);
    rmdir(folder);
    if (send(to, STOP, strlen(STOP), MSG_NOSIGNAL) < 0) fail("send");
}

int main(int count, char **words) {
    static char folder[PATH_BYTES] = "/tmp/feed.XXXXXX", path[PATH_BYTES + 2], log[PATH_BYTES + 4];
    if (count < 3) {
        fputs("usage: feed FILE SERVER [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (mkdtemp(folder) == NULL) fail(folder);
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    // The child of a child: nobody waits for it, least of all the server.
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild < 0) fail("fork");
        if (grandchild == 0) feed(words[1], folder, path, log);
        return 0;
    }
    waitpid(child, NULL, 0);
    const char *fixed[] = {"--port", "0", "--unixsocket", path, "--logfile", log, "--dir", folder, "--save", ""};
    int more = sizeof fixed / sizeof *fixed;
    char **server = calloc(count + more, sizeof *server);
    server[0] = words[2];
    for (int i = 0; i < more; i++) server[1 + i] = (char *)fixed[i];
    for (int i = 3; i < count; i++) server[more + i - 2] = words[i];
    execv(server[0], server);
    fail(server[0]);
}
