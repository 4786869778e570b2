// Programs that a test kills, and starts again.

import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

import { onTestFinished } from "vitest";

import { ROOT } from "./server.ts";

/** Return a port of this machine that nobody uses, and that the system gives nobody, as it does those above. */
export async function freePort(): Promise<string> {
	for (;;) {
		const port = randomInt(20_000, 32_000);
		const server = createServer().listen(port, "127.0.0.1");
		try {
			await once(server, "listening");
		} catch {
			continue;
		}
		server.close();
		await once(server, "close");
		return String(port);
	}
}

/** A program that is started, killed, and started again at the same address. It ends with the test. */
export class Killable {
	#process: ChildProcess | undefined;

	readonly #given: [program: string, args: string[], env: Record<string, string>];

	constructor(...given: [program: string, args: string[], env: Record<string, string>]) {
		this.#given = given;
		onTestFinished(() => this.kill());
	}

	async start(): Promise<void> {
		const [program, args, more] = this.#given;
		const env = { ...process.env, ...more };
		const started = spawn(program, args, { env, cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
		const [said] = (await Promise.race([once(started.stdout, "data"), once(started, "close")])) as unknown[];
		if (!(said instanceof Buffer)) throw new Error(`it does not start: ${program}`);
		started.stdout.resume();
		this.#process = started;
	}

	async kill(): Promise<void> {
		const killed = this.#process;
		this.#process = undefined;
		if (killed === undefined) return;
		killed.kill("SIGKILL");
		await once(killed, "close");
	}
}
