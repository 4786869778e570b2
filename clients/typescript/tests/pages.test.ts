// The pages: their lines are checked, run as one program for each page, and print what the page says.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { ROOT } from "./support/server.ts";

const PACKAGE = join(import.meta.dirname, "..");
const BLOCK = /```ts\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs;
const END = "the end of a block";
const PAGES = ["README.md", "docs/typescript.md", "clients/typescript/README.md"];
const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
	mkdirSync(join(PACKAGE, "build"), { recursive: true });
	folder = mkdtempSync(join(PACKAGE, "build", "pages-")); // inside, so that the package finds itself
	PAGES.forEach((page, index) => {
		writeFileSync(join(folder, `${index}.ts`), program(page));
	});
	const compilerOptions = {
		strict: true,
		target: "ES2022",
		module: "NodeNext",
		lib: ["ES2023", "DOM"],
		types: [],
	};
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
	await run(join(PACKAGE, "node_modules", ".bin", "tsc"), [], { cwd: folder }).catch((error: unknown) => {
		throw new Error((error as { stdout: string }).stdout);
	});
});
afterAll(() => {
	rmSync(folder, { recursive: true, force: true });
});

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** Each page has a user of its own, as if it had a server of its own. */
const userOf = (page: string): string => `ann of ${page}`;

/** Return the blocks of a page, each in its line, for the server of the tests. */
function program(page: string): string {
	const text = textOf(page);
	let code = "";
	for (const { index, 1: lines = "" } of text.matchAll(BLOCK)) {
		const line = text.slice(0, index).split("\n").length;
		code += "\n".repeat(line - code.split("\n").length + 1);
		code += `${lines.trimEnd()}; console.log("${END}");`;
	}
	return code.replaceAll("http://127.0.0.1:8080", inject("url")).replaceAll('"ann"', `"${userOf(page)}"`);
}

test.each(PAGES.map((page, index) => [page, index] as const))("%s", async (page, index) => {
	const expected = [...textOf(page).matchAll(BLOCK)].map((block) => block[2] ?? "");
	const { stdout } = await run(process.execPath, [`${index}.js`], { cwd: folder });
	const printed = stdout.replaceAll(userOf(page), "ann");
	expect(printed.split(`${END}\n`).slice(0, -1)).toEqual(expected);
	expect(expected.length).toBeGreaterThan(0);
});
