/* Builds quotes within quotes, a paragraph in each, with cmark: nested DEPTH. Prints the length as HTML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmark.h"

int main(int argc, char **argv) {
    cmark_node *document = cmark_node_new(CMARK_NODE_DOCUMENT), *at = document;
    for (int i = argc == 2 ? atoi(argv[1]) : 0; i > 0; i--) {
        cmark_node *quote = cmark_node_new(CMARK_NODE_BLOCK_QUOTE);
        cmark_node *paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH), *text = cmark_node_new(CMARK_NODE_TEXT);
        cmark_node_set_literal(text, "a few words");
        if (!cmark_node_append_child(at, quote) || !cmark_node_append_child(quote, paragraph) ||
            !cmark_node_append_child(paragraph, text))
            return 1;
        at = quote;
    }
    char *html = cmark_render_html(document, CMARK_OPT_DEFAULT);
    printf("%zu\n", strlen(html));
    free(html);
    cmark_node_free(document);
    return 0;
}
