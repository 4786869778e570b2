// What npm would publish: its files, its size, and that everybody can import it.

import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, expect, test } from "vitest";

import { compile, faultsOf, filesOf, packed, type Packed } from "./support/packed.ts";
import { ROOT } from "./support/server.ts";

const PACKAGE = join(import.meta.dirname, "..");
const BYTES_MAX = 32 * 1024;
let made: Packed;

beforeAll(async () => {
	made = await packed(PACKAGE);
});
afterAll(() => {
	rmSync(made.folder, { recursive: true, force: true });
});

test("it holds a module and its types for each source, a readme and a licence, and nothing else", () => {
	expect(made.files).toEqual(filesOf(PACKAGE));
});

test("it needs no other package, nothing runs when it is installed, and everybody may see it", () => {
	const { manifest } = made;
	expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["dependencies"]));
	expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual(["devDependencies"]);
	expect(Object.keys(manifest["scripts"] as object)).toEqual(["build", "check", "fix", "test"]);
	expect(manifest["publishConfig"]).toEqual({ access: "public" });
});

test("it has the version and the licence of the Python package", () => {
	const python = readFileSync(join(ROOT, "pyproject.toml"), "utf8");
	expect(made.manifest["version"]).toBe(/^version = "(.*)"$/m.exec(python)?.[1]);
	expect(made.manifest["license"]).toBe("Apache-2.0");
	expect(readFileSync(join(made.folder, "node_modules/@forklore/client/LICENSE"))).toEqual(
		readFileSync(join(ROOT, "LICENSE")),
	);
});

test("what the package itself imports is at most 32 KB, compressed", () => {
	const imported = new Set(["index.js"]);
	let code = "";
	for (const name of imported) {
		const text = readFileSync(join(PACKAGE, "dist", name), "utf8");
		for (const [, inner] of text.matchAll(/from "(\.{1,2}\/[\w/-]+\.js)"/g))
			if (inner) imported.add(posix.join(posix.dirname(name), inner));
		code += text;
	}
	expect(imported).toContain("generated/operations.js");
	expect(imported).not.toContain("chat.js");
	expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(BYTES_MAX);
});

test("publint finds nothing, and TypeScript finds the types", async () => {
	expect(await faultsOf(made)).toEqual({ faults: [], entrypoints: [".", "./chat", "./package.json"] });
});

const USE = `
import { ConflictError, Forklore, textOf, type Entry, type ListedEntry } from "@forklore/client";
import { ChatStore, type ChatTree } from "@forklore/client/chat";

const fl = new Forklore("http://127.0.0.1:9", { token: async () => "ann", retries: 0 });
try {
	const said: Entry = await fl.named("trip").say("user", "Hello", { key: undefined, tags: { a: "b" } });
	const entries: ListedEntry[] = (await fl.named("trip").tree()).entries;
	const forks = await fl.named("trip").fork({ after: said, count: 2 });
	const chat: ChatTree = await new ChatStore(fl, "trip").load();
	console.log(textOf(said), entries, forks.length, chat.headId);
} catch (error) {
	console.log((error as Error).name, error instanceof ConflictError);
}
`;

test("a program that uses it is checked with all types, and runs", async () => {
	await compile(made, USE, join(PACKAGE, "node_modules", "@types"));
	const run = promisify(execFile);
	const { stdout } = await run(process.execPath, ["use.js"], { cwd: made.folder });
	expect(stdout).toBe("NoAnswerError false\n");
});

test("the locks name no registry", () => {
	for (const name of ["package-lock.json", "tests/runtimes/package-lock.json", "../package-lock.json"]) {
		expect(readFileSync(join(PACKAGE, name), "utf8")).not.toMatch(/"resolved"|registry\./);
	}
});
