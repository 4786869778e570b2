// The example in a real Chromium, while an answer is written: reload, an idle second tab, stop, and whoever is killed.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium, type BrowserContext, type Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";

import { Forklore, textOf } from "@forklore/client";

import { freePort, Killable } from "../../typescript/tests/support/killable.ts";
import { PYTHON } from "../../typescript/tests/support/server.ts";

const EXAMPLE = join(import.meta.dirname, "..", "example", "server.ts");
const PROGRAM = [
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
].find((one) => existsSync(one));

/** How the text of an answer ends that did not come to its end. */
const CUT_OFF = /(\n\n)?\[…\]$/;

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
		const tabs = async (): Promise<[Page, Page]> => {
			const context = await browser.newContext();
			const first = await tab(context, `http://127.0.0.1:${port}/`);
			return [first, await tab(context, first.url())];
		};
		const poll = (read: () => Promise<unknown>) => expect.poll(read, { timeout: 120_000 });
		const speaks = async (on: Page, messages: number): Promise<void> => {
			await poll(async () => (await shown(on)).length).toBe(messages);
			await poll(async () => (await shown(on)).at(-1)?.split(" ").length).toBeGreaterThan(20);
		};
		const stored = async (on: Page): Promise<string[]> => {
			const chat = new Forklore(url, { token: "ann" }).conversation(new URL(on.url()).hash.slice(1));
			return (await chat.entries().list()).map((entry) => textOf(entry)?.replace(CUT_OFF, "") ?? "");
		};
		/** Wait until all is stored, and all pages show it. Return it. */
		const settled = async (messages: number, ...pages: [Page, Page]): Promise<string[]> => {
			await poll(async () => (await stored(pages[0])).length).toBe(messages);
			const all = await stored(pages[0]);
			for (const one of pages) await poll(() => shown(one)).toEqual(all);
			return all;
		};

		// what a killed application leaves is ended after 30 s, during which the rest happens
		const left = await tabs();
		await say(left[0], "Count to 20000");
		await speaks(left[1], 2);
		await application.kill();
		await application.start();
		await left[0].reload();

		const [page, other] = await tabs();
		await say(page, "Count to 200");
		await speaks(page, 2);
		await speaks(other, 2);
		await page.reload();
		const first = ["Count to 200", counted(1, 200)];
		await poll(async () => shown(other)).toEqual(first);
		expect(await settled(2, page, other)).toEqual(first);

		await say(page, "Count to 20000");
		await speaks(other, 4);
		await other.getByRole("button", { name: "Stop" }).click();
		const stopped = (await settled(4, page, other)).at(-1) ?? "";
		expect(counted(2, 20000).startsWith(stopped)).toBe(true);
		expect(stopped).not.toBe(counted(2, 20000));

		// the button is pressed before the answer has begun
		const pressed = page.waitForResponse(/stop$/);
		await page.route(/api\/chat$/, async (route) => {
			expect(await (await pressed).json()).toEqual({ stopped: false });
			await route.continue();
		});
		await say(page, "Count to 20000");
		await page.getByRole("button", { name: "Stop" }).click();
		const atOnce = (await settled(6, page, other)).at(-1) ?? "";
		expect(counted(3, 20000).startsWith(atOnce)).toBe(true);
		expect(atOnce).not.toBe(counted(3, 20000));
		await page.unroute(/api\/chat$/);

		await say(page, "Count to 300");
		await speaks(other, 8);
		await forklore.kill();
		await forklore.start();
		await poll(async () => (await shown(page)).at(-1)).toBe(counted(4, 300));
		await poll(async () => (await shown(other)).at(-1)).toBe(counted(4, 300));
		expect((await settled(8, page, other)).at(-1)).toBe(counted(4, 300));

		expect(counted(1, 20000).startsWith((await settled(2, ...left)).at(-1) ?? "")).toBe(true);
		await say(left[1], "Count to 30");
		await poll(async () => (await shown(left[0])).at(-1)).toBe(counted(5, 30));
		expect(await settled(4, ...left)).toHaveLength(4);
	},
);
