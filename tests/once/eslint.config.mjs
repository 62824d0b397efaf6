/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the scripts of the web page: mistakes, not style. */

const browser = ["AbortController", "AbortSignal", "Blob", "EventSource", "FormData", "ImageData", "Node", "ResizeObserver", "URL", "URLSearchParams",
        "addEventListener", "clearTimeout", "document", "fetch", "getComputedStyle", "getSelection", "history", "location", "matchMedia", "navigator",
        "performance", "scrollTo", "setTimeout"];

export default [{
        files: ["web/{app,figures,report}/*.js"],
        languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
        linterOptions: { reportUnusedDisableDirectives: "error" },
        rules: Object.fromEntries(["array-callback-return", "constructor-super", "eqeqeq", "for-direction", "getter-return", "no-async-promise-executor",
                "no-caller", "no-class-assign", "no-compare-neg-zero", "no-cond-assign", "no-const-assign", "no-constant-binary-expression",
                "no-constant-condition", "no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys", "no-duplicate-case",
                "no-duplicate-imports", "no-empty", "no-empty-pattern", "no-eval", "no-extend-native", "no-fallthrough", "no-func-assign",
                "no-global-assign", "no-implied-eval", "no-import-assign", "no-loss-of-precision", "no-misleading-character-class", "no-new-func",
                "no-new-wrappers", "no-obj-calls", "no-prototype-builtins", "no-redeclare", "no-script-url", "no-self-assign", "no-self-compare",
                "no-setter-return", "no-shadow-restricted-names", "no-sparse-arrays", "no-template-curly-in-string", "no-this-before-super",
                "no-throw-literal", "no-undef", "no-unmodified-loop-condition", "no-unreachable", "no-unreachable-loop", "no-unsafe-finally",
                "no-unsafe-negation", "no-unsafe-optional-chaining", "no-unused-expressions", "no-unused-private-class-members", "no-unused-vars",
                "no-useless-backreference", "no-useless-catch", "no-useless-escape", "no-useless-rename", "no-var", "prefer-const", "require-yield",
                "use-isnan", "valid-typeof"].map((rule) => [rule, "error"])),
}];
