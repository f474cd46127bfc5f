// Selects elements of an XML file by a path, in the order of the document: select FILE TIMES.
#include <cstdio>
#include <cstdlib>

#include "pugixml.hpp"

int main(int, char **arguments)
{
    pugi::xml_document document;
    if (!document.load_file(arguments[1]))
        return 1;
    const pugi::xpath_query query("/parts/part/note");
    size_t total = 0;
    for (long i = std::atol(arguments[2]); i > 0; --i) {
        pugi::xpath_node_set notes = query.evaluate_node_set(document);
        notes.sort();
        total += notes.size() + notes[0].node().text().get()[0];
    }
    std::printf("%zu\n", total);
    return 0;
}
