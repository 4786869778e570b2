import js from "@eslint/js";
import globals from "globals";
import typescript from "typescript-eslint";

// What a conversation holds must never be interpreted as HTML or as code.
const asHtml = [
	"innerHTML",
	"outerHTML",
	"insertAdjacentHTML",
	"setHTMLUnsafe",
	"createContextualFragment",
	"dangerouslySetInnerHTML",
];
const message = "Make elements: text goes in as text.";

export default typescript.config(
	{ ignores: ["web/built"] },
	js.configs.recommended,
	typescript.configs.recommendedTypeChecked,
	{
		languageOptions: {
			globals: globals.browser,
			parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
		},
		linterOptions: { reportUnusedDisableDirectives: "error" },
		rules: {
			eqeqeq: "error",
			"no-eval": "error",
			"no-implied-eval": "error",
			"no-new-func": "error",
			"no-restricted-properties": [
				"error",
				...asHtml.map((property) => ({ property, message })),
				{ object: "document", property: "write" },
			],
			"no-restricted-syntax": [
				"error",
				{ selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message },
			],
			"no-script-url": "error",
			"no-var": "error",
			"object-shorthand": "error",
			"prefer-const": "error",
			"@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: false }],
			"@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
		},
	},
);
