// Answers of a server in a real Chromium: reload, a second tab, an edit, stop, and whoever is killed.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type {} from "./app.tsx";
import { chromium, type Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";

import { Forklore } from "@forklore/client";

import { freePort, Killable } from "../../typescript/tests/support/killable.ts";
import { PYTHON } from "../../typescript/tests/support/server.ts";
import { historyAdapter } from "../src/index.ts";
import { textOfParts } from "../src/messages.ts";

const APPLICATION = join(import.meta.dirname, "application.ts");
const PROGRAM = [
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
].find((one) => existsSync(one));

const counted = (to: number): string => Array.from({ length: to }, (_, at) => `${at + 1} `).join("");
const poll = (read: () => Promise<unknown>) => expect.poll(read, { timeout: 120_000 });

const shown = (page: Page): Promise<string[]> =>
	page.evaluate(() =>
		window.runtime.thread
			.getState()
			.messages.map(({ content }) => content.map((part) => (part.type === "text" ? part.text : "")).join()),
	);

const say = (page: Page, text: string, parentId?: null): Promise<void> =>
	page.evaluate(
		([said, parent]) => {
			const message = { role: "user" as const, content: [{ type: "text" as const, text: said }] };
			window.runtime.thread.append(parent === null ? { ...message, parentId: null } : message);
		},
		[text, parentId] as const,
	);

const speaks = async (page: Page, messages: number): Promise<void> => {
	await poll(async () => (await shown(page)).length).toBe(messages);
	await poll(async () => (await shown(page)).at(-1)).toMatch(/^1 2 3 4 5 6 7 8 9 10 /);
};

const isRunning = (page: Page): Promise<boolean> =>
	page.evaluate(() => window.runtime.thread.getState().isRunning);

async function reload(page: Page): Promise<void> {
	await page.reload();
	await page.getByText("ready").waitFor();
}

test(
	"each page shows what is stored, once, whoever reloads, edits, stops, or is killed",
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
		const application = new Killable(process.execPath, [APPLICATION], { FORKLORE_URL: url, PORT: port });
		await forklore.start();
		await application.start();
		const browser = await chromium.launch({
			executablePath: PROGRAM,
			args: ["--no-sandbox", "--disable-gpu"],
		});
		onTestFinished(() => browser.close());
		const fl = new Forklore(url, { token: "served" });
		const opened = async (thread: string): Promise<Page> => {
			const page = await (await browser.newContext()).newPage();
			const asked = page.waitForResponse(/\/forks\?/);
			await page.goto(`http://127.0.0.1:${port}/#${encodeURIComponent(`${url} served ${thread} served`)}`);
			await asked; // what is said before the history is loaded would be lost
			await poll(() => page.evaluate(() => window.runtime.thread.getState().isLoading)).toBe(false);
			return page;
		};
		/** Return the current branch of a thread, as it is stored. */
		const stored = async (thread: string): Promise<string[]> => {
			const { messages, headId } = await historyAdapter(fl, thread).load();
			const texts: string[] = [];
			const find = (id: unknown) => messages.find(({ message }) => message.id === id);
			for (let one = find(headId); one; one = find(one.parentId))
				texts.unshift(textOfParts(one.message.content));
			return texts;
		};
		/** Wait until all is stored, and all pages show it. Return it. */
		const settled = async (thread: string, messages: number, ...pages: Page[]): Promise<string[]> => {
			await poll(async () => (await stored(thread)).length).toBe(messages);
			const all = await stored(thread);
			for (const page of pages) {
				await poll(() => shown(page)).toEqual(all);
				await poll(() => isRunning(page)).toBe(false);
			}
			return all;
		};

		// what a killed application leaves is ended after 30 s, during which the rest happens
		const [leftThread, thread] = [crypto.randomUUID(), crypto.randomUUID()];
		const left = await opened(leftThread);
		await say(left, "Count to 20000");
		await speaks(left, 2);
		const leftToo = await opened(leftThread);
		await speaks(leftToo, 2);
		await application.kill();
		await application.start();
		await reload(left);

		const page = await opened(thread);
		await say(page, "Count to 200");
		await speaks(page, 2);
		await reload(page);
		const other = await opened(thread);
		await speaks(other, 2);
		expect(await settled(thread, 2, page, other)).toEqual(["Count to 200", counted(200)]);

		await say(page, "Count to 20000");
		await speaks(page, 4);
		await reload(other);
		await speaks(other, 4);
		await other.evaluate(() => {
			window.runtime.thread.cancelRun();
		});
		const stopped = (await settled(thread, 4, page)).at(-1) ?? "";
		expect(counted(20000).startsWith(stopped)).toBe(true);
		expect(stopped).not.toBe(counted(20000));
		await say(other, "Count to 30");
		await poll(async () => (await shown(other)).at(-1)).toBe(counted(30));
		await poll(() => isRunning(other)).toBe(false);
		for (const one of [page, other]) await reload(one);
		const talk = await settled(thread, 6, page, other);
		expect(talk.slice(3)).toEqual([stopped, "Count to 30", counted(30)]);

		await say(page, "Count to 300", null);
		await speaks(page, 2);
		await reload(other);
		await speaks(other, 2);
		await forklore.kill();
		await forklore.start();
		expect(await settled(thread, 2, page, other)).toEqual(["Count to 300", counted(300)]);

		const begun = await settled(leftThread, 2, left, leftToo);
		expect(counted(20000).startsWith(begun.at(-1) ?? "–")).toBe(true);
		await say(leftToo, "Count to 30");
		await settled(leftThread, 4, leftToo);
		await reload(left);
		expect(await settled(leftThread, 4, left)).toEqual([...begun, "Count to 30", counted(30)]);
	},
);
