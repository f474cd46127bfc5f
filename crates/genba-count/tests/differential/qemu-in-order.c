/* Stands before qemu, which hands over the environment in the reverse order: it gets it reversed. */
#include <unistd.h>

int main(int argc, char **argv, char **environment)
{
    (void)argc;
    int variables = 0;
    while (environment[variables])
        variables++;
    for (int i = 0; i < variables / 2; i++) {
        char *one = environment[i];
        environment[i] = environment[variables - 1 - i];
        environment[variables - 1 - i] = one;
    }
    execve(QEMU, argv, environment);
    return 127;
}
