// What npm would publish of a package, unpacked, and what is wrong with it.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const run = promisify(execFile);
const TYPESCRIPT = join(import.meta.dirname, "..", "..");

export interface Packed {
	/** A new folder, in whose node_modules the package is. Whoever asked removes it. */
	readonly folder: string;
	readonly files: string[];
	readonly tarball: Buffer;
	readonly manifest: Record<string, unknown>;
}

/** Pack a package, and install it in a folder of its own. */
export async function packed(source: string): Promise<Packed> {
	const folder = mkdtempSync(join(tmpdir(), "forklore-"));
	const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: source });
	const [made] = JSON.parse(stdout) as [{ name: string; filename: string; files: { path: string }[] }];
	const place = join(folder, "node_modules", made.name);
	mkdirSync(place, { recursive: true });
	await run("tar", ["-xf", join(folder, made.filename), "--strip-components=1", "-C", place]);
	return {
		folder,
		files: made.files.map(({ path }) => path).sort(),
		tarball: readFileSync(join(folder, made.filename)),
		manifest: JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as Record<string, unknown>,
	};
}

/** Return the files that a package consists of: a module, its types and its map for each source, and three others. */
export function filesOf(source: string): string[] {
	const sources = readdirSync(join(source, "src"), { encoding: "utf8", recursive: true });
	const modules = sources.filter((name) => /\.tsx?$/.test(name)).map((name) => name.replace(/\.tsx?$/, ""));
	const built = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`, `dist/${name}.js.map`]);
	return ["LICENSE", "README.md", "package.json", ...built].sort();
}

/** Return what publint finds, and what TypeScript does not find, however it resolves modules, if it knows ESM. */
export async function faultsOf({ tarball }: Packed): Promise<{ faults: string[]; entrypoints: string[] }> {
	const data = tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.length) as ArrayBuffer;
	const { messages, pkg } = await publint({ pack: { tarball: data }, strict: true });
	const result = await checkPackage(createPackageFromTarballData(tarball));
	if (result.types === false) throw new Error("it has no types");
	const ofEsm = result.problems.filter(
		(problem) => !("resolutionKind" in problem) || ["node16-esm", "bundler"].includes(problem.resolutionKind),
	);
	return {
		faults: [
			...messages.map((one) => formatMessage(one, pkg as object) ?? one.code),
			...ofEsm.map((one) => JSON.stringify(one)),
		],
		entrypoints: Object.keys(result.entrypoints),
	};
}

/** Check a program that uses an installed package with all types. Throws an Error with what the compiler says. */
export async function compile({ folder }: Packed, program: string, types: string): Promise<void> {
	writeFileSync(join(folder, "package.json"), '{"type":"module"}');
	writeFileSync(join(folder, "use.ts"), program);
	const compilerOptions = {
		strict: true,
		target: "ES2022",
		module: "NodeNext",
		lib: ["ES2022", "DOM"],
		exactOptionalPropertyTypes: true,
		types: ["node"],
		typeRoots: [types],
	};
	writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
	await run(join(TYPESCRIPT, "node_modules", ".bin", "tsc"), [], { cwd: folder }).catch((error: unknown) => {
		throw new Error((error as { stdout: string }).stdout);
	});
}
