/* Reads a printer's G-code, keeps the machine's state and adds up the time and the filament of a print. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
    double position[4];
    double feed, seconds, filament;
    int relative_axes, relative_extruder;
    int fan, bed, nozzle, motors;
    uint64_t moves, commands;
};

static int is_command(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == '\n' || line[length] == ';');
}

static const char *next_word(const char *at)
{
    while (*at != ' ' && *at != '\n')
        at++;
    while (*at == ' ')
        at++;
    return at;
}

static double parse_number(const char *at)
{
    int negative = *at == '-';
    at += negative;
    int64_t digits = 0;
    double scale = 1;
    while (*at >= '0' && *at <= '9')
        digits = digits * 10 + (*at++ - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) {
            digits = digits * 10 + (*at - '0');
            scale *= 10;
        }
    return (negative ? -(double)digits : (double)digits) / scale;
}

static double parameter(const char *line, char letter, double otherwise)
{
    for (const char *at = next_word(line); *at != '\n'; at = next_word(at))
        if (*at == letter)
            return parse_number(at + 1);
    return otherwise;
}

static void move(struct machine *m, const char *line)
{
    double target[4];
    memcpy(target, m->position, sizeof target);
    for (const char *at = next_word(line); *at != '\n'; at = next_word(at)) {
        double value = parse_number(at + 1);
        switch (*at) {
        case 'X': target[0] = m->relative_axes ? target[0] + value : value; break;
        case 'Y': target[1] = m->relative_axes ? target[1] + value : value; break;
        case 'Z': target[2] = m->relative_axes ? target[2] + value : value; break;
        case 'E': target[3] = m->relative_extruder ? target[3] + value : value; break;
        case 'F': m->feed = value; break;
        }
    }
    double square = 0;
    for (int axis = 0; axis < 3; axis++)
        square += (target[axis] - m->position[axis]) * (target[axis] - m->position[axis]);
    m->seconds += sqrt(square) * 60 / m->feed;
    m->filament += target[3] - m->position[3];
    memcpy(m->position, target, sizeof target);
    m->moves++;
}

static void execute(struct machine *m, const char *line)
{
    m->commands++;
    if (is_command(line, "M104") || is_command(line, "M109"))
        m->nozzle = (int)parameter(line, 'S', 0);
    else if (is_command(line, "M140") || is_command(line, "M190"))
        m->bed = (int)parameter(line, 'S', 0);
    else if (is_command(line, "M106"))
        m->fan = (int)parameter(line, 'S', 255);
    else if (is_command(line, "M107"))
        m->fan = 0;
    else if (is_command(line, "M17"))
        m->motors = 1;
    else if (is_command(line, "M84"))
        m->motors = 0;
    else if (is_command(line, "M82"))
        m->relative_extruder = 0;
    else if (is_command(line, "M83"))
        m->relative_extruder = 1;
    else if (is_command(line, "G90"))
        m->relative_axes = 0;
    else if (is_command(line, "G91"))
        m->relative_axes = 1;
    else if (is_command(line, "G92"))
        m->position[3] = parameter(line, 'E', m->position[3]);
    else if (is_command(line, "G28"))
        m->position[0] = m->position[1] = m->position[2] = 0;
    else if (is_command(line, "G0") || is_command(line, "G1"))
        move(m, line);
}

static char *slice_model(size_t lines)
{
    char *text = malloc(lines * 48 + 64), *to = text;
    uint32_t state = 5;
    to += sprintf(to, "M104 S210\nM140 S60\nG28\nM83\n");
    for (size_t i = 0; i < lines; i++) {
        state = state * 1664525 + 1013904223;
        uint32_t r = state >> 8;
        if (r % 211 == 0)
            to += sprintf(to, "M106 S%u\n", r % 256);
        else if (r % 199 == 0)
            to += sprintf(to, "G92 E0\n");
        else
            to += sprintf(to, r % 17 ? "G1 X%u.%u Y%u.%u E.%04u\n" : "G1 X%u.%u Y%u.%u F%u\n", r % 200, r % 10, r / 200 % 200, r / 7 % 10, 1000 + r % 500);
    }
    *to = 0;
    return text;
}

int main(int argc, char **argv)
{
    size_t lines = argc > 1 ? strtoul(argv[1], 0, 10) : 10000;
    int prints = argc > 2 ? atoi(argv[2]) : 10;
    char *text = slice_model(lines);
    struct machine m = {.feed = 1500};
    for (int p = 0; p < prints; p++)
        for (const char *line = text; *line; line = strchr(line, '\n') + 1)
            execute(&m, line);
    printf("%llu commands, %llu moves, %.3f s, %.3f mm, fan %d\n", (unsigned long long)m.commands, (unsigned long long)m.moves, m.seconds, m.filament, m.fan);
    free(text);
    return 0;
}
