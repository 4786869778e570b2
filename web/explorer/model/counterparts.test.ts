import { expect, test } from "vitest";

import { counterpartsOf, differs, textOfArgs, textOfResult, type ToolBlock } from "./counterparts.ts";
import type { Result } from "./parts.ts";
import type { BlockShown } from "./shown.ts";

const returned = (text: string, isError = false): Result => ({
	blocks: [{ kind: "text", text, path: [] }],
	isError,
	path: [],
});
const call = (name: string, args: unknown, result?: Result): BlockShown =>
	({ kind: "call", name, args, result, entry: {} }) as BlockShown;

test("a call is held against that of the same tool, in the same order", () => {
	const mine = [call("price", { to: "Rome" }), call("look", {}), call("price", { to: "Oslo" })];
	const others = [
		call("price", { to: "Bari" }),
		{ kind: "text", text: "Hm.", path: [] } as const,
		call("price", { to: "Oslo" }),
		call("book", {}),
	];

	const found = counterpartsOf([...mine, others[1]!], others);

	expect([...found.values()]).toEqual([others[0], null, others[2]]);
	expect([...counterpartsOf(others, []).values()]).toEqual([null, null, null]);
});

test("a result with a place of its own is held against such a one, not against a call", () => {
	const result = (text: string): BlockShown => ({ kind: "result", name: "price", result: returned(text) });
	const [mine, other] = [result("36 EUR"), result("44 EUR")];

	expect(counterpartsOf([mine], [call("price", {}), other]).get(mine as ToolBlock)).toBe(other);
});

test.each([
	["the same", { a: 1 }, returned("36 EUR"), false],
	["other arguments", { a: 2 }, returned("36 EUR"), true],
	["another result", { a: 1 }, returned("44 EUR"), true],
	["the same result of a tool that has failed", { a: 1 }, returned("36 EUR", true), true],
	["no result yet", { a: 1 }, undefined, true],
])("two calls with %s", (_, args, result, isOther) => {
	const one = call("price", { a: 1 }, returned("36 EUR")) as ToolBlock;
	const other = call("price", args, result) as ToolBlock;

	expect([differs(one, other), differs(other, one)]).toEqual([isOther, isOther]);
});

test("what a tool was given and has returned is a text", () => {
	const blocks: Result["blocks"] = [
		{ kind: "text", text: "36 EUR", path: [] },
		{ kind: "json", label: "json", value: { total: 36 } },
		{ kind: "image", name: "map.png", type: "image/png" },
	];

	expect(textOfResult({ blocks, isError: false, path: [] })).toBe(
		'36 EUR\n\n{\n  "total": 36\n}\n\n[map.png]',
	);
	expect(textOfResult(undefined)).toBe("");
	expect([textOfArgs("SELECT 1"), textOfArgs({ a: 1 })]).toEqual(["SELECT 1", '{\n  "a": 1\n}']);
});
