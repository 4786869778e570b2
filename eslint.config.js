import js from "@eslint/js";
import globals from "globals";

// What a conversation holds must never be interpreted as HTML or as code.
const asHtml = [
	"innerHTML",
	"outerHTML",
	"insertAdjacentHTML",
	"setHTMLUnsafe",
	"createContextualFragment",
].map((property) => ({ property, message: "Make elements with dom.js: text goes in as text." }));

export default [
	js.configs.recommended,
	{
		linterOptions: { reportUnusedDisableDirectives: "error" },
		rules: {
			eqeqeq: "error",
			"no-eval": "error",
			"no-implied-eval": "error",
			"no-new-func": "error",
			"no-restricted-properties": ["error", ...asHtml, { object: "document", property: "write" }],
			"no-script-url": "error",
			"no-var": "error",
			"object-shorthand": "error",
			"prefer-const": "error",
		},
	},
	{ files: ["web/**/*.js"], languageOptions: { globals: globals.browser } },
	{ files: ["tests/web/unit/**/*.js"], languageOptions: { globals: globals.nodeBuiltin } },
];
