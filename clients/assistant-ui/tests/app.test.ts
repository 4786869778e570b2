// The list of threads in a real page, in a real Chromium: each thread has its own history, on every device.

import { existsSync } from "node:fs";
import { join } from "node:path";

import type {} from "./app.tsx";
import { chromium, type Page } from "playwright-core";
import { expect, inject, onTestFinished, test, type TestContext } from "vitest";

import { freePort, Killable } from "../../typescript/tests/support/killable.ts";

const APPLICATION = join(import.meta.dirname, "application.ts");
const PROGRAM = [
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
].find((one) => existsSync(one));

/** Start the application on a free port. It ends with the test. Return its address. */
async function served(): Promise<string> {
	const port = await freePort();
	await new Killable(process.execPath, [APPLICATION], { PORT: port, FORKLORE_URL: inject("url") }).start();
	return `http://127.0.0.1:${port}/`;
}

const texts = (page: Page): Promise<string[]> =>
	page.evaluate(() =>
		window.runtime.thread
			.getState()
			.messages.map(({ content }) => content.map((part) => (part.type === "text" ? part.text : "")).join()),
	);
const titles = (page: Page): Promise<(string | undefined)[]> =>
	page.evaluate(() => {
		const { threadIds, threadItems } = window.runtime.threads.getState();
		return threadIds.map((id) => threadItems[id]?.title);
	});
const poll = (read: () => Promise<unknown>) => expect.poll(read, { timeout: 120_000 });

const say = (page: Page, text: string, parentId?: null): Promise<void> =>
	page.evaluate(
		([content, parent]) => {
			const message = { role: "user" as const, content: [{ type: "text" as const, text: content }] };
			window.runtime.thread.append(parent === null ? { ...message, parentId: null } : message);
		},
		[text, parentId] as const,
	);

/** Return what opens the page on another device, and all that devices complain about. given: to the page. */
async function devices(
	{ skip }: TestContext,
	given: string,
): Promise<{ device: () => Promise<Page>; wrong: string[] }> {
	if (PROGRAM === undefined && process.env["FORKLORE_REQUIRE_CHROMIUM"])
		throw new Error("there is no chromium");
	if (PROGRAM === undefined) return skip("there is no chromium");
	const address = `${await served()}#${encodeURIComponent(`${inject("url")} ${given}`)}`;
	const browser = await chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });
	onTestFinished(() => browser.close());
	const isThread = given.includes(" ");
	const wrong: string[] = [];
	const device = async (): Promise<Page> => {
		const page = await (await browser.newContext()).newPage();
		page.on("pageerror", (error) => wrong.push(String(error)));
		page.on("console", (message) => {
			if (message.type() === "error") wrong.push(message.text());
		});
		const asked = isThread ? page.waitForResponse(/\/forks\?/) : null;
		await page.goto(address);
		await page.getByText("ready").waitFor();
		await asked; // what is said before the history is loaded would be lost
		await poll(() => page.evaluate(() => window.runtime.thread.getState().isLoading)).toBe(false);
		return page;
	};
	return { device, wrong };
}

test("a thread that is not there yet is looked for, and begun, without an error in the console", async (context) => {
	const { device, wrong } = await devices(context, `alone ${crypto.randomUUID()}`);
	const page = await device();
	await say(page, "May?");
	await poll(() => texts(page)).toEqual(["May?", "answer to 1"]);
	const other = await device();
	await poll(() => texts(other)).toEqual(["May?", "answer to 1"]);
	expect(wrong).toEqual([]);
});

test("threads and their branches are there on a second device, and an archived one is not", async (context) => {
	const { device, wrong } = await devices(context, "app");
	const page = await device();
	await say(page, "May?");
	await poll(() => texts(page)).toEqual(["May?", "answer to 1"]);
	await poll(() => titles(page)).toEqual(["May?"]);
	const isStored = page.waitForResponse((one) => one.request().postData()?.includes("answer to 1") ?? false);
	await say(page, "June?", null);
	await poll(() => texts(page)).toEqual(["June?", "answer to 1"]);
	await isStored; // what is stored last stands first in the list: a slow page shows an answer long before
	await page.evaluate(() => window.runtime.threads.switchToNewThread());
	await say(page, "Rome?");
	await poll(() => texts(page)).toEqual(["Rome?", "answer to 1"]);
	await poll(() => titles(page)).toEqual(["Rome?", "May?"]);

	const other = await device();
	await poll(() => titles(other)).toEqual(["Rome?", "May?"]);
	await other.evaluate(async () => {
		const { threadIds } = window.runtime.threads.getState();
		await window.runtime.threads.switchToThread(threadIds[1] ?? "");
	});
	await poll(() => texts(other)).toEqual(["June?", "answer to 1"]);
	const branches = () =>
		other.evaluate(() => window.runtime.thread.getMessageByIndex(0).getState().branchCount);
	expect(await branches()).toBe(2);
	await say(other, "And then?");
	await poll(() => texts(other)).toEqual(["June?", "answer to 1", "And then?", "answer to 3"]);
	await other.evaluate(async () => {
		const { threadIds } = window.runtime.threads.getState();
		await window.runtime.threads.getItemById(threadIds[0] ?? "").archive();
	});
	await poll(() => titles(other)).toEqual(["May?"]);
	const third = await device();
	await poll(() => titles(third)).toEqual(["May?"]);
	expect(wrong).toEqual([]);
});
