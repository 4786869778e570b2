// How the entries of adapters, chat kits and imports are read, and what an edit of one is stored as. Pure.
//
// An agent reads its own form of a message, which stands beside the role and the text that people see: so that form
// is what is edited, and role and text follow from it.

import { parse, type AppendEntries } from "@forklore/client";

import { indentedJson, isObject, jsonOf, member, valueAt, withAt, type Json, type Path } from "./json.ts";
import { blocksIn, mediaOf, parsed, resultIn, stringIn, type Block, type Result } from "./parts.ts";
import { editorOfResult, type Editor } from "./returned.ts";
import type { AttachedFile, Entry, Role } from "./types.ts";

export type Draft = NonNullable<AppendEntries["entries"]>[number];

/**
 * How a content is read. truth: what is edited; undefined: nothing can be. put: the content with another truth.
 * hasKey: an agent finds the entry by its key.
 */
interface Form {
	truth: unknown;
	put: (truth: unknown) => Json;
	blocks?: Block[];
	hasKey?: boolean;
}

/**
 * What may be changed in an entry. words: where its only text stands in `truth`, if it has one. results: what tools
 * have returned in it.
 */
export interface Editable {
	truth: unknown;
	words?: { text: string; path: Path } | undefined;
	results: readonly Result[];
}

/** What of an entry is edited: its words, all of its truth as JSON, or what a tool has returned at a place. */
export type EditedPart = "words" | "json" | Path;

const OPENAI_AGENTS = "history/openai-agents";
const CLAUDE_TEXT_MAX = 4_000;
const TEXT_MAX = 8_000;
const PIECES_APART = "\n\n";
const ROLES = new Map<string, Role>([
	["user", "user"],
	["human", "user"],
	["ai", "ai"],
	["assistant", "ai"],
	["system", "system"],
	["tool", "tool"],
]);

/** Return the role that a name stands for, in any case of letters. */
export const roleNamed = (name = ""): Role => ROLES.get(name.toLowerCase()) ?? "other";

const firstOf = ({
	channel,
	contentType,
	content,
}: Pick<Entry, "channel" | "contentType" | "content">): Json | undefined =>
	channel === "history" && content.length === 1 && isObject(content[0]) && isForm(contentType, content[0])
		? content[0]
		: undefined;

const isOfLangGraph = ({ content }: Entry): boolean => isObject(content[0]) && "langgraph" in content[0];

export const isHistory = (contentType: string): boolean => /^history(\/|$)/i.test(contentType);

const isForm = (contentType: string, held: Json): boolean => isHistory(contentType) || "langgraph" in held;

/** Return who says an entry. What only holds results of tools is said by a tool, also beside files. */
export function roleOf(entry: Content): Role {
	const blocks = readOnce(entry).said;
	if (blocks.length && blocks.every(({ kind }) => kind === "result")) return "tool";
	const role = roleNamed(stringIn(firstOf(entry), "role"));
	return role === "other" && blocks.some(({ kind }) => kind === "call") ? "ai" : role;
}

type Content = Pick<Entry, "channel" | "contentType" | "content" | "attachments">;

/** Return when an entry was said: an imported one at its source, if that is known. */
export function saidAt({
	line,
	content: [first],
	createdAt,
}: Pick<Entry, "line" | "content" | "createdAt">): string {
	return line?.saidAt ?? timeIn(isObject(first) && first["source"], "createdAt") ?? createdAt;
}

/** Return a time that an import has kept under a name. */
function timeIn(source: unknown, name: string): string | undefined {
	const at = (isObject(source) && stringIn(source, name)) || "";
	const ms = Date.parse(at);
	return !Number.isNaN(ms) && new Date(ms).toISOString() === at ? at : undefined;
}

/** Return what an entry says, with its files. */
export const blocksOf = (entry: Content): Block[] => readOnce(entry).blocks;

const known = new WeakMap<readonly unknown[], { said: Block[]; blocks: Block[] }>();

function readOnce(entry: Content): { said: Block[]; blocks: Block[] } {
	const before = known.get(entry.content);
	if (before) return before;
	const said = read(entry);
	const made = { said, blocks: withFiles(said, entry.attachments) };
	known.set(entry.content, made);
	return made;
}

function read(entry: Content): Block[] {
	const held = firstOf(entry);
	if (!entry.content.length) return [];
	if (!held) return [{ kind: "json", label: entry.contentType, value: entry.content }];
	const form = formOf(entry.contentType, held);
	return form.blocks ?? blocksIn(form.truth);
}

/** Return blocks with what the entry tells of its attachments. Those that no block names come last. */
function withFiles(blocks: Block[], files: readonly AttachedFile[] = []): Block[] {
	const named = new Set<AttachedFile>();
	const filled = (block: Block): Block => {
		if ((block.kind === "call" || block.kind === "result") && block.result)
			return { ...block, result: { ...block.result, blocks: block.result.blocks.map(filled) } };
		const isMedia = block.kind === "image" || block.kind === "file";
		const file = isMedia && files.find(({ id }) => id === block.id);
		if (!file) return block;
		named.add(file);
		return mediaOfFile(file);
	};
	const shown = blocks.map(filled);
	return [...shown, ...files.filter((file) => !named.has(file)).map(mediaOfFile)];
}

const mediaOfFile = (file: AttachedFile): Block => ({
	kind: file.contentType.startsWith("image/") ? "image" : "file",
	name: file.name,
	type: file.contentType,
	id: file.id,
	file,
});

/**
 * Return what may be changed in an entry; undefined if what its agent reads cannot be.
 *
 * entries: of the branch. A graph of LangGraph goes on from its packed states, whatever the messages say.
 */
export function editableOf(entry: Entry, entries: readonly Entry[] = []): Editable | undefined {
	if (entry.erased || entry.channel !== "history" || entries.some(isOfLangGraph)) return undefined;
	const held = firstOf(entry);
	if (!held) return { truth: entry.content, results: [] };
	const { truth, blocks = blocksIn(truth) } = formOf(entry.contentType, held);
	if (truth === undefined) return undefined;
	const texts = blocks.flatMap((one) => (one.kind === "text" ? [one] : []));
	const results = blocks.flatMap((one) => ("result" in one && one.result ? [one.result] : []));
	const [only] = texts;
	const isAlone = only && texts.length === 1 && valueAt(truth, only.path) === only.text;
	return { truth, words: isAlone ? { text: only.text, path: only.path } : undefined, results };
}

/** Return what one changes first in an entry: its words, or what its only tool has returned, else all of it. */
export function firstPart({ words, results: [result, ...others] }: Editable): EditedPart {
	if (words) return "words";
	return result && !others.length ? result.path : "json";
}

/** Return the editor of a part of an entry; what is not there is edited as JSON. */
export function editorOf({ truth, words, results }: Editable, part: EditedPart): Editor {
	const asJson: Editor = { text: indentedJson(truth), truthOf: (text) => parse(text) };
	if (part === "words")
		return words ? { text: words.text, truthOf: (text) => withAt(truth, words.path, text) } : asJson;
	const result = part === "json" ? undefined : results.find(({ path }) => path.join() === part.join());
	return (result && editorOfResult(truth, result)) ?? asJson;
}

/**
 * Return the entry that stands in the place of another one, with another truth.
 *
 * after: the entries behind it. Of Pydantic AI one of them may hold the record, which an agent looks for.
 */
export function edited(entry: Entry, truth: unknown, after: readonly Entry[] = []): Draft {
	const held = firstOf(entry);
	const { contentType, key } = entry;
	if (!held) return { contentType, content: Array.isArray(truth) ? truth : [truth] };
	const { put, hasKey } = formOf(contentType, held);
	const content = saidNow(put(truth));
	const record = content["record"] ?? recordFor(content, after);
	return { contentType, content: [record ? { ...content, record } : content], ...(hasKey && key && { key }) };
}

/** Return a content without the time at which it was said elsewhere: its edit is said now. */
function saidNow(content: Json): Json {
	if (!isObject(content["source"])) return content;
	const { createdAt: _, ...source } = content["source"];
	return { ...content, source };
}

function formOf(contentType: string, held: Json): Form {
	const { events, lines, strands, message, format, langgraph } = held;
	if (langgraph !== undefined) return langGraph(held);
	if (Array.isArray(lines)) return claudeAgent(held, lines);
	if (isObject(strands)) return strandsAgents(held, strands);
	if (typeof format === "string" && isObject(message)) return chatKit(held, message);
	if (message !== undefined && "parentId" in held) return pydanticAi(held, message);
	if (contentType === OPENAI_AGENTS && Array.isArray(events)) return openAiAgents(held, events);
	if (typeof held["text"] === "string" && listOf(events).some((one) => member(one, "textAt")))
		return inPieces(held, held["text"], listOf(events));
	return { truth: held, put: (truth) => truth as Json, blocks: blocksOfPlain(held) };
}

/** Return a value that an adapter has kept, as JSON text if the service did not take it; undefined for text that is none. */
function restored(stored: unknown): unknown {
	if (typeof stored !== "string") return stored;
	try {
		return parse(stored);
	} catch {
		return undefined;
	}
}

/** Return a value to be kept as the one before it was: as JSON text, or as it is. */
const storedAs = (before: unknown, value: unknown): unknown =>
	typeof before === "string" ? jsonOf(value) : value;

const shortened = (text: string, most: number): string =>
	text.length <= most ? text : `${text.slice(0, most - 1)}…`;

const said = (blocks: Block[]): string =>
	shortened(blocks.map(lineOfBlock).filter(Boolean).join("\n"), TEXT_MAX);

/** Return the words of a block, as adapters put them into the text that people see. */
function lineOfBlock(block: Block): string {
	if (block.kind === "text") return block.text;
	if (block.kind === "call")
		return `[calls ${block.name} ${typeof block.args === "string" ? block.args : jsonOf(block.args)}]`;
	if (block.kind === "json") return jsonOf(block.value);
	if (block.kind === "reasoning") return "";
	if (block.kind !== "result") return `[${block.name}]`;
	const { name, result } = block;
	return `[${name ? `${name} ` : ""}returned ${result.blocks.map(lineOfBlock).join("\n")}]`;
}

// The five adapters

/** Items of the OpenAI Agents SDK in `events`. With `textIn` the text of the only one stands in `text` alone. */
function openAiAgents(held: Json, events: unknown[]): Form {
	const path = Array.isArray(held["textIn"]) ? (held["textIn"] as Path) : undefined;
	const items = events.map(restored);
	const [item] = items;
	const isOne = items.length === 1;
	const truth = isOne ? (path ? withAt(item, path, held["text"]) : item) : items;
	const put = (next: unknown): Json => {
		const [all, { role, text, textIn: _, ...rest }] = [isOne ? [next] : (next as unknown[]), held];
		const blocks = blocksIn(all);
		const isInPlace = isOne && path && typeof valueAt(next, path) === "string";
		if (isInPlace)
			return { role, ...rest, text: valueAt(next, path), events: [withAt(next, path, "")], textIn: path };
		return { ...rest, role, text: said(blocks), events: all.map((one, at) => storedAs(events[at], one)) };
	};
	return items.includes(undefined) ? asItIs(held) : { truth, put };
}

/** Lines of a transcript of the Claude Agent SDK in `lines`. */
function claudeAgent(held: Json, lines: unknown[]): Form {
	const truth = lines.map(restored);
	const put = (next: unknown): Json => {
		const texts = blocksIn(next).flatMap((one) =>
			one.kind === "text" ? [one.text] : one.kind === "call" ? [`[${one.name}]`] : [],
		);
		const text = shortened(texts.join("\n\n") || String(held["text"]), CLAUDE_TEXT_MAX);
		return { ...held, text, lines: (next as unknown[]).map((one, at) => storedAs(lines[at], one)) };
	};
	return truth.includes(undefined) ? asItIs(held) : { truth, put, hasKey: true };
}

/** A message of Strands Agents in `strands`, which may have another one in its place. */
function strandsAgents(held: Json, strands: Json): Form {
	const value = restored(strands["value"]);
	const name = isObject(value) && isObject(value["redact_message"]) ? "redact_message" : "message";
	if (!isObject(value) || !isObject(value[name])) return asItIs(held);
	const put = (truth: unknown): Json => ({
		...held,
		text: said(blocksIn(truth)),
		strands: { ...strands, value: storedAs(strands["value"], { ...value, [name]: truth }) },
	});
	return { truth: value[name], put, hasKey: true };
}

/** A message of Pydantic AI. Its `id` stays: others name it as their parent. */
function pydanticAi(held: Json, message: unknown): Form {
	const truth = restored(message);
	const put = (next: unknown): Json => ({
		...held,
		text: said(blocksIn(next)),
		message: storedAs(message, next),
	});
	return truth === undefined ? asItIs(held) : { truth, put, hasKey: true };
}

/** Return what a save of Pydantic AI says if it ends with this message. */
function recordFor({ id, message, parentId }: Json, after: readonly Entry[]): unknown {
	if (message === undefined || parentId === undefined) return undefined;
	const said = after
		.map(({ content }) => (isObject(content[0]) ? content[0]["record"] : undefined))
		.find(isObject);
	const record = restored(said?.["record"]);
	if (!said || !isObject(record)) return undefined;
	return { ...said, record: storedAs(said["record"], { ...record, head_id: id }), closed: null };
}

/** A record of LangGraph, which is packed. It may have words, for people alone. */
function langGraph(held: Json): Form {
	const label = `LangGraph ${stringIn(held["langgraph"], "kind") ?? "part"}`;
	const { role, text } = held;
	const blocks: Block[] = text
		? blocksOfPlain({ role, text })
		: [{ kind: "json", label, value: held["langgraph"] }];
	return { ...asItIs(held), blocks };
}

/** Return the calls and the result that the words of LangGraph's messages tell; undefined without any. */
function wordsOfLangChain(text: string, role: unknown): Block[] | undefined {
	const [, name, output] = (role === "SYSTEM" && /^\[(\S+) returned (.*)\]$/s.exec(text)) || [];
	if (output !== undefined) return [{ kind: "result", name, result: resultIn(output) }];
	const calls = role === "AI" ? [...text.matchAll(/^\[calls (\S+) (.*)\]$/gm)] : [];
	if (!calls.length) return undefined;
	const words = blocksIn(text.slice(0, calls[0]!.index).trim());
	return [...words, ...calls.map(([, called = "", args]): Block => ({ kind: "call", name: called, args }))];
}

/** Return how an entry is shown that cannot be changed. */
const asItIs = (held: Json): Form => ({ truth: undefined, put: () => held, blocks: blocksOfPlain(held) });

// Chat kits

/** A message of the AI SDK or of assistant-ui. Its texts may be parts of `text`, from `textAt[0]` to `textAt[1]`. */
function chatKit(held: Json, message: Json): Form {
	const text = stringIn(held, "text") ?? "";
	const whole = (value: unknown): unknown => {
		if (Array.isArray(value)) return value.map(whole);
		if (!isObject(value)) return value;
		if (value["type"] === "text" && !("text" in value) && Array.isArray(value["textAt"]))
			return withText(value, text);
		return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, whole(one)]));
	};
	const truth = whole(message) as Json;
	const name = "parts" in truth ? "parts" : "content";
	const put = (next: unknown): Json => {
		const texts = listOf(member(next, name)).filter((one) => member(one, "type") === "text");
		return { ...held, text: texts.map((one) => stringIn(one, "text")).join("\n\n"), message: next };
	};
	const files = listOf(truth["attachments"]).flatMap((one) => blocksIn(member(one, "content")));
	return { truth, put, blocks: [...blocksIn(truth[name], [name]), ...files] };
}

// Messages of people, of other programs, and of imports

/** A message of an import whose events stand for pieces of its text. Each piece is edited in its event. */
function inPieces({ text: _, ...rest }: Json, text: string, events: unknown[]): Form {
	const truth = { ...rest, events: events.map((one) => withText(one, text)) };
	const put = (next: unknown): Json => {
		let text = "";
		const kept = listOf(member(next, "events")).map((one) => {
			const piece = member(one, "type") === "text" ? stringIn(one, "text") : undefined;
			if (piece === undefined) return one;
			if (text) text += PIECES_APART;
			const from = text.length;
			text += piece;
			const { text: _, ...others } = one as Json;
			return { ...others, textAt: [from, text.length] };
		});
		return { ...(next as Json), text, events: kept };
	};
	return { truth, put, blocks: blocksOfPlain({ ...truth, text: "" }) };
}

/** A role with a text or with parts; imports keep what else there was in `events`, `attachments` and `source`. */
function blocksOfPlain(held: Json): Block[] {
	const { role, text, content, events, attachments, source, tool_calls, tool_call_id, ...rest } = held;
	const told =
		typeof text === "string" && Object.keys(held).length === 2 ? wordsOfLangChain(text, role) : undefined;
	if (told) return told;
	const words = typeof text === "string" ? blocksIn(text, ["text"]) : [];
	const parts =
		words.length && !tool_calls
			? []
			: blocksIn({ role, content: words.length ? [] : content, tool_calls }, []);
	const others = listOf(events).flatMap((one, at) => blocksIn(one, ["events", at]));
	const files = listOf(attachments).flatMap(fileOf);
	const name = stringIn(source, "recipient");
	const author = member(source, "author");
	const isTool = stringIn(author, "role") === "tool" || tool_call_id !== undefined;
	const left = Object.keys(rest).length ? [{ kind: "json" as const, label: "More fields", value: rest }] : [];
	const isThought = ({ kind }: Block): boolean => kind === "reasoning";
	if (name && words.length)
		return [...others.filter(isThought), ...files, { kind: "call", name, args: parsed(text) }, ...left];
	// Events hold no words: where they hold results, the words were said behind them.
	const isBehind = others.some(({ kind }) => kind === "result" || kind === "reasoning");
	const [first, then] = isBehind ? [others, [...words, ...parts]] : [[...words, ...parts], others];
	if (!isTool || others.some(({ kind }) => kind === "result")) return [...first, ...then, ...files, ...left];
	const result = { ...resultIn([], [], held), blocks: [...words, ...parts, ...others, ...files] };
	const [id, called] = [stringIn(held, "tool_call_id"), stringIn(author, "name") ?? stringIn(held, "name")];
	return [{ kind: "result", id, name: called, result }];
}

/** Return an event with the piece of the text that it stands for, if it does. */
function withText(event: unknown, text: string): unknown {
	const { textAt, ...rest } = isObject(event) ? event : {};
	return Array.isArray(textAt) ? { ...rest, text: text.slice(...(textAt as [number, number])) } : event;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Return the file that an attachment is. The text that an export has of it is shown with it. */
function fileOf(attachment: unknown): Block[] {
	if (!isObject(attachment)) return [];
	const source = isObject(attachment["source"]) ? attachment["source"] : {};
	const { source: _, ...own } = attachment;
	const name = stringIn(source, "file_name", "name");
	const media = mediaOf(
		{ ...(name && { name }), ...own, contentType: own["contentType"] ?? source["mime_type"] ?? "" },
		"",
	);
	const text = stringIn(source, "extracted_content");
	return [
		...(media ? [media] : []),
		...(text ? [{ kind: "json" as const, label: "Its text", value: text }] : []),
	];
}
