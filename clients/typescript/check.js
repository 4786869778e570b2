// `node check.js FOLDER WHAT TSCONFIG…`: check the types of projects, then lint WHAT. TypeScript reads everything
// once for both. FOLDER: the one whose node_modules has TypeScript and ESLint.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import process from "node:process";

const [folder, linted, ...places] = process.argv.slice(2);
const required = createRequire(resolve(folder, "package.json"));
const { ESLint } = required("eslint");
const ts = required("typescript");

const host = {
	...ts.sys,
	onUnRecoverableConfigFileDiagnostic: (told) => {
		throw new Error(ts.flattenDiagnosticMessageText(told.messageText, "\n"));
	},
};
const programs = places.map((place) => {
	const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(resolve(place), {}, host);
	return ts.createProgram({ rootNames: fileNames, options, configFileParsingDiagnostics: errors });
});

const found = programs.flatMap((program) => ts.getPreEmitDiagnostics(program));
const formatting = {
	getCanonicalFileName: (name) => name,
	getCurrentDirectory: () => process.cwd(),
	getNewLine: () => "\n",
};
process.stdout.write(ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(found), formatting));

const eslint = new ESLint({
	overrideConfig: {
		files: ["**/*.ts", "**/*.tsx"],
		languageOptions: { parserOptions: { programs, project: null, projectService: false } },
	},
});
const results = await eslint.lintFiles(linted);
process.stdout.write(await (await eslint.loadFormatter()).format(results));

const isClean = results.every(({ errorCount, warningCount }) => errorCount + warningCount === 0);
process.exitCode = found.length === 0 && isClean ? 0 : 1;
