// What npm would publish: its files, its size, and that everybody can import it.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ROOT } from "./support/server.ts";

const PACKAGE = join(import.meta.dirname, "..");
const BYTES_MAX = 20 * 1024;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "forklore-"));
const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as Record<string, unknown>;
let tarball: Buffer;
let files: string[];

beforeAll(async () => {
	const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: PACKAGE });
	const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
	files = packed.files.map(({ path }) => path);
	tarball = readFileSync(join(folder, packed.filename));
	mkdirSync(join(folder, "node_modules", "@forklore", "client"), { recursive: true });
	const target = ["--strip-components=1", "-C", join(folder, "node_modules", "@forklore", "client")];
	await run("tar", ["-xf", join(folder, packed.filename), ...target]);
});
afterAll(() => {
	rmSync(folder, { recursive: true, force: true });
});

test("it holds a module and its types for each source, a readme and a licence, and nothing else", () => {
	const modules = readdirSync(join(PACKAGE, "src")).map((name) => name.replace(/\.ts$/, ""));
	const expected = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
	expect(files.toSorted()).toEqual(["LICENSE", "README.md", "package.json", ...expected].toSorted());
});

test("it needs no other package, and nothing runs when it is installed", () => {
	expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining(["dependencies"]));
	expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual(["devDependencies"]);
	expect(Object.keys(manifest["scripts"] as object)).toEqual(["build", "check", "fix", "test"]);
});

test("it has the version and the licence of the Python package", () => {
	const python = readFileSync(join(ROOT, "pyproject.toml"), "utf8");
	expect(manifest["version"]).toBe(/^version = "(.*)"$/m.exec(python)?.[1]);
	expect(manifest["license"]).toBe("Apache-2.0");
	expect(readFileSync(join(folder, "node_modules/@forklore/client/LICENSE"))).toEqual(
		readFileSync(join(ROOT, "LICENSE")),
	);
});

test("all its code is at most 20 KB, compressed", () => {
	const code = files
		.filter((name) => name.endsWith(".js"))
		.map((name) => readFileSync(join(PACKAGE, name), "utf8"));
	expect(gzipSync(code.join(""), { level: 9 }).length).toBeLessThanOrEqual(BYTES_MAX);
});

test("publint finds nothing", async () => {
	const data = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.length) as ArrayBuffer;
	const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
	expect(messages.map((one) => formatMessage(one, pkg as object))).toEqual([]);
});

test("TypeScript finds its types, however it resolves modules, if it knows ESM", async () => {
	const result = await checkPackage(createPackageFromTarballData(tarball));
	if (result.types === false) throw new Error("it has no types");
	const ofEsm = result.problems.filter(
		(problem) => !("resolutionKind" in problem) || ["node16-esm", "bundler"].includes(problem.resolutionKind),
	);
	expect(ofEsm).toEqual([]);
	expect(Object.keys(result.entrypoints)).toEqual([".", "./package.json"]);
});

const USE = `
import { ConflictError, Forklore, textOf, type Entry, type ListedEntry } from "@forklore/client";

const fl = new Forklore("http://127.0.0.1:9", { token: async () => "ann", retries: 0 });
try {
	const said: Entry = await fl.named("trip").say("user", "Hello", { key: undefined, tags: { a: "b" } });
	const entries: ListedEntry[] = (await fl.named("trip").tree()).entries;
	const forks = await fl.named("trip").fork({ after: said, count: 2 });
	console.log(textOf(said), entries, forks.length);
} catch (error) {
	console.log((error as Error).name, error instanceof ConflictError);
}
`;

test("a program that uses it is checked with all types, and runs", async () => {
	writeFileSync(join(folder, "package.json"), '{"type":"module"}');
	writeFileSync(join(folder, "use.ts"), USE);
	const compilerOptions = {
		strict: true,
		target: "ES2022",
		module: "NodeNext",
		lib: ["ES2022"],
		exactOptionalPropertyTypes: true,
		types: ["node"],
		typeRoots: [join(PACKAGE, "node_modules", "@types")],
	};
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
	await run(join(PACKAGE, "node_modules", ".bin", "tsc"), [], { cwd: folder }).catch((error: unknown) => {
		throw new Error((error as { stdout: string }).stdout);
	});
	expect((await run(process.execPath, ["use.js"], { cwd: folder })).stdout).toBe("NoAnswerError false\n");
});

test("the locks name no registry", () => {
	for (const name of ["package-lock.json", "tests/runtimes/package-lock.json"]) {
		expect(readFileSync(join(PACKAGE, name), "utf8")).not.toMatch(/"resolved"|registry\./);
	}
});
