// The example, used by a person in a real Chromium: say, edit, answer anew, ‹ 2 / 3 ›, reload, second device.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { chromium, type Browser, type Page } from "playwright-core";
import { expect, inject, onTestFinished, test } from "vitest";

const EXAMPLE = join(import.meta.dirname, "..", "example", "server.ts");
const PROGRAM = [
	"/usr/lib/chromium/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
].find((one) => existsSync(one));

/** Start the example on a free port. It ends with the test. */
async function started(): Promise<string> {
	const env = { ...process.env, FORKLORE_URL: inject("url"), PORT: "0" };
	const server = spawn(process.execPath, [EXAMPLE], { env, stdio: ["ignore", "pipe", "inherit"] });
	onTestFinished(async () => {
		server.kill();
		await once(server, "close");
	});
	const [address] = (await once(server.stdout, "data")) as [Buffer];
	return String(address).trim();
}

async function device(browser: Browser, address: string, wrong: string[]): Promise<Page> {
	const page = await (await browser.newContext()).newPage();
	page.on("pageerror", (error) => wrong.push(String(error)));
	page.on("console", (message) => {
		if (["error", "warning"].includes(message.type())) wrong.push(message.text());
	});
	await page.goto(address);
	return page;
}

const shown = async (page: Page): Promise<string[]> => {
	await page.locator("main[aria-busy=false]").waitFor();
	return page.locator("li").evaluateAll((items) =>
		items.map((item) => {
			const branches = item.querySelector("span")?.textContent;
			return `${item.querySelector("p")?.textContent}${branches ? ` ${branches}` : ""}`;
		}),
	);
};

async function say(page: Page, text: string): Promise<void> {
	await page.getByRole("textbox").fill(text);
	await page.getByRole("button", { name: "Send" }).click();
}

test("a person talks, edits, asks for another answer, and finds all of it on another device", async ({
	skip,
}) => {
	if (PROGRAM === undefined && process.env["FORKLORE_REQUIRE_CHROMIUM"])
		throw new Error("there is no chromium");
	if (PROGRAM === undefined) return skip("there is no chromium");
	const address = await started();
	const browser = await chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });
	onTestFinished(() => browser.close());
	const wrong: string[] = [];
	const page = await device(browser, address, wrong);
	const expectShown = (on: Page, expected: string[]): Promise<void> =>
		expect.poll(() => shown(on), { timeout: 120_000 }).toEqual(expected);

	await say(page, "May?");
	await expectShown(page, ["May?", "Answer 1 to: May?"]);
	await page.getByRole("button", { name: "Again" }).click();
	await expectShown(page, ["May?", "Answer 2 to: May? ‹ 2 / 2 ›"]);
	await page.getByRole("button", { name: "Again" }).click();
	await expectShown(page, ["May?", "Answer 3 to: May? ‹ 3 / 3 ›"]);
	await page.getByRole("button", { name: "Edit" }).click();
	await say(page, "June?");
	await expectShown(page, ["June? ‹ 2 / 2 ›", "Answer 4 to: June?"]);
	await say(page, "And then?");
	const talk = ["June? ‹ 2 / 2 ›", "Answer 4 to: June?", "And then?", "Answer 5 to: And then?"];
	await expectShown(page, talk);

	await page.reload();
	await expectShown(page, talk);
	const other = await device(browser, page.url(), wrong);
	await expectShown(other, talk);
	await other.getByRole("button", { name: "Before" }).click();
	await expectShown(other, ["May? ‹ 1 / 2 ›", "Answer 3 to: May? ‹ 3 / 3 ›"]);
	await other.getByRole("button", { name: "Before" }).last().click();
	await expectShown(other, ["May? ‹ 1 / 2 ›", "Answer 2 to: May? ‹ 2 / 3 ›"]);
	await say(other, "Why?");
	const gone = ["May? ‹ 1 / 2 ›", "Answer 2 to: May? ‹ 2 / 3 ›", "Why?", "Answer 6 to: Why?"];
	await expectShown(other, gone);
	await page.reload();
	await expectShown(page, gone);

	// the answer comes to its end after the page has loaded the chat, and before it asks for the answer
	await say(other, "Count to 100");
	await expect.poll(() => other.locator("li").count()).toBe(6);
	let goOn = (): void => undefined;
	const isStored = new Promise<void>((resolve) => (goOn = resolve));
	await page.route("**/stream", async (route) => {
		await isStored;
		await route.continue();
	});
	await page.reload();
	await page.getByText("Count to 100").waitFor();
	await expect.poll(async () => (await shown(other)).at(-1), { timeout: 120_000 }).toMatch(/ 100$/);
	goOn();
	await expectShown(page, await shown(other));
	expect(wrong).toEqual([]);
});
