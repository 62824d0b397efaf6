/* SPDX-License-Identifier: Apache-2.0 */
#include "document/expression.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "document/path.h"
#include "util/buffer.h"
#include "util/scoped.h"
#include "util/utf8.h"

/* --- operators and functions ----------------------------------------------------------------------- */

typedef enum ExpressionOperator {
        OPERATOR_LESS_EQUAL,
        OPERATOR_LESS,
        OPERATOR_GREATER_EQUAL,
        OPERATOR_GREATER,
        OPERATOR_EQUAL,
        OPERATOR_NOT_EQUAL,
        OPERATOR_ADD,
        OPERATOR_SUBTRACT,
        OPERATOR_MULTIPLY,
        OPERATOR_DIVIDE,
        N_EXPRESSION_OPERATORS,
} ExpressionOperator;

typedef enum ExpressionFunction {
        FUNCTION_MIN,
        FUNCTION_MAX,
        FUNCTION_MEAN,
        FUNCTION_SUM,
        FUNCTION_COUNT,
        FUNCTION_PERCENTILE,
        N_EXPRESSION_FUNCTIONS,
} ExpressionFunction;

#define EXPRESSION_LEVELS 3U /* levels of operators: comparisons, + and -, * and / */

/* <= precedes <, of which it begins with. */
static const struct {
        const char *text;
        unsigned level;
} operators[N_EXPRESSION_OPERATORS] = {
        [OPERATOR_LESS_EQUAL] = { "<=", 0 },
        [OPERATOR_LESS] = { "<", 0 },
        [OPERATOR_GREATER_EQUAL] = { ">=", 0 },
        [OPERATOR_GREATER] = { ">", 0 },
        [OPERATOR_EQUAL] = { "==", 0 },
        [OPERATOR_NOT_EQUAL] = { "!=", 0 },
        [OPERATOR_ADD] = { "+", 1 },
        [OPERATOR_SUBTRACT] = { "-", 1 },
        [OPERATOR_MULTIPLY] = { "*", 2 },
        [OPERATOR_DIVIDE] = { "/", 2 },
};

static const char *const functions[N_EXPRESSION_FUNCTIONS] = {
        [FUNCTION_MIN] = "min", [FUNCTION_MAX] = "max",     [FUNCTION_MEAN] = "mean",
        [FUNCTION_SUM] = "sum", [FUNCTION_COUNT] = "count", [FUNCTION_PERCENTILE] = "percentile",
};

/* Returns the operator of the level at the start of the text, of *ret_n bytes; N_EXPRESSION_OPERATORS: none. */
static ExpressionOperator find_operator(const char *text, unsigned level, size_t *ret_n) {
        for (ExpressionOperator i = 0; i < N_EXPRESSION_OPERATORS; i++) {
                *ret_n = strlen(operators[i].text);
                if (operators[i].level == level && strncmp(text, operators[i].text, *ret_n) == 0)
                        return i;
        }
        return N_EXPRESSION_OPERATORS;
}

/* Returns the function with a name of n bytes; N_EXPRESSION_FUNCTIONS: none. */
static ExpressionFunction find_function(const char *name, size_t n) {
        ExpressionFunction i = 0;

        while (i < N_EXPRESSION_FUNCTIONS && (strlen(functions[i]) != n || memcmp(functions[i], name, n) != 0))
                i++;
        return i;
}

static double compute(ExpressionOperator operator, double a, double b) {
        switch (operator) {
        case OPERATOR_LESS_EQUAL:
                return a <= b;
        case OPERATOR_LESS:
                return a < b;
        case OPERATOR_GREATER_EQUAL:
                return a >= b;
        case OPERATOR_GREATER:
                return a > b;
        case OPERATOR_EQUAL:
                return a == b;
        case OPERATOR_NOT_EQUAL:
                return a != b;
        case OPERATOR_ADD:
                return a + b;
        case OPERATOR_SUBTRACT:
                return a - b;
        case OPERATOR_MULTIPLY:
                return a * b;
        case OPERATOR_DIVIDE:
                return b == 0 ? (double)NAN : a / b;
        case N_EXPRESSION_OPERATORS:
                break;
        }
        return (double)NAN;
}

/* Computes a function of n > 0 numbers (n >= 0 for sum and count), and sorts them if it has to. percentage: of
 * percentile. */
static double reduce(ExpressionFunction function, double *numbers, size_t n, double percentage) {
        double sum = 0;

        switch (function) {
        case FUNCTION_COUNT:
                return (double)n;
        case FUNCTION_SUM:
        case FUNCTION_MEAN:
                for (size_t i = 0; i < n; i++)
                        sum += numbers[i];
                return function == FUNCTION_SUM ? sum : sum / (double)n;
        case FUNCTION_MIN:
        case FUNCTION_MAX:
        case FUNCTION_PERCENTILE:
                statistics_sort(numbers, n);
                return statistics_quantile_of_sorted(numbers, n,
                                                     function == FUNCTION_MIN   ? 0
                                                     : function == FUNCTION_MAX ? 1
                                                                                : percentage / 100);
        case N_EXPRESSION_FUNCTIONS:
                break;
        }
        return (double)NAN;
}

static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool begins_path(char c) {
        return is_letter(c) || c == '@' || c == '"';
}

/* --- parsing --------------------------------------------------------------------------------------- */

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

static int __attribute__((format(printf, 3, 4)))
wrong(ExpressionParser *parser, const char *at, const char *format, ...) {
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

/* --- nodes ---------------------------------------------------------------------------------------- */

static int add_node(ExpressionParser *parser, ExpressionKind kind, const char *begin, unsigned *ret) {
        Expression *expression = parser->expression;

        if (expression->n_nodes == EXPRESSION_NODES_MAX)
                return wrong(parser, begin, "too long: an expression may have %u numbers, names and operators",
                             EXPRESSION_NODES_MAX - 1);
        *ret = expression->n_nodes++;
        expression->nodes[*ret] = (ExpressionNode){ .kind = kind, .begin = (unsigned)(begin - expression->text) };
        return 0;
}

static int add_operator(ExpressionParser *parser, ExpressionOperator operator, const char * at, unsigned left,
                        unsigned right, unsigned *ret) {
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
                return wrong(parser, parser->p, "too deep: parentheses, functions and signs may be nested %u times",
                             EXPRESSION_DEPTH_MAX);
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
        PathStep step;
        size_t n_steps = 0;
        int r;

        while ((step = path_next(begin, &parser->p)).kind != PATH_END)
                if (step.kind >= PATH_PRODUCT || ++n_steps > EXPRESSION_STEPS_MAX)
                        return wrong(parser, begin,
                                     "not a path of at most %u steps: write it as a.b, a[0].b, a[].b or \"a-b\"",
                                     EXPRESSION_STEPS_MAX);
        if (*begin == '@' &&
            (n_steps < 2 || (strncmp(begin, "@result.", 8) != 0 && strncmp(begin, "@parameters.", 12) != 0)))
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
        ExpressionFunction function = find_function(begin, n_name);
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
                return wrong(parser, begin,
                             "percentile takes a list and a percentage, as in percentile(latencies, 95)");
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
        if (!begins_path(*p))
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

/* Parses operands of a higher level with operators of this one between them: * and / before + and - before
 * comparisons. */
static int parse_level(ExpressionParser *parser, unsigned level, unsigned *ret) {
        unsigned left, right;
        int r;

        if (level == EXPRESSION_LEVELS)
                return parse_unary(parser, ret);
        r = parse_level(parser, level + 1, &left);
        while (r == 0) {
                const char *at = parser->p;
                size_t n;
                ExpressionOperator operator = find_operator(at, level, &n);

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
                PathStep step;

                if (expression->nodes[i].kind != EXPRESSION_PATH)
                        continue;
                step = path_next(begin, &p);
                if (step.n > 0 && strncmp(begin, "@result.", 8) == 0)
                        step = path_next(begin, &p);
                if (step.n != strlen(name) || memcmp(step.key, name, step.n) != 0)
                        continue;
                *ret_column = column_at(expression->text, begin);
                return true;
        }
        return false;
}

/* --- evaluation ------------------------------------------------------------------------------------ */

typedef struct Evaluation {
        const Expression *expression;
        JsonText document;
        char *reason; /* EXPRESSION_TEXT_MAX */
} Evaluation;

/* Numbers of a function's arguments, or of one path. */
typedef struct PathNumbers {
        Buffer bytes; /* owned; doubles */
        size_t n;
        bool is_list;     /* a path led to a list */
        bool any_type;    /* items of any type are counted */
} PathNumbers;

static void numbers_deinit(PathNumbers *numbers) {
        buffer_deinit(&numbers->bytes);
}

static int __attribute__((format(printf, 2, 3))) no_value(const Evaluation *evaluation, const char *format, ...) {
        va_list args;

        va_start(args, format);
        utf8_vformat(evaluation->reason, EXPRESSION_TEXT_MAX, format, args);
        va_end(args);
        return EXPRESSION_NULL;
}

/* Names a path of n bytes in a reason, not more of it than fits. */
#define PATH_TEXT(path, n) (int)((n) < 100 ? (n) : 100), (path)

/* --- numbers of paths ------------------------------------------------------------------------------- */

typedef struct PathWalk {
        const Evaluation *evaluation;
        const char *path; /* n bytes */
        size_t n;
        PathNumbers *numbers;
} PathWalk;

static const char *kind_text(JsonText value) {
        static const char *const texts[] = {
                [JSON_KIND_NONE] = "missing",   [JSON_KIND_NULL] = "null",   [JSON_KIND_BOOL] = "a boolean",
                [JSON_KIND_NUMBER] = "a number", [JSON_KIND_STRING] = "a string", [JSON_KIND_LIST] = "a list",
                [JSON_KIND_OBJECT] = "an object",
        };

        return texts[json_text_kind(value)];
}

static int add_number(const PathWalk *walk, JsonText value) {
        double number = 0;

        if (json_text_kind(value) == JSON_KIND_NONE)
                return no_value(walk->evaluation, "'%.*s' is missing%s", PATH_TEXT(walk->path, walk->n),
                                walk->numbers->is_list ? " in an item" : "");
        if (!walk->numbers->any_type && !json_text_double(value, &number))
                return no_value(walk->evaluation, "'%.*s' is %s, not a number", PATH_TEXT(walk->path, walk->n),
                                kind_text(value));
        if (walk->numbers->n == EXPRESSION_ITEMS_MAX)
                return no_value(walk->evaluation, "'%.*s' has more than %u items", PATH_TEXT(walk->path, walk->n),
                                EXPRESSION_ITEMS_MAX);
        buffer_put(&walk->numbers->bytes, &number, sizeof(number));
        walk->numbers->n++;
        return buffer_error(&walk->numbers->bytes);
}

/* Adds the value at the end of a path; the numbers of a list one by one. */
static int add_values(const PathWalk *walk, JsonText value) {
        JsonWalk items = json_text_walk(value);
        JsonText unused, item;
        int r = 0;

        if (json_text_kind(value) != JSON_KIND_LIST)
                return add_number(walk, value);
        walk->numbers->is_list = true;
        while (r == 0 && json_text_walk_next(&items, &unused, &item))
                r = add_number(walk, item);
        return r;
}

static JsonText find_item(JsonText list, size_t index) {
        JsonWalk items = json_text_walk(list);
        JsonText unused, item;

        for (size_t i = 0; json_text_walk_next(&items, &unused, &item); i++)
                if (i == index)
                        return item;
        return (JsonText){};
}

static int follow(const PathWalk *walk, JsonText value, const char *p);

static int follow_all(const PathWalk *walk, JsonText list, const char *p) {
        JsonWalk items = json_text_walk(list);
        JsonText unused, item;
        int r = 0;

        if (json_text_kind(list) != JSON_KIND_LIST)
                return no_value(walk->evaluation, "'%.*s' is %s, not a list",
                                PATH_TEXT(walk->path, (size_t)(p - walk->path - 2)), kind_text(list));
        walk->numbers->is_list = true;
        while (r == 0 && json_text_walk_next(&items, &unused, &item))
                r = follow(walk, item, p);
        return r;
}

/* Each [] goes one level deeper: the depth is bounded by the number of steps. */
static int follow(const PathWalk *walk, JsonText value, const char *p) {
        while (p < walk->path + walk->n) {
                PathStep step = path_next(walk->path, &p);

                if (step.kind == PATH_ALL)
                        return follow_all(walk, value, p);
                if (step.kind == PATH_INDEX && json_text_kind(value) == JSON_KIND_LIST)
                        value = find_item(value, step.index);
                else
                        value = step.kind == PATH_KEY ? json_text_find_n(value, step.key, step.n) : (JsonText){};
        }
        return add_values(walk, value);
}

static int read_path(const Evaluation *evaluation, const ExpressionNode *node, PathNumbers *numbers) {
        PathWalk walk = { evaluation, evaluation->expression->text + node->begin, node->n, numbers };
        const char *p = walk.path, *behind;
        PathStep step = path_next(walk.path, &p);
        JsonText member;

        if (*walk.path == '@')
                return follow(&walk, json_text_find_n(evaluation->document, step.key, step.n), p);
        behind = p;
        member = json_text_find_n(json_text_find(evaluation->document, "@result"), step.key, step.n);
        if (!member.text)
                member = json_text_find_n(json_text_find(evaluation->document, "@parameters"), step.key, step.n);
        return follow(&walk, member, behind);
}

/* --- evaluation of nodes ---------------------------------------------------------------------------- */

static int evaluate(const Evaluation *evaluation, unsigned i, double *ret);

static int evaluate_path(const Evaluation *evaluation, const ExpressionNode *node, double *ret) {
        scoped(numbers_deinit) PathNumbers numbers = {};
        int r;

        r = read_path(evaluation, node, &numbers);
        if (r != 0)
                return r;
        if (numbers.is_list)
                return no_value(evaluation, "'%.*s' is a list: use a function such as mean()",
                                PATH_TEXT(evaluation->expression->text + node->begin, node->n));
        memcpy(ret, numbers.bytes.text, sizeof(*ret));
        return 0;
}

static int evaluate_operator(const Evaluation *evaluation, const ExpressionNode *node, double *ret) {
        double a, b;
        int r;

        r = evaluate(evaluation, node->first, &a);
        if (r == 0)
                r = evaluate(evaluation, evaluation->expression->nodes[node->first].next, &b);
        if (r != 0)
                return r;
        if (node->which == OPERATOR_DIVIDE && b == 0)
                return no_value(evaluation, "division by zero at column %u",
                                column_at(evaluation->expression->text, evaluation->expression->text + node->begin));
        *ret = compute((ExpressionOperator)node->which, a, b);
        return isfinite(*ret) ? 0 : no_value(evaluation, "the number is too large");
}

static int add_argument(const Evaluation *evaluation, unsigned i, PathNumbers *numbers) {
        double number;
        int r;

        if (evaluation->expression->nodes[i].kind == EXPRESSION_PATH)
                return read_path(evaluation, &evaluation->expression->nodes[i], numbers);
        r = evaluate(evaluation, i, &number);
        if (r != 0)
                return r;
        buffer_put(&numbers->bytes, &number, sizeof(number));
        numbers->n++;
        return buffer_error(&numbers->bytes);
}

static int evaluate_function(const Evaluation *evaluation, const ExpressionNode *node, double *ret) {
        scoped(numbers_deinit) PathNumbers numbers = { .any_type = node->which == FUNCTION_COUNT };
        const ExpressionNode *nodes = evaluation->expression->nodes;
        bool is_percentile = node->which == FUNCTION_PERCENTILE;
        double percentage = 0;
        unsigned i = node->first;
        int r = 0;

        for (; r == 0 && i != 0 && !(is_percentile && nodes[i].next == 0); i = nodes[i].next)
                r = add_argument(evaluation, i, &numbers);
        if (r == 0 && is_percentile)
                r = evaluate(evaluation, i, &percentage);
        if (r != 0)
                return r;
        if (!(percentage >= 0 && percentage <= 100))
                return no_value(evaluation, "the percentage of percentile is not between 0 and 100");
        if (numbers.n == 0 && node->which != FUNCTION_COUNT && node->which != FUNCTION_SUM)
                return no_value(evaluation, "the list is empty");

        *ret = reduce((ExpressionFunction)node->which, (double *)(void *)numbers.bytes.text, numbers.n, percentage);
        return isfinite(*ret) ? 0 : no_value(evaluation, "the number is too large");
}

static int evaluate(const Evaluation *evaluation, unsigned i, double *ret) {
        const ExpressionNode *node = &evaluation->expression->nodes[i];

        switch (node->kind) {
        case EXPRESSION_NUMBER:
                *ret = node->number;
                return 0;
        case EXPRESSION_PATH:
                return evaluate_path(evaluation, node, ret);
        case EXPRESSION_OPERATOR:
                return evaluate_operator(evaluation, node, ret);
        case EXPRESSION_FUNCTION:
                return evaluate_function(evaluation, node, ret);
        }
        return no_value(evaluation, "not an expression");
}

int expression_evaluate(const Expression *expression, JsonText document, double *ret,
                        char ret_reason[static EXPRESSION_TEXT_MAX]) {
        return evaluate(&(Evaluation){ expression, document, ret_reason }, expression->root, ret);
}
