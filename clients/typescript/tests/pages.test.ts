// The pages: their lines are checked, run as one program for each page, and print what the page says.

import { join } from "node:path";

import { afterAll, beforeAll, expect, inject, test } from "vitest";

import { Pages } from "./support/pages.ts";

const PAGES = ["README.md", "docs/typescript.md", "clients/typescript/README.md"];
let pages: Pages;

beforeAll(async () => {
	pages = await Pages.of(join(import.meta.dirname, ".."), PAGES, inject("url"));
});
afterAll(() => {
	pages.remove();
});

test.each(PAGES)("%s", async (page) => {
	const { printed, expected } = await pages.run(page);
	expect(printed).toEqual(expected);
	expect(expected.length).toBeGreaterThan(0);
});
