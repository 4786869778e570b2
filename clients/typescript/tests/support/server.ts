// The real local server, in a process of its own, for all tests of a run.

import { spawn } from "node:child_process";
import { join, resolve } from "node:path";

import type { TestProject } from "vitest/node";

export const ROOT = resolve(import.meta.dirname, "../../../..");
export const PYTHON = resolve(ROOT, process.env["FORKLORE_PYTHON"] ?? join(".venv", "bin", "python"));
/** The API key of each client that the server knows. */
export const KEYS = { planner: "planner-key", coder: "key=of=coder" };

/** Start the server on a free port. It ends with this process, and by what this returns. */
export async function serve(): Promise<{ url: string; stop: () => Promise<void> }> {
	const inherited = Object.entries(process.env).filter(
		([name]) => !/^(FORKLORE_|AWS_|HOST$|PORT$)/.test(name),
	);
	const keys = Object.entries(KEYS).map((pair) => pair.join("="));
	const server = spawn(PYTHON, ["-m", "tests.support.server", "0", "date"], {
		cwd: ROOT,
		env: {
			...Object.fromEntries(inherited),
			FORKLORE_API_KEYS: keys.join(","),
			FORKLORE_ADMINS: "the-admin",
			PYTHONUNBUFFERED: "1",
		},
		stdio: ["pipe", "pipe", "pipe"],
	});
	const ended = new Promise<void>((end) =>
		server.once("close", () => {
			end();
		}),
	);
	const stop = async (): Promise<void> => {
		server.kill();
		await ended;
	};
	let said = "";
	const url = await new Promise<string>((found, failed) => {
		const look = (part: Buffer): void => {
			said += part.toString();
			const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
			if (address !== undefined) found(address);
		};
		server.stdout.on("data", look);
		server.stderr.on("data", look);
		server.once("error", failed);
		server.once("close", () => {
			failed(new Error(`the local server did not start:\n${said}`));
		});
	});
	return { url, stop };
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	const { url, stop } = await serve();
	project.provide("url", url);
	return stop;
}
