import { expect, test } from "vitest";

import samples from "../../../tests/clients/adapters/explorer.json";
import { blocksOf, editableOf, edited, editorOf, firstPart } from "./forms.ts";
import type { Block, Result } from "./parts.ts";
import { editorOfResult } from "./returned.ts";
import { textOfResult } from "./counterparts.ts";
import type { Entry } from "./types.ts";

/** Return an entry. A content alone is a message's. */
const entry = (held: object): Entry => {
	const said = "contentType" in held ? held : { contentType: "history", content: [held] };
	return { id: "e", channel: "history", ...said } as Entry;
};

const resultsOf = (blocks: readonly Block[]): Result[] =>
	blocks.flatMap((one) => ("result" in one && one.result ? [one.result] : []));

/** Parts in which a tool has returned "36 EUR", each with whether it can say that the tool has failed. */
const PARTS: [string, object, boolean][] = [
	["Anthropic", { type: "tool_result", tool_use_id: "t", content: "36 EUR" }, true],
	[
		"Anthropic, with a mark",
		{ type: "tool_result", tool_use_id: "t", content: "36 EUR", is_error: false },
		true,
	],
	[
		"Anthropic, in parts",
		{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "36 EUR" }] },
		true,
	],
	["OpenAI", { type: "function_call_output", call_id: "t", output: "36 EUR" }, false],
	[
		"OpenAI, in parts",
		{ type: "function_call_output", call_id: "t", output: [{ type: "input_text", text: "36 EUR" }] },
		false,
	],
	["Bedrock", { toolResult: { toolUseId: "t", status: "success", content: [{ text: "36 EUR" }] } }, true],
	[
		"Pydantic AI",
		{ part_kind: "tool-return", tool_name: "find", content: "36 EUR", tool_call_id: "t", outcome: "success" },
		true,
	],
	["an earlier Pydantic AI", { part_kind: "tool-return", tool_name: "find", content: "36 EUR" }, false],
	[
		"a message of the AI SDK",
		{ type: "tool-result", toolCallId: "t", toolName: "find", output: { type: "text", value: "36 EUR" } },
		true,
	],
	[
		"a part of the AI SDK",
		{ type: "tool-find", toolCallId: "t", state: "output-available", input: {}, output: "36 EUR" },
		true,
	],
	[
		"assistant-ui",
		{ type: "tool-call", toolCallId: "t", toolName: "find", args: {}, argsText: "{}", result: "36 EUR" },
		true,
	],
];

test.each(PARTS)("a result of %s is corrected, and marked as failed and back", (_, part, canFail) => {
	const one = entry({ role: "AI", content: [{ type: "text", text: "Look." }, part] });
	const [before] = resultsOf(blocksOf(one));
	const editor = editorOf(editableOf(one)!, before!.path);

	expect(editor).toMatchObject({ text: "36 EUR", tool: { isError: false, canFail } });
	const read = (truth: unknown): [string, boolean] => {
		const [result] = resultsOf(blocksOf(entry(truth as object)));
		return [textOfResult(result), result!.isError];
	};
	expect(read(editor.truthOf("44 EUR"))).toEqual(["44 EUR", false]);
	expect(editor.truthOf("36 EUR")).toEqual(one.content[0]);
	const failed = editor.truthOf("no such train", true);
	expect(read(failed)).toEqual(["no such train", canFail]);
	if (!canFail) return;
	const again = entry(failed as object);
	const back = editorOf(editableOf(again)!, before!.path);
	expect(back).toMatchObject({ text: "no such train", tool: { isError: true, canFail: true } });
	expect(read(back.truthOf("36 EUR", false))).toEqual(["36 EUR", false]);
});

test("a result that is more than a text is corrected as JSON, and stays JSON", () => {
	const parts = [
		{ part_kind: "tool-return", content: { total: 36 }, outcome: "success" },
		{ type: "tool-result", toolCallId: "t", output: { type: "json", value: { total: 36 } } },
		{ toolResult: { toolUseId: "t", status: "success", content: [{ json: { total: 36 } }] } },
		{ type: "tool-find", toolCallId: "t", state: "output-available", input: {}, output: { total: 36 } },
	];
	for (const part of parts) {
		const one = entry({ role: "AI", content: [part] });
		const editor = editorOf(editableOf(one)!, firstPart(editableOf(one)!));

		expect(editor.text).toBe('{\n  "total": 36\n}');
		expect(JSON.stringify(editor.truthOf('{"total": 44}'))).toContain('{"total":44}');
		expect(() => editor.truthOf("44 EUR")).toThrow(SyntaxError);
		expect(editor.truthOf('"none"', true)).not.toEqual(one.content[0]);
	}
});

test("one of several results of an entry is corrected, and the others stay", () => {
	const content = ["36 EUR", "2 free"].map((content, at) => ({
		type: "tool_result",
		tool_use_id: `t${at}`,
		content,
	}));
	const one = entry({ role: "USER", content });
	const editable = editableOf(one)!;

	expect(firstPart(editable)).toBe("json");
	const editor = editorOf(editable, ["content", 1]);
	expect(editor.text).toBe("2 free");
	expect(edited(one, editor.truthOf("none free")).content).toEqual([
		{ role: "USER", content: [content[0], { ...content[1], content: "none free" }] },
	]);
});

test("what is corrected first is the words, else the only result, else all of it", () => {
	const first = (held: object) => firstPart(editableOf(entry(held))!);
	const result = { type: "tool_result", tool_use_id: "t", content: "36 EUR" };

	expect(first({ role: "USER", text: "Hi" })).toBe("words");
	expect(first({ role: "TOOL", events: [result] })).toEqual(["events", 0]);
	expect(first({ role: "TOOL", text: "rain", tool_call_id: "t" })).toEqual([]);
	expect(first({ contentType: "application/x", content: [{ a: 1 }] })).toBe("json");
});

test("a message of a tool, a result without any, and adapters' results are corrected in their place", () => {
	const plain = entry({ role: "TOOL", text: "rain", tool_call_id: "t" });
	expect(editorOf(editableOf(plain)!, []).truthOf("sun")).toEqual({ ...plain.content[0]!, text: "sun" });
	const none = { type: "tool_result", tool_use_id: "t" };
	expect(editorOfResult([none], { path: [0], isError: false })?.truthOf("done")).toEqual([
		{ ...none, content: "done" },
	]);
	expect(editorOfResult("rain", { path: [], isError: false })).toBeUndefined();
	for (const name of ["openai-agents", "claude-agent", "strands", "pydantic-ai"] as const) {
		const stored = samples[name].entries.map((one) => entry(one));
		const held = stored.find((one) => resultsOf(blocksOf(one)).length)!;
		const [result] = resultsOf(blocksOf(held));
		const { content } = edited(held, editorOf(editableOf(held)!, result!.path).truthOf('{"total":44}'));
		expect(textOfResult(resultsOf(blocksOf(entry({ ...held, content })))[0])).toContain("44");
	}
});

test("a text that stands in pieces is edited in its piece", () => {
	const call = { type: "tool_use", name: "find", input: {} };
	const one = entry({ role: "AI", text: "I look.", events: [{ type: "text", textAt: [0, 7] }, call] });
	const editable = editableOf(one)!;

	expect(firstPart(editable)).toBe("words");
	expect(edited(one, editorOf(editable, "words").truthOf("I look for it.")).content).toEqual([
		{ role: "AI", text: "I look for it.", events: [{ type: "text", textAt: [0, 14] }, call] },
	]);
	const two = entry({
		role: "AI",
		text: "I look.\n\nThere.",
		events: [{ type: "text", textAt: [0, 7] }, call, { type: "text", textAt: [9, 15] }],
	});
	const all = editorOf(editableOf(two)!, "json");
	expect(edited(two, all.truthOf(all.text)).content).toEqual(two.content);
});
