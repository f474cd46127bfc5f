/* Parses a file as YAML and prints how many events it has, and the bytes of its scalars. */
#include <stdio.h>
#include <yaml.h>

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    yaml_parser_t parser;
    yaml_event_t event;
    unsigned long events = 0, bytes = 0;
    int done = 0;
    if (file == NULL || !yaml_parser_initialize(&parser))
        return 1;
    yaml_parser_set_input_file(&parser, file);
    while (!done) {
        if (!yaml_parser_parse(&parser, &event))
            return 2;
        events++;
        if (event.type == YAML_SCALAR_EVENT)
            bytes += event.data.scalar.length;
        done = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    fclose(file);
    printf("%lu %lu\n", events, bytes);
    return 0;
}
