/* Parses arithmetic expressions into trees, evaluates them, and frees them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    char op;            /* 0: a number */
    int64_t number;
    struct node *left, *right;
};

struct parser {
    const char *at;
    unsigned long nodes;
};

static struct node *make_node(struct parser *p, char op, int64_t number, struct node *left, struct node *right)
{
    struct node *n = malloc(sizeof *n);
    if (!n)
        abort();
    *n = (struct node){op, number, left, right};
    p->nodes++;
    return n;
}

static void release(struct parser *p, struct node *n)
{
    if (!n)
        return;
    release(p, n->left);
    release(p, n->right);
    free(n);
}

static struct node *parse_sum(struct parser *p);

static struct node *parse_atom(struct parser *p)
{
    if (*p->at == '(') {
        p->at++;
        struct node *n = parse_sum(p);
        p->at++;
        return n;
    }
    int64_t number = 0;
    while (*p->at >= '0' && *p->at <= '9')
        number = number * 10 + (*p->at++ - '0');
    return make_node(p, 0, number, NULL, NULL);
}

static struct node *parse_product(struct parser *p)
{
    struct node *n = parse_atom(p);
    while (*p->at == '*') {
        p->at++;
        n = make_node(p, '*', 0, n, parse_atom(p));
    }
    return n;
}

static struct node *parse_sum(struct parser *p)
{
    struct node *n = parse_product(p);
    while (*p->at == '+' || *p->at == '-') {
        char op = *p->at++;
        n = make_node(p, op, 0, n, parse_product(p));
    }
    return n;
}

static int64_t evaluate(const struct node *n)
{
    if (!n->op)
        return n->number;
    uint64_t a = (uint64_t)evaluate(n->left), b = (uint64_t)evaluate(n->right);
    return (int64_t)(n->op == '*' ? a * b : n->op == '+' ? a + b : a - b);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    static const char *const texts[] = {
        "1+2*3-(4*5+6)*7+8", "12*(34-5)+6*(7+8*(9-1))", "(1+2)*(3+4)*(5+6)*(7+8)-9",
        "100-20*3+(44-4*(5+6))*(7-2)+1*2*3",
    };
    struct parser p = {0};
    uint64_t digest = 0;
    for (int r = 0; r < rounds; r++) {
        p.at = texts[r & 3];
        struct node *tree = parse_sum(&p);
        digest = digest * 31 + (uint64_t)evaluate(tree);
        release(&p, tree);
    }
    printf("%lu nodes, %016llx\n", p.nodes, (unsigned long long)digest);
    return 0;
}
