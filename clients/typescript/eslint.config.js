import js from "@eslint/js";
import globals from "globals";
import typescript from "typescript-eslint";

/** Return the rules for the package in a folder. */
export const configured = (folder) =>
	typescript.config(
		{ ignores: ["build", "dist", "**/node_modules", "src/generated"] },
		js.configs.recommended,
		typescript.configs.strictTypeChecked,
		typescript.configs.stylisticTypeChecked,
		{
			// One program for the sources and their tests: with `projectService` each would have its own.
			languageOptions: { parserOptions: { project: "*/tsconfig.json", tsconfigRootDir: folder } },
			linterOptions: { reportUnusedDisableDirectives: "error" },
			rules: {
				eqeqeq: "error",
				"no-eval": "error",
				"no-var": "error",
				"object-shorthand": "error",
				"prefer-const": "error",
				"@typescript-eslint/no-confusing-void-expression": ["error", { ignoreVoidReturningFunctions: true }],
				"@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_" }],
				"@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
			},
		},
		{
			files: ["**/*.js"],
			extends: [typescript.configs.disableTypeChecked],
			languageOptions: { globals: globals.nodeBuiltin },
		},
	);

export default configured(import.meta.dirname);
