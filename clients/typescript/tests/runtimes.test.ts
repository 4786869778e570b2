// The stories on other runtimes, with the code as it is published, through planted faults.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { json, text } from "node:stream/consumers";

import { beforeAll, expect, inject, onTestFinished, test, type TestContext } from "vitest";

import { FAULTS, proxy, type Fault } from "./support/proxy.ts";
import { KEYS, ROOT } from "./support/server.ts";

const PACKAGE = join(import.meta.dirname, "..");
const FOLDER = join(import.meta.dirname, "runtimes");
const TYPES: Record<string, string> = { ".js": "text/javascript", ".html": "text/html" };
const IS_REQUIRED = Boolean(process.env["FORKLORE_REQUIRE_RUNTIMES"]);
const stories = JSON.parse(
	readFileSync(join(ROOT, "tests", "clients", "python", "contract.json"), "utf8"),
) as unknown;

beforeAll(() => {
	if (!existsSync(join(PACKAGE, "dist", "index.js")))
		throw new Error("`npm run build` makes what is tested here");
});

/** Return a path that ends so, in the packages of this machine's kind; undefined if npm has none for it. */
function installed(...end: string[]): string | undefined {
	const folder = join(FOLDER, "node_modules");
	const packages = existsSync(folder)
		? readdirSync(folder).flatMap((name) =>
				name.startsWith("@") ? readdirSync(join(folder, name)).map((inner) => join(name, inner)) : [name],
			)
		: [];
	return packages.map((name) => join(folder, name, ...end)).find((path) => existsSync(path));
}

/** Return what a runtime is to do. Of its requests, each third POST meets the next fault of all. */
async function work(run: string): Promise<{ work: string; planted: Map<Fault, number> }> {
	const faults = Object.keys(FAULTS).filter(
		(fault) => fault !== "none" && fault !== "lateRequest",
	) as Fault[];
	let posts = 0;
	const faulty = await proxy(inject("url"), (method) => {
		if (method !== "POST" || posts++ % 3 !== 2) return "none";
		return faults[Math.floor(posts / 3) % faults.length] ?? "none";
	});
	onTestFinished(() => faulty.stop());
	const at = { url: faulty.url, clientKey: KEYS.planner, run };
	return { work: JSON.stringify({ stories, at }), planted: faulty.planted };
}

/** Start a program. It ends with the test, and so do the programs that it has started. */
function start(program: string, given: string[], variables: Record<string, string> = {}): ChildProcess {
	const child = spawn(program, given, { cwd: PACKAGE, env: { ...process.env, ...variables } });
	const closed = new Promise((close) => child.once("close", close)); // all have closed its output
	onTestFinished(async () => {
		const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
		child.kill();
		child.stdout.resume();
		child.stderr.resume();
		await closed;
		clearTimeout(timer);
	});
	return child;
}

/** Return a new folder, which goes with the test. */
function folder(): string {
	const made = mkdtempSync(join(tmpdir(), "forklore-"));
	onTestFinished(() => rmSync(made, { recursive: true, force: true, maxRetries: 5 }));
	return made;
}

/** Return what a program prints; its complaints, if that is nothing. input: its standard input. */
async function printed(child: ChildProcess, input = ""): Promise<string> {
	child.stdin?.end(input);
	const streams = [child.stdout, child.stderr];
	const [said, complained] = await Promise.all(streams.map(async (stream) => stream && text(stream)));
	return [said, complained].find(Boolean)?.trim() ?? "";
}

/** Return the path of a program, or skip the test that needs it. */
function needed(name: string, path: string | undefined, { skip }: TestContext): string {
	if (path === undefined && IS_REQUIRED) throw new Error(`${name} is not installed`);
	return path ?? skip(`${name} is not installed`);
}

const PROGRAMS: Record<string, [string | undefined, ...string[]]> = {
	"this Node": [process.execPath],
	"Node 24": [installed("bin", "node")],
	Bun: [installed("bin", "bun"), "run"],
	Deno: [installed("deno"), "run", "--quiet", "--no-remote", "--allow-net=127.0.0.1", "--allow-read"],
};

for (const [name, [path, ...options]] of Object.entries(PROGRAMS)) {
	test(name, async (context) => {
		const program = needed(name, path, context);
		const { work: input, planted } = await work(name);
		const variables = { DENO_DIR: folder(), DENO_NO_UPDATE_CHECK: "1" };
		const child = start(program, [...options, join(FOLDER, "node.js")], variables);
		expect(await printed(child, input)).toBe("[]");
		expect(planted.size).toBeGreaterThan(10);
	});
}

test("workerd", async (context) => {
	const program = needed("workerd", installed("bin", "workerd"), context);
	const { work: input, planted } = await work("workerd");
	const files = [
		"tests/runtimes/workerd.js",
		"tests/runtimes/run.js",
		"tests/support/contract.js",
		...readdirSync(join(PACKAGE, "dist"), { encoding: "utf8", recursive: true })
			.filter((file) => file.endsWith(".js"))
			.map((file) => `dist/${file}`),
	];
	const code = (file: string) => JSON.stringify(readFileSync(join(PACKAGE, file), "utf8"));
	const modules = files.map((file) => `(name = "${file}", esModule = ${code(file)})`);
	const config = join(folder(), "config.capnp");
	writeFileSync(
		config,
		`using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = (
			modules = [${modules.join(", ")}],
			compatibilityDate = "2026-01-01",
			bindings = [(name = "WORK", text = ${JSON.stringify(input)})],
		)),
		(name = "internet", network = (allow = ["local"])),
	],
);`,
	);
	expect(await printed(start(program, ["test", config]))).toBe("[]");
	expect(planted.size).toBeGreaterThan(10);
});

test("Chromium", async (context) => {
	// /usr/bin/chromium-headless-shell is a script, which leaves it behind when it is ended.
	const path = [
		"/usr/lib/chromium/chromium-headless-shell",
		"/usr/bin/chromium",
		"/usr/bin/chromium-browser",
	].find((one) => existsSync(one));
	const program = needed("Chromium", path, context);
	const { work: input, planted } = await work("Chromium");
	const found = await new Promise<unknown>((resolve, reject) => {
		const server = createServer((request, response) => {
			const { url = "/" } = request;
			if (url === "/found") {
				json(request).then(resolve, reject);
				response.end();
			} else if (url === "/stories") response.end(input);
			else {
				const file = join(PACKAGE, url === "/" ? "tests/runtimes/page.html" : url);
				response.setHeader("Content-Type", TYPES[extname(file)] ?? "text/plain");
				if (existsSync(file)) response.end(readFileSync(file));
				else response.writeHead(404).end();
			}
		});
		server.listen(0, "127.0.0.1", () => {
			const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
			const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${folder()}`, page];
			start(program, options).once("error", reject);
		});
		onTestFinished(() => {
			server.close().closeAllConnections();
		});
	});
	expect(found).toEqual([]);
	expect(planted.size).toBeGreaterThan(10);
});
