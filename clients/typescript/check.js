// `node check.js` in the folder of a package: check its types, then lint it. TypeScript reads everything once for both.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { ESLint } from "eslint";
import ts from "typescript";

const folder = process.cwd();
const places = ["tests", "example"].map((part) => join(folder, part, "tsconfig.json")).filter(existsSync);

const host = {
	...ts.sys,
	onUnRecoverableConfigFileDiagnostic: (told) => {
		throw new Error(ts.flattenDiagnosticMessageText(told.messageText, "\n"));
	},
};
const programs = places.map((place) => {
	const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(place, {}, host);
	return ts.createProgram({ rootNames: fileNames, options, configFileParsingDiagnostics: errors });
});

const found = programs.flatMap((program) => ts.getPreEmitDiagnostics(program));
const formatting = {
	getCanonicalFileName: (name) => name,
	getCurrentDirectory: () => folder,
	getNewLine: () => "\n",
};
process.stdout.write(ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(found), formatting));

const eslint = new ESLint({
	overrideConfig: {
		files: ["**/*.ts", "**/*.tsx"],
		languageOptions: { parserOptions: { programs, project: null } },
	},
});
const linted = await eslint.lintFiles(".");
process.stdout.write(await (await eslint.loadFormatter()).format(linted));

const isClean = linted.every(({ errorCount, warningCount }) => errorCount + warningCount === 0);
process.exitCode = found.length === 0 && isClean ? 0 : 1;
