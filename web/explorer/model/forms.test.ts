import { expect, test } from "vitest";

import { ChatStore } from "../../../clients/typescript/src/chat.ts";
import samples from "../../../tests/clients/adapters/explorer.json";
import { blocksOf, editableOf, edited, editorOf, roleOf, type Draft } from "./forms.ts";
import { withAt } from "./json.ts";
import { lineOf } from "./lines.ts";
import type { Block } from "./parts.ts";
import { firstSaid } from "./shape.ts";
import { firstWords, shownOf, type Shown } from "./shown.ts";
import type { Entry, Line } from "./types.ts";

let made = 0;

/** Return an entry as a list shows it. A content alone is a message's. */
function entry(held: object, more: Partial<Entry> = {}): Entry {
	const id = String(++made).padStart(4, "0");
	const said =
		"content" in held && "contentType" in held ? held : { contentType: "history", content: [held] };
	const at = new Date(Date.UTC(2026, 2, 1, 9, 15, made % 60)).toISOString();
	const own = { id, conversationId: "c", parentId: null, userId: "ann", createdAt: at, channel: "history" };
	return { ...own, ...said, ...more } as Entry;
}

/** Return messages in few words: who says them, and their blocks. */
const told = (messages: Shown[]): string[] =>
	messages.map(({ role, blocks }) => `${role}: ${blocks.map(words).join(" | ")}`);

function words(block: Block): string {
	switch (block.kind) {
		case "text":
			return block.text;
		case "reasoning":
			return `(${block.text})`;
		case "call":
			return `${block.name} ${JSON.stringify(block.args)} → ${block.result ? `${block.result.isError ? "failed " : ""}${block.result.blocks.map(words).join()}` : "?"}`;
		case "result":
			return `→ ${block.result.blocks.map(words).join()}`;
		case "json":
			return `{${block.label}}`;
		default:
			return `${block.kind} ${block.name} ${block.href ?? ""}`.trim();
	}
}

const ORDER = '{"order":"88-1204"}';
const TOLD: Record<keyof typeof samples, string[]> = {
	"openai-agents": [
		"user: What did my order cost?",
		`ai: (Look first.) | find_order ${ORDER} → {Result}`,
		"ai: It was **40 euros**.",
	],
	"claude-agent": [
		"user: What did my order cost?",
		`ai: (Look first.) | I look. | find_order ${ORDER} → failed no such order | There is **no such order**.`,
	],
	strands: [
		"other: {application/vnd.strands+json}",
		"other: {application/vnd.strands+json}",
		"user: What did my order cost?",
		`ai: (Look first.) | I look. | find_order ${ORDER} → {json}`,
		"ai: It was **40 euros**.",
	],
	"pydantic-ai": [
		"user: What did my order cost?",
		`ai: (Look first.) | I look. | find_order ${ORDER} → {Result}`,
		"ai: It was **40 euros**.",
	],
	langgraph: [
		"user: What did my order cost?",
		`ai: I look. | find_order "{'order': '88-1204'}" → 40`,
		"ai: It was **40 euros**.",
	],
};

test.each(Object.entries(TOLD))(
	"messages of %s show their words, and calls with their results",
	(name, lines) => {
		const { entries } = samples[name as keyof typeof samples];
		expect(told(shownOf(entries.map((one) => entry(one))))).toEqual(lines);
	},
);

const EDITS = Object.entries(samples).flatMap(([name, { edits }]) =>
	edits.map((edit, at) => ({ name, at, edit })),
);

// tests/clients/adapters/test_explorer.py shows that agents read what these drafts say
test.each(EDITS)("edit $at of an entry of $name is stored as its agent reads it", ({ name, edit }) => {
	const entries = samples[name as keyof typeof samples].entries.map((one) => entry(one));
	const [one, after] = [entries[edit.entry]!, entries.slice(edit.entry + 1)];
	const editable = editableOf(one, entries)!;
	const [words, json] = [editorOf(editable, "words"), editorOf(editable, "json")];
	const truth =
		edit.words === undefined
			? json.truthOf(JSON.stringify(withAt(editable.truth, edit.at, edit.value)))
			: words.truthOf(edit.words);
	expect(edited(one, truth, after)).toEqual(edit.draft);
	expect(edited(one, json.truthOf(json.text), after).content[0]).toMatchObject({
		...(one.content[0] as object),
		text: expect.any(String) as string,
	});
});

test("what a graph of LangGraph goes on from cannot be edited, nor what was erased", () => {
	const entries = samples.langgraph.entries.map((one) => entry(one));
	expect(entries.map((one) => editableOf(one, entries))).toEqual([
		undefined,
		undefined,
		undefined,
		undefined,
	]);
	expect(
		editableOf(entry({ contentType: "history", content: [], erased: true }, { erased: true })),
	).toBeUndefined();
});

test("messages of the AI SDK and of assistant-ui show their parts, and are edited in them", async () => {
	const parts = [
		{ type: "step-start" },
		{ type: "reasoning", text: "Look first." },
		{ type: "text", text: "I look." },
		{
			type: "tool-find_order",
			toolCallId: "t1",
			state: "output-error",
			input: { order: 12 },
			errorText: "timeout",
		},
		{ type: "text", text: "Try later." },
		{ type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==", filename: "a.png" },
	];
	const content = [
		{ type: "text", text: "May?" },
		{
			type: "tool-call",
			toolCallId: "t2",
			toolName: "look",
			args: {},
			argsText: "{}",
			result: "sunny",
			isError: false,
		},
	];
	const stored = await keptBy([
		{
			id: "m1",
			role: "ai",
			text: "I look.\n\nTry later.",
			data: { format: "ai-sdk/v6", message: { role: "assistant", parts } },
		},
		{ id: "m2", role: "ai", text: "May?", data: { format: "assistant-ui", message: { content } } },
	]);
	expect(JSON.stringify(stored)).toContain("textAt"); // the text stands in the entry once
	const entries = stored.map((one) => entry(one));
	expect(told(shownOf(entries))).toEqual([
		'ai: (Look first.) | I look. | find_order {"order":12} → failed timeout | Try later. | image a.png data:image/png;base64,AA==',
		"ai: May? | look {} → sunny",
	]);
	const [first, second] = entries as [Entry, Entry];
	expect(editableOf(first)?.words).toBeUndefined(); // it has two texts
	const truth = withAt(editableOf(first)!.truth, ["parts", 4, "text"], "Try now.");
	expect(edited(first, truth)).toMatchObject({
		content: [
			{
				role: "AI",
				text: "I look.\n\nTry now.",
				format: "ai-sdk/v6",
				message: { parts: { 2: { text: "I look." } } },
			},
		],
	});
	const changed = edited(second, editorOf(editableOf(second)!, "words").truthOf("June?"));
	expect(changed).toMatchObject({
		content: [{ text: "June?", message: { content: [{ type: "text", text: "June?" }, {}] } }],
	});
	expect(changed.key).toBeUndefined(); // it is another message
});

test("messages of Mastra show their calls", async () => {
	const toolInvocation = {
		state: "result",
		toolCallId: "t1",
		toolName: "weather",
		args: { day: 1 },
		result: "dry",
	};
	const parts = [
		{ type: "step-start" },
		{ type: "text", text: "I look." },
		{ type: "tool-invocation", toolInvocation },
		{ type: "text", text: "Dry." },
	];
	const data = { format: "mastra", message: { format: 2, parts }, mastra: { id: "m1", role: "assistant" } };
	const stored = await keptBy([{ id: "m1", role: "ai", text: "I look.\n\nDry.", data }]);
	expect(told(shownOf(stored.map((one) => entry(one))))).toEqual([
		'ai: I look. | weather {"day":1} → dry | Dry.',
	]);
});

/** Return the entries that the store of chats sends for messages. */
async function keptBy(messages: Parameters<ChatStore["append"]>[1][]): Promise<Draft[]> {
	const sent: Draft[] = [];
	const api = {
		listForks: () => Promise.resolve({ data: [], afterCursor: null }),
		listTree: () => Promise.resolve({ data: [], afterCursor: null }),
		appendEntry: ({ entries }: { entries: Draft[] }) => {
			sent.push(...entries);
			return Promise.resolve({ data: [] });
		},
	};
	await new ChatStore(
		{
			api: new Proxy(api, {
				get: (held, name) => (Reflect.get(held, name) as unknown) ?? held.listForks,
			}) as never,
		},
		"c",
	).append(null, ...messages);
	return sent;
}

test("what was imported was said when its source says so", () => {
	const at = (createdAt: unknown) => ({ role: "AI", text: "x", source: { createdAt } });
	const imported = ["2023-11-14T22:13:20.000Z", "2023-11-14T22:15:20.000Z"].map((one) => entry(at(one)));
	const line = { content: [], line: { saidAt: "2023-11-14T22:13:20.000Z" } };

	expect(imported.map((one) => lineOf(one).at)).toEqual([line.line.saidAt, "2023-11-14T22:15:20.000Z"]);
	expect(lineOf(entry({}, line)).at).toBe(line.line.saidAt);
	expect(shownOf(imported).map(({ ms }) => ms)).toEqual([0, 120_000]);
	const again = edited(imported[0]!, { ...at("2023-11-14T22:13:20.000Z"), text: "y" });
	expect(again.content).toEqual([{ role: "AI", text: "y", source: {} }]);
	for (const wrong of ["2023-02-30T22:13:20.000Z", "yesterday", 1, undefined]) {
		const other = entry(at(wrong));
		expect(lineOf(other).at).toBe(other.createdAt);
	}
});

test("imports of ChatGPT show thoughts, code as a call, and what a tool returned", () => {
	const source = { createdAt: "2023-11-14T22:13:20.000Z" };
	const image = { content_type: "image_asset_pointer", asset_pointer: "file-service://f1" };
	const messages = [
		{
			role: "USER",
			text: "What is on it?",
			attachments: [
				{ attachmentId: "f1", source: { id: "f1", name: "cat.png", mime_type: "image/png" } },
				{ attachmentId: "file-service://f1", source: image },
			],
			source,
		},
		{
			role: "AI",
			events: [{ type: "thoughts", thoughts: [{ summary: "Look", content: "I count." }] }],
			source,
		},
		{
			role: "AI",
			text: "print(6*7)",
			events: [{ type: "code", language: "python" }],
			source: { ...source, recipient: "python" },
		},
		{ text: "42", source: { ...source, author: { role: "tool", name: "python" } } },
		{ role: "AI", text: "It is **42**.", source },
	];
	expect(told(shownOf(messages.map((one) => entry(one))))).toEqual([
		"user: What is on it? | image cat.png | file file-service://f1",
		'ai: (Look\n\nI count.) | python "print(6*7)" → 42',
		"ai: It is **42**.",
	]);
});

test("imports of Claude show thoughts, tools and the text of files", () => {
	const attachments = [{ attachmentId: "a.txt", source: { file_name: "a.txt", extracted_content: "hello" } }];
	const events = [
		{ type: "thinking", thinking: "Hm." },
		{ type: "tool_use", id: "t1", name: "web_search", input: { query: "x" } },
		{
			type: "tool_result",
			tool_use_id: "t1",
			name: "web_search",
			content: [{ type: "text", text: "found" }],
			is_error: false,
		},
	];
	const messages = [
		{ role: "USER", text: "Read it.", attachments, source: {} },
		{ role: "AI", text: "Here.", events, source: {} },
	];
	expect(told(shownOf(messages.map((one) => entry(one))))).toEqual([
		"user: Read it. | file a.txt | {Its text}",
		'ai: (Hm.) | web_search {"query":"x"} → found | Here.',
	]);
});

test("parts of imports are shown in their order, and a text that is stored once at its places", () => {
	const messages = [
		{
			role: "AI",
			text: "I look 🐟.\n\nThere are two.",
			events: [
				{ type: "text", textAt: [0, 10] },
				{ type: "tool_use", name: "search", input: { q: "fish" } },
				{ type: "text", textAt: [12, 26], citations: [{ url: "u" }] },
			],
		},
		{
			role: "TOOL",
			events: [{ type: "tool_result", name: "search", content: "2 found" }],
			source: { author: { role: "tool", name: "search" } },
		},
		{ role: "USER", text: "Read it.", events: [{ type: "extracted_text", name: "a.txt", text: "hello" }] },
	];
	expect(told(shownOf(messages.map((one) => entry(one))))).toEqual([
		'ai: I look 🐟. | search {"q":"fish"} → 2 found | There are two.',
		"user: Read it. | {Text of a.txt}",
	]);
});

test("parts of providers, tool calls beside them, and unknown JSON are shown", () => {
	const asked = {
		role: "USER",
		content: [
			{ type: "text", text: "What?" },
			{ type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
		],
	};
	const called = {
		role: "AI",
		text: "",
		content: [],
		tool_calls: [{ id: "t", function: { name: "look", arguments: '{"at":1}' } }],
	};
	const returned = { role: "TOOL", text: "rain", tool_call_id: "t" };
	const unknown = { contentType: "application/x", content: [{ a: 1 }] };
	expect(told(shownOf([asked, called, returned, unknown].map((one) => entry(one))))).toEqual([
		"user: What? | image Image data:image/png;base64,AA==",
		'ai: look {"at":1} → rain',
		"other: {application/x}",
	]);
	expect(editableOf(entry(unknown))?.truth).toEqual([{ a: 1 }]);
	expect(edited(entry(unknown), [{ a: 2 }])).toEqual({ contentType: "application/x", content: [{ a: 2 }] });
	expect(
		edited(entry({ role: "USER", text: "Hi", more: 1 }, { key: "k" }), { role: "USER", text: "Ho" }),
	).toEqual({ contentType: "history", content: [{ role: "USER", text: "Ho" }] });
});

test("parts of chat kits that name an attachment show it, and what no part names comes last", () => {
	const file = (id: string) => ({ id, name: `${id}.png`, contentType: "image/png", size: 3 });
	const parts = [
		{ type: "file", mediaType: "image/png", url: "attachment:a:00ff" },
		{ type: "image", image: "attachment:b:00ff" },
		{ type: "input_image", image_url: "data:image/png;base64,attachment:e:00ff:40000" },
		{
			type: "tool-look",
			toolCallId: "t",
			state: "output-available",
			input: {},
			output: [{ type: "file", data: "attachment:c:0", mimeType: "image/png" }],
		},
		{ type: "file", mediaType: "application/pdf", url: "attachment:lost:00ff", filename: "lost.pdf" },
	];
	const held = { role: "USER", text: "", format: "aisdk", message: { parts } };
	const attachments = ["d", "e", "c", "b", "a"].map(file);
	const blocks = blocksOf(entry(held, { attachments }));
	expect(blocks.map(words)).toEqual([
		"image a.png",
		"image b.png",
		"image e.png",
		"look {} → image c.png",
		"file lost.pdf",
		"image d.png",
	]);
	expect(blocks[0]).toMatchObject({ file: attachments[4] });
	expect(blocks[3]).not.toHaveProperty("href", expect.anything());
});

test("results of tools are said by a tool, also beside files", () => {
	const attachments = [{ id: "a", name: "a.png", contentType: "image/png", size: 3 }];
	const held = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "done" }] };
	expect(told(shownOf([entry(held, { attachments })]))).toEqual(["tool: → done | image a.png"]);
});

test("an entry without words is called by its file", () => {
	const attachments = [{ id: "a", name: "a\u202egnp.exe", contentType: "image/png", size: 3 }];
	const said = { role: "USER", text: "", attachments: [{ id: "a" }] };
	const asLine = { contentType: "history", content: [] };
	expect(firstWords(entry(said, { attachments }))).toBe("a[U+202E]gnp.exe");
	expect(lineOf(entry(asLine, { attachments, line: { role: "USER", holds: ["attachments"] } })).text).toBe(
		"a[U+202E]gnp.exe",
	);
});

test("a result has a place of its own where another way begins, and its title is its tool's", () => {
	const entries = samples["openai-agents"].entries.map((one) => entry(one));
	const forked = entries.map((one, at) => (at === 3 ? { ...one, alternatives: ["other"] } : one));
	const messages = shownOf(forked);
	expect(messages.map(({ entries }) => entries.length)).toEqual([1, 2, 1, 1]);
	expect(messages[2]).toMatchObject({ role: "tool", who: "find_order" });
	expect(shownOf(entries)[1]?.blocks[1]).toMatchObject({ ms: 1000, resultEntry: { id: entries[3]!.id } });
});

test("the first words of an entry are of its message, and what it does without words", () => {
	const { entries } = samples["openai-agents"];
	expect(entries.map((one) => firstWords(entry(one)))).toEqual([
		"What did my order cost?",
		"Look first.",
		"find_order 88-1204",
		'{"total":40}',
		"It was 40 euros.",
	]);
	expect(roleOf(entry(entries[3]!))).toBe("tool");
	expect(blocksOf(entry({ contentType: "history", content: [] }))).toEqual([]);
});

test("a line says that a tool has failed, as the service does and as its entry does", () => {
	const asLine = { contentType: "history", content: [] };
	const failed = samples["claude-agent"].entries.map((one) => lineOf(entry(one)).failed);
	expect(failed).toContain(true);
	expect(failed).toContain(undefined);
	expect(lineOf(entry(asLine, { line: { role: "TOOL", failed: true } })).failed).toBe(true);
});

test("lines of the service show calls and results as entries do", () => {
	const line = (role: string, text: string) => {
		const shown = lineOf(entry({ contentType: "history", content: [] }, { line: { role, text } }));
		return `${shown.role}: ${shown.text}`;
	};
	expect([
		line("AI", '[calls pay {"euros": 5}]'),
		line("SYSTEM", '[returned {"paid'),
		line("SYSTEM", "[pay returned 5]"),
		line("USER", "[returned 5]"),
		line("AI", "## It is **done**"),
		line("AI", "Done. ## Next"),
		line("AI", "x = 1 # a note in C #"),
	]).toEqual([
		'ai: pay {"euros": 5}',
		'tool: {"paid',
		"tool: 5",
		"user: [returned 5]",
		"ai: It is done",
		"ai: Done. Next",
		"ai: x = 1 # a note in C #",
	]);
});

test("a result without words is named after its call, and neither names what is said", () => {
	const asLine = (role: string, more: object, before?: Line) =>
		lineOf(entry({ contentType: "history", content: [] }, { line: { role, ...more } }), before);
	const call = asLine("AI", { tool: "pay", holds: ["events"] });
	expect([
		call,
		asLine("TOOL", {}, call),
		asLine("TOOL", { failed: true }, call),
		asLine("TOOL", {}),
	]).toMatchObject([
		{ text: "pay", isTool: true },
		{ text: "pay returned", isTool: true },
		{ text: "pay failed", isTool: true },
		{ text: "Tool result", isTool: true },
	]);
	expect(firstSaid([call, asLine("AI", { text: "Paid.", tool: "pay" })])).toBe("Paid.");
	expect(firstSaid([call])).toBe("pay");
	const result = asLine("USER", { holds: ["other"] }, call);
	expect(result).toMatchObject({ role: "tool", text: "pay returned", isTool: true });
	expect(asLine("USER", { holds: ["other"] })).toMatchObject({ role: "user", text: "Without words" });
	expect(firstSaid([call, result, asLine("AI", { text: "Paid." })])).toBe("Paid.");
});
