// The lines of the pages are checked, run, and print what the page says.

import { join } from "node:path";

import { expect, inject, onTestFinished, test } from "vitest";

import { Pages } from "../../typescript/tests/support/pages.ts";

const PAGES = ["clients/langgraph/README.md"];

test("the pages print what they say", async () => {
	const pages = await Pages.of(join(import.meta.dirname, ".."), PAGES, inject("url"));
	onTestFinished(() => {
		pages.remove();
	});
	for (const page of PAGES) {
		const { printed, expected } = await pages.run(page);
		expect(printed).toEqual(expected);
	}
});
