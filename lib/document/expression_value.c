/* SPDX-License-Identifier: Apache-2.0 */
#include "document/expression.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "document/expression_path.h"
#include "document/expression_words.h"
#include "util/buffer.h"
#include "util/scoped.h"
#include "util/utf8.h"

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

/* --- paths ---------------------------------------------------------------------------------------- */

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
                return no_value(walk->evaluation, "'%.*s' is %s, not a number", PATH_TEXT(walk->path, walk->n), kind_text(value));
        if (walk->numbers->n == EXPRESSION_ITEMS_MAX)
                return no_value(walk->evaluation, "'%.*s' has more than %u items", PATH_TEXT(walk->path, walk->n), EXPRESSION_ITEMS_MAX);
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
                return no_value(walk->evaluation, "'%.*s' is %s, not a list", PATH_TEXT(walk->path, (size_t)(p - walk->path - 2)),
                                kind_text(list));
        walk->numbers->is_list = true;
        while (r == 0 && json_text_walk_next(&items, &unused, &item))
                r = follow(walk, item, p);
        return r;
}

/* Each [] goes one level deeper: the depth is bounded by the number of steps. */
static int follow(const PathWalk *walk, JsonText value, const char *p) {
        while (p < walk->path + walk->n) {
                ExpressionStep step = expression_path_next(walk->path, &p);

                if (step.kind == EXPRESSION_STEP_ALL)
                        return follow_all(walk, value, p);
                if (step.kind == EXPRESSION_STEP_INDEX && json_text_kind(value) == JSON_KIND_LIST)
                        value = find_item(value, step.index);
                else
                        value = step.kind == EXPRESSION_STEP_KEY ? json_text_find_n(value, step.key, step.n) : (JsonText){};
        }
        return add_values(walk, value);
}

static int read_path(const Evaluation *evaluation, const ExpressionNode *node, PathNumbers *numbers) {
        PathWalk walk = { evaluation, evaluation->expression->text + node->begin, node->n, numbers };
        const char *p = walk.path, *behind;
        ExpressionStep step = expression_path_next(walk.path, &p);
        JsonText member;

        if (*walk.path == '@')
                return follow(&walk, json_text_find_n(evaluation->document, step.key, step.n), p);
        behind = p;
        member = json_text_find_n(json_text_find(evaluation->document, "@result"), step.key, step.n);
        if (!member.text)
                member = json_text_find_n(json_text_find(evaluation->document, "@parameters"), step.key, step.n);
        return follow(&walk, member, behind);
}

/* --- nodes ---------------------------------------------------------------------------------------- */

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
                return no_value(evaluation, "division by zero at column %u", expression_column(evaluation->expression, node->begin));
        *ret = expression_words_compute((ExpressionOperator)node->which, a, b);
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

        *ret = expression_words_reduce((ExpressionFunction)node->which, (double *)(void *)numbers.bytes.text, numbers.n, percentage);
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

int expression_evaluate(const Expression *expression, JsonText document, double *ret, char ret_reason[static EXPRESSION_TEXT_MAX]) {
        return evaluate(&(Evaluation){ expression, document, ret_reason }, expression->root, ret);
}
