/* SPDX-License-Identifier: Apache-2.0 */
#include "document/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/expression_path.h"
#include "document/expression_words.h"
#include "util/scoped.h"
#include "util/utf8.h"

typedef struct ExpressionParser {
        Expression *expression;
        const char *p;
        unsigned depth;
        ExpressionError *error;
} ExpressionParser;

static unsigned column_at(const char *text, const char *p) {
        unsigned column = 1;

        for (; text < p; text++)
                column += ((unsigned char)*text & 0xc0) != 0x80;
        return column;
}

static int __attribute__((format(printf, 3, 4))) wrong(ExpressionParser *parser, const char *at, const char *format, ...) {
        va_list args;

        va_start(args, format);
        utf8_vformat(parser->error->text, sizeof(parser->error->text), format, args);
        va_end(args);
        parser->error->column = column_at(parser->expression->text, at);
        return EXPRESSION_INVALID;
}

static void skip_blanks(ExpressionParser *parser) {
        while (*parser->p == ' ' || *parser->p == '\t' || *parser->p == '\n')
                parser->p++;
}

unsigned expression_column(const Expression *expression, size_t at) {
        return column_at(expression->text, expression->text + at);
}

/* --- nodes ---------------------------------------------------------------------------------------- */

static int add_node(ExpressionParser *parser, ExpressionKind kind, const char *begin, unsigned *ret) {
        Expression *expression = parser->expression;

        if (expression->n_nodes == EXPRESSION_NODES_MAX)
                return wrong(parser, begin, "too long: an expression may have %u numbers, names and operators", EXPRESSION_NODES_MAX - 1);
        *ret = expression->n_nodes++;
        expression->nodes[*ret] = (ExpressionNode){ .kind = kind, .begin = (unsigned)(begin - expression->text) };
        return 0;
}

static int add_operator(ExpressionParser *parser, ExpressionOperator operator, const char *at, unsigned left, unsigned right,
                        unsigned *ret) {
        int r;

        r = add_node(parser, EXPRESSION_OPERATOR, at, ret);
        if (r != 0)
                return r;
        parser->expression->nodes[*ret].which = operator;
        parser->expression->nodes[*ret].first = left;
        parser->expression->nodes[left].next = right;
        return 0;
}

/* --- grammar -------------------------------------------------------------------------------------- */

static int parse_comparison(ExpressionParser *parser, unsigned *ret);

/* Parses the inside of parentheses or of a function, or the operand of a sign. */
static int parse_inner(ExpressionParser *parser, int (*parse)(ExpressionParser *, unsigned *), unsigned *ret) {
        int r;

        if (parser->depth == EXPRESSION_DEPTH_MAX)
                return wrong(parser, parser->p, "too deep: parentheses, functions and signs may be nested %u times", EXPRESSION_DEPTH_MAX);
        parser->depth++;
        r = parse(parser, ret);
        parser->depth--;
        return r;
}

static int parse_number(ExpressionParser *parser, unsigned *ret) {
        const char *begin = parser->p;
        char *end;
        double number = strtod(begin, &end);
        int r;

        if (end == begin || (begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X')) || !isfinite(number))
                return wrong(parser, begin, "not a number: write it as 1000, 0.5 or 1e-3");
        r = add_node(parser, EXPRESSION_NUMBER, begin, ret);
        if (r == 0)
                parser->expression->nodes[*ret].number = number;
        parser->p = end;
        return r;
}

static int parse_path(ExpressionParser *parser, unsigned *ret) {
        const char *begin = parser->p;
        ExpressionStep step;
        size_t n_steps = 0;
        int r;

        while ((step = expression_path_next(begin, &parser->p)).kind != EXPRESSION_STEP_END)
                if (step.kind == EXPRESSION_STEP_WRONG || ++n_steps > EXPRESSION_STEPS_MAX)
                        return wrong(parser, begin, "not a path of at most %u steps: write it as a.b, a[0].b, a[].b or \"a-b\"",
                                     EXPRESSION_STEPS_MAX);
        if (*begin == '@' && (n_steps < 2 || (strncmp(begin, "@result.", 8) != 0 && strncmp(begin, "@parameters.", 12) != 0)))
                return wrong(parser, begin, "after @, write @result.KEY or @parameters.KEY");
        r = add_node(parser, EXPRESSION_PATH, begin, ret);
        if (r == 0)
                parser->expression->nodes[*ret].n = (unsigned)(parser->p - begin);
        return r;
}

static int parse_arguments(ExpressionParser *parser, unsigned function, size_t *ret_n) {
        unsigned last = 0, argument;
        int r;

        for (*ret_n = 0;; parser->p++) {
                r = parse_inner(parser, parse_comparison, &argument);
                if (r != 0)
                        return r;
                if (last)
                        parser->expression->nodes[last].next = argument;
                else
                        parser->expression->nodes[function].first = argument;
                last = argument;
                (*ret_n)++;
                if (*parser->p != ',')
                        return 0;
        }
}

static int parse_function(ExpressionParser *parser, size_t n_name, unsigned *ret) {
        const char *begin = parser->p;
        ExpressionFunction function = expression_words_function(begin, n_name);
        size_t n_arguments;
        int r;

        if (function == N_EXPRESSION_FUNCTIONS)
                return wrong(parser, begin, "'%.*s' is not a function: use min, max, mean, sum, count or percentile",
                             (int)(n_name < 40 ? n_name : 40), begin);
        r = add_node(parser, EXPRESSION_FUNCTION, begin, ret);
        if (r != 0)
                return r;
        parser->expression->nodes[*ret].which = function;
        parser->p += n_name;
        skip_blanks(parser);
        parser->p++; /* the parenthesis */
        r = parse_arguments(parser, *ret, &n_arguments);
        if (r != 0)
                return r;
        if (*parser->p != ')')
                return wrong(parser, parser->p, "expected , or ) after an argument");
        if (function == FUNCTION_PERCENTILE && n_arguments < 2)
                return wrong(parser, begin, "percentile takes a list and a percentage, as in percentile(latencies, 95)");
        parser->p++;
        return 0;
}

static int parse_primary(ExpressionParser *parser, unsigned *ret) {
        const char *p = parser->p;
        size_t n_name = 0;
        int r;

        if ((*p >= '0' && *p <= '9') || *p == '.')
                return parse_number(parser, ret);
        if (*p == '(') {
                parser->p++;
                r = parse_inner(parser, parse_comparison, ret);
                if (r != 0)
                        return r;
                if (*parser->p != ')')
                        return wrong(parser, parser->p, "expected ) for the parenthesis at column %u",
                                     column_at(parser->expression->text, p));
                parser->p++;
                return 0;
        }
        if (!expression_path_begins(*p))
                return wrong(parser, p, *p ? "expected a number, a name, or a parenthesis"
                                           : "the expression ends where a number or a name is expected");

        while ((p[n_name] >= 'a' && p[n_name] <= 'z') || (p[n_name] >= 'A' && p[n_name] <= 'Z') || p[n_name] == '_')
                n_name++;
        p += n_name;
        p += strspn(p, " \t\n");
        return n_name > 0 && *p == '(' ? parse_function(parser, n_name, ret) : parse_path(parser, ret);
}

static int parse_unary(ExpressionParser *parser, unsigned *ret) {
        const char *at;
        unsigned zero, right;
        int r;

        skip_blanks(parser);
        at = parser->p;
        if (*at != '-') {
                r = parse_primary(parser, ret);
                skip_blanks(parser);
                return r;
        }

        parser->p++;
        r = add_node(parser, EXPRESSION_NUMBER, at, &zero);
        if (r == 0)
                r = parse_inner(parser, parse_unary, &right);
        return r == 0 ? add_operator(parser, OPERATOR_SUBTRACT, at, zero, right, ret) : r;
}

/* Parses operands of a higher level with operators of this one between them: * and / before + and - before comparisons. */
static int parse_level(ExpressionParser *parser, unsigned level, unsigned *ret) {
        unsigned left, right;
        int r;

        if (level == EXPRESSION_LEVELS)
                return parse_unary(parser, ret);
        r = parse_level(parser, level + 1, &left);
        while (r == 0) {
                const char *at = parser->p;
                size_t n;
                ExpressionOperator operator = expression_words_operator(at, level, &n);

                if (operator == N_EXPRESSION_OPERATORS)
                        break;
                parser->p += n;
                r = parse_level(parser, level + 1, &right);
                if (r == 0)
                        r = add_operator(parser, operator, at, left, right, &left);
                if (r == 0 && level == 0)
                        break; /* a < b < c would compare 1 or 0 with c */
        }
        if (r == 0)
                *ret = left;
        return r;
}

static int parse_comparison(ExpressionParser *parser, unsigned *ret) {
        return parse_level(parser, 0, ret);
}

int expression_parse(const char *text, Expression *ret, ExpressionError *ret_error) {
        ExpressionParser parser = { .expression = ret, .p = text, .error = ret_error };
        int r;

        ret->text = text;
        ret->n_nodes = 1;
        if (strnlen(text, EXPRESSION_BYTES_MAX + 1) > EXPRESSION_BYTES_MAX)
                return wrong(&parser, text, "too long: an expression may have %u bytes", EXPRESSION_BYTES_MAX);

        r = parse_comparison(&parser, &ret->root);
        if (r == 0 && *parser.p)
                r = wrong(&parser, parser.p, "expected an operator or the end: + - * / < <= > >= == !=");
        return r;
}

bool expression_names_result(const Expression *expression, const char *name, unsigned *ret_column) {
        for (unsigned i = 1; i < expression->n_nodes; i++) {
                const char *begin = expression->text + expression->nodes[i].begin, *p = begin;
                ExpressionStep step;

                if (expression->nodes[i].kind != EXPRESSION_PATH)
                        continue;
                step = expression_path_next(begin, &p);
                if (step.n > 0 && strncmp(begin, "@result.", 8) == 0)
                        step = expression_path_next(begin, &p);
                if (step.n != strlen(name) || memcmp(step.key, name, step.n) != 0)
                        continue;
                *ret_column = column_at(expression->text, begin);
                return true;
        }
        return false;
}
