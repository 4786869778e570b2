// The example in a real Chromium, while an answer is written: reload, a second tab, stop, and whoever is killed.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium, type BrowserContext, type Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";

import { Forklore, textOf } from "@forklore/client";

import { PYTHON, ROOT } from "../../typescript/tests/support/server.ts";

const EXAMPLE = join(import.meta.dirname, "..", "example", "server.ts");
const PROGRAM = [
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
].find((one) => existsSync(one));

async function freePort(): Promise<string> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, "close");
	return String(port);
}

/** A program that is started, killed, and started again at the same address. It ends with the test. */
class Killable {
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
		this.#process = started;
		await once(started.stdout, "data");
		started.stdout.resume();
	}

	async kill(): Promise<void> {
		const killed = this.#process;
		this.#process = undefined;
		if (killed === undefined) return;
		killed.kill("SIGKILL");
		await once(killed, "close");
	}
}

const shown = (page: Page): Promise<string[]> => page.locator("li p").allTextContents();

async function tab(context: BrowserContext, address: string): Promise<Page> {
	const page = await context.newPage();
	await page.goto(address);
	return page;
}

async function say(page: Page, text: string): Promise<void> {
	await page.getByRole("textbox").fill(text);
	await page.getByRole("button", { name: "Send" }).click();
}

const counted = (number: number, to: number): string =>
	[`Answer ${number} to: Count to ${to}`, ...Array.from({ length: to }, (_, at) => at + 1)].join(" ");

test(
	"each page shows what is stored, once, whoever reloads, stops, or is killed",
	{ timeout: 300_000 },
	async ({ skip }) => {
		if (PROGRAM === undefined && process.env["FORKLORE_REQUIRE_CHROMIUM"])
			throw new Error("there is no chromium");
		if (PROGRAM === undefined) return skip("there is no chromium");
		const data = mkdtempSync(join(tmpdir(), "forklore-"));
		onTestFinished(() => rmSync(data, { recursive: true, force: true, maxRetries: 5 }));
		const [storePort, port] = [await freePort(), await freePort()];
		const url = `http://127.0.0.1:${storePort}`;
		const server = ["-m", "forklore_local.server", "--port", storePort, "--data", data];
		const forklore = new Killable(PYTHON, server, { PYTHONUNBUFFERED: "1" });
		const application = new Killable(process.execPath, [EXAMPLE], { FORKLORE_URL: url, PORT: port });
		await forklore.start();
		await application.start();
		const browser = await chromium.launch({
			executablePath: PROGRAM,
			args: ["--no-sandbox", "--disable-gpu"],
		});
		onTestFinished(() => browser.close());
		const context = await browser.newContext();
		const page = await tab(context, `http://127.0.0.1:${port}/`);
		const chat = new Forklore(url, { token: "ann" }).conversation(new URL(page.url()).hash.slice(1));
		const poll = (read: () => Promise<unknown>) => expect.poll(read, { timeout: 90_000 });
		const speaks = async (on: Page, messages: number): Promise<void> => {
			await poll(async () => (await shown(on)).length).toBe(messages);
			await poll(async () => (await shown(on)).at(-1)?.split(" ").length).toBeGreaterThan(20);
		};
		const stored = async (): Promise<string[]> =>
			(await chat.entries().list()).map((entry) => textOf(entry)?.replace("\n\n[…]", "") ?? "");
		/** Wait until all is stored, and all pages show it. Return it. */
		const settled = async (messages: number, ...pages: Page[]): Promise<string[]> => {
			await poll(async () => (await stored()).length).toBe(messages);
			const all = await stored();
			for (const one of pages) await poll(() => shown(one)).toEqual(all);
			return all;
		};

		await say(page, "Count to 300");
		await speaks(page, 2);
		await page.reload();
		const other = await tab(context, page.url());
		await speaks(other, 2);
		const first = ["Count to 300", counted(1, 300)];
		await poll(async () => shown(other)).toEqual(first);
		expect(await settled(2, page, other)).toEqual(first);

		await say(page, "Count to 3000");
		await speaks(page, 4);
		await other.reload();
		await speaks(other, 4);
		await other.getByRole("button", { name: "Stop" }).click();
		const stopped = (await settled(4, page, other)).at(-1) ?? "";
		expect(counted(2, 3000).startsWith(stopped)).toBe(true);
		expect(stopped).not.toBe(counted(2, 3000));

		await say(page, "Count to 400");
		await speaks(page, 6);
		await other.reload();
		await speaks(other, 6);
		await forklore.kill();
		await forklore.start();
		await poll(async () => (await shown(page)).at(-1)).toBe(counted(3, 400));
		await poll(async () => (await shown(other)).at(-1)).toBe(counted(3, 400));
		expect((await settled(6, page, other)).at(-1)).toBe(counted(3, 400));

		await say(page, "Count to 3000");
		await speaks(page, 8);
		await other.reload();
		await speaks(other, 8);
		await application.kill();
		await application.start();
		await page.reload();
		await other.reload();
		const left = (await settled(8, page, other)).at(-1) ?? "";
		expect(counted(4, 3000).startsWith(left)).toBe(true);
		await say(other, "Count to 30");
		await poll(async () => (await shown(other)).at(-1)).toBe(counted(1, 30)); // a new process counts anew
		await page.reload();
		expect(await settled(10, page, other)).toHaveLength(10);
	},
);
