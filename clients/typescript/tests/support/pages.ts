// Pages whose lines are checked, and run as one program for each page.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { ROOT } from "./server.ts";

const BLOCK = /```ts\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs;
const SHOWN = /```tsx\n(.*?)```/gs;
const END = "the end of a block";
const TSC = join(ROOT, "clients", "typescript", "node_modules", ".bin", "tsc");
const run = promisify(execFile);

/** Pages of a package, checked. */
export class Pages {
	readonly #folder: string;
	readonly #pages: readonly string[];

	private constructor(folder: string, pages: readonly string[]) {
		this.#folder = folder;
		this.#pages = pages;
	}

	/** Write the programs of pages for the server at an address, and check them. Blocks in tsx are only checked. */
	static async of(source: string, pages: readonly string[], url: string): Promise<Pages> {
		mkdirSync(join(source, "build"), { recursive: true });
		const folder = mkdtempSync(join(source, "build", "pages-")); // inside, so that the package finds itself
		const made = new Pages(folder, pages);
		pages.forEach((page, index) => {
			writeFileSync(join(folder, `${index}.ts`), made.#program(page, url));
			[...textOf(page).matchAll(SHOWN)].forEach(([, lines = ""], at) => {
				writeFileSync(join(folder, `${index}-${at}.tsx`), lines);
			});
		});
		const compilerOptions = {
			strict: true,
			target: "ES2022",
			module: "NodeNext",
			lib: ["ES2023", "DOM"],
			jsx: "react-jsx",
			skipLibCheck: true,
			types: [],
		};
		const include = ["*.ts", "*.tsx"];
		writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include }));
		await run(TSC, [], { cwd: folder }).catch((error: unknown) => {
			throw new Error((error as { stdout: string }).stdout);
		});
		return made;
	}

	/** Run a page. Return what each block prints, and what the page says that it prints. */
	async run(page: string): Promise<{ printed: string[]; expected: string[] }> {
		const program = `${this.#pages.indexOf(page)}.js`;
		const { stdout } = await run(process.execPath, [program], { cwd: this.#folder });
		return {
			printed: stdout.replaceAll(userOf(page), "ann").split(`${END}\n`).slice(0, -1),
			expected: [...textOf(page).matchAll(BLOCK)].map((block) => block[2] ?? ""),
		};
	}

	remove(): void {
		rmSync(this.#folder, { recursive: true, force: true });
	}

	/** Return the blocks of a page, each in its line, for the server of the tests. */
	#program(page: string, url: string): string {
		const text = textOf(page);
		let code = "";
		for (const { index, 1: lines = "" } of text.matchAll(BLOCK)) {
			const line = text.slice(0, index).split("\n").length;
			code += "\n".repeat(line - code.split("\n").length + 1);
			code += `${lines.trimEnd()}; console.log("${END}");`;
		}
		return code.replaceAll("http://127.0.0.1:8080", url).replaceAll('"ann"', `"${userOf(page)}"`);
	}
}

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

/** Each page has a user of its own, as if it had a server of its own. */
const userOf = (page: string): string => `ann of ${page}`;
