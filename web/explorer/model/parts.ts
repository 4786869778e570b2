// Parts of messages, as providers of models, agent frameworks and chat kits spell them, as blocks that a page shows. Pure.

import { parse } from "@forklore/client";

import { isObject, member, type Json, type Path } from "./json.ts";
import type { AttachedFile } from "./types.ts";

/**
 * What a tool has returned, or that it has failed. at: when, as RFC 3339, if the part says so. path: the place of the
 * part that holds it, in what was read.
 */
export interface Result {
	blocks: Block[];
	isError: boolean;
	at?: string | undefined;
	path: Path;
}

/**
 * A piece of a message.
 *
 * text: `path` is its place in what was read. call: `id` pairs it with its result; formats without ids pair by `name`.
 * image, file: `id` is that of an attachment, and `file` what the entry tells of it.
 */
export type Block =
	| { kind: "text"; text: string; path: Path }
	| { kind: "reasoning"; text: string }
	| {
			kind: "call";
			id?: string | undefined;
			name: string;
			args: unknown;
			result?: Result | undefined;
			at?: string | undefined;
	  }
	| { kind: "result"; id?: string | undefined; name?: string | undefined; result: Result }
	| Media
	| { kind: "json"; label: string; value: unknown };

export interface Media {
	kind: "image" | "file";
	href?: string | undefined;
	name: string;
	type: string;
	id?: string | undefined;
	file?: AttachedFile | undefined;
}

export type Call = Extract<Block, { kind: "call" }>;

const CALL = /(^|[-_])(tool_use|call)$/;
const RESULT = /(_output|tool_result|tool-result|tool-return)$|^retry-prompt$/;
const TEXT = /^((input_|output_|summary_|reasoning_)?text|refusal|user-prompt|system-prompt)$/;
const REASONING = /^(thinking|reasoning|thoughts|reasoning_recap)$/;
/** What a tool of the OpenAI Agents SDK returns when it has raised an error. */
const FAILED = /^An error occurred while running the tool/;
/** How chat kits and adapters of frameworks name an attachment in the place of its bytes. */
const ATTACHMENT = /^(?:data:[^,]*,)?attachment:([^:]+)/;
const FAILURES = ["failed", "error", "output-error", "output-denied", "error-text", "error-json"];

/** Return the first of some members that is a text. */
export const stringIn = (held: unknown, ...names: string[]): string | undefined =>
	isObject(held) ? names.map((name) => held[name]).find((one) => typeof one === "string") : undefined;

/** Return what a value says: a text, a part, a message, or a list of them. at: what all of it tells as its time. */
export function blocksIn(held: unknown, path: Path = [], at?: string): Block[] {
	if (typeof held === "string") return held ? [{ kind: "text", text: held, path }] : [];
	if (Array.isArray(held)) return held.flatMap((one, index) => blocksIn(one, [...path, index], at));
	if (held === null || held === undefined) return [];
	if (!isObject(held)) return [{ kind: "json", label: "Value", value: held }];
	const when = stringIn(held, "timestamp") ?? at;
	if (isObject(held["message"])) return blocksIn(held["message"], [...path, "message"], when); // a transcript's line
	if (Array.isArray(held["parts"])) return blocksIn(held["parts"], [...path, "parts"], when);
	if ("role" in held && "content" in held) {
		const calls: unknown[] = Array.isArray(held["tool_calls"]) ? held["tool_calls"] : [];
		return [
			...blocksIn(held["content"], [...path, "content"], when),
			...calls.map((one) => callOf({ ...(one as Json), ...(member(one, "function") as Json) }, path, when)),
		];
	}
	return blocksOfPart(held, path, when);
}

function blocksOfPart(part: Json, path: Path, at: string | undefined): Block[] {
	const type = stringIn(part, "part_kind", "type", "kind") ?? Object.keys(part)[0] ?? "";
	if (TEXT.test(type) || (type === "text" && "text" in part)) return saidIn("text", part, path, at);
	if (REASONING.test(type)) return reasoningIn(part, path);
	if (isObject(part["reasoningContent"]))
		return reasoningIn((part["reasoningContent"]["reasoningText"] ?? {}) as Json, path);
	if (isObject(part["toolUse"])) return [callOf(part["toolUse"], path, at)];
	if (isObject(part["toolResult"])) return [resultOf(part["toolResult"], [...path, "toolResult"], at)];
	if (type === "dynamic-tool" || (type.startsWith("tool-") && "toolCallId" in part && "state" in part))
		return [callOf({ toolName: type.slice(5), ...part }, path, at)];
	if (isObject(part["toolInvocation"])) return [callOf(part["toolInvocation"], path, at)]; // of Mastra
	if (CALL.test(type)) return [callOf(part, path, at, type)];
	if (RESULT.test(type)) return [resultOf(part, path, at)];
	const media = mediaOf(part, type);
	if (media) return [media];
	if (type === "step-start") return [];
	if (type === "extracted_text")
		return [{ kind: "json", label: `Text of ${stringIn(part, "name") ?? "a file"}`, value: part["text"] }];
	if (isObject(part["json"])) return [{ kind: "json", label: "json", value: part["json"] }];
	return [{ kind: "json", label: type, value: part }];
}

function saidIn(kind: "text" | "reasoning", part: Json, path: Path, at?: string): Block[] {
	const name = ["text", "refusal", "thinking", "content"].find((one) => part[one] !== undefined);
	if (name === undefined) return [];
	const said = part[name];
	const place = [...path, name];
	if (typeof said !== "string") return blocksIn(said, place, at);
	return said ? [kind === "text" ? { kind, text: said, path: place } : { kind, text: said }] : [];
}

/** Return what a model has thought. Providers keep it as a text, as summaries, or sealed. */
function reasoningIn(part: Json, path: Path): Block[] {
	for (const name of ["summary", "thoughts", "content"]) {
		const held = part[name];
		if (!Array.isArray(held) || !held.length) continue;
		const texts = held.map((one) => [stringIn(one, "summary"), stringIn(one, "text", "content")]);
		const text = texts.map((each) => each.filter(Boolean).join("\n\n")).join("\n\n");
		return [{ kind: "reasoning", text }];
	}
	const said = saidIn("reasoning", part, path);
	return said.length ? said : [{ kind: "reasoning", text: "" }];
}

function callOf(part: Json, path: Path, at: string | undefined, type = ""): Call {
	const id = stringIn(part, "call_id", "tool_call_id", "toolCallId", "toolUseId", "id");
	const name = stringIn(part, "tool_name", "toolName", "name") ?? type.replace(/_call$/, "");
	const held = [part["args"], part["argsText"], part["input"], part["arguments"], part["action"]];
	const args = parsed(held.find((one) => one !== undefined && one !== null) ?? {});
	const output = part["output"] ?? part["result"] ?? part["errorText"];
	const result = output === undefined || output === null ? undefined : resultIn(output, path, part, at);
	return { kind: "call", id, name, args, at, result };
}

function resultOf(part: Json, path: Path, at: string | undefined): Block {
	const id = stringIn(part, "call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id");
	const name = stringIn(part, "tool_name", "toolName", "name");
	return { kind: "result", id, name, result: resultIn(part["output"] ?? part["content"], path, part, at) };
}

/**
 * Return the result that a tool's output is. part: what holds it, and perhaps says that it is an error. path: where
 * that stands.
 */
export function resultIn(output: unknown, path: Path = [], part: Json = {}, at?: string): Result {
	const kind = isObject(output) && "value" in output ? stringIn(output, "type") : undefined; // of the AI SDK
	const value = parsed(kind === undefined ? output : (output as Json)["value"]);
	const isError =
		part["is_error"] === true ||
		part["isError"] === true ||
		part["part_kind"] === "retry-prompt" ||
		[part["status"], part["state"], part["outcome"], kind].some((one) => FAILURES.includes(String(one))) ||
		(typeof value === "string" && FAILED.test(value));
	const isParts = Array.isArray(value)
		? value.every(isPart)
		: typeof value === "string" || (isPart(value) && "type" in Object(value));
	return {
		blocks: isParts ? blocksIn(value) : [{ kind: "json", label: "Result", value }],
		isError,
		at,
		path,
	};
}

const isPart = (value: unknown): boolean =>
	isObject(value) &&
	blocksIn(value).every((one) => one.kind === "text" || one.kind === "image" || "json" in value);

/** Return the object or array that a text is as JSON, else what was given. */
export function parsed(value: unknown): unknown {
	if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
	try {
		return parse(value);
	} catch {
		return value;
	}
}

/** Return the image or file that a part is. Its bytes are an attachment, or stand in a `data:` address. */
export function mediaOf(part: Json, type: string): Block | undefined {
	const held = [part["image"], part["document"], part["video"], part["image_url"], part["content"]].find(
		isObject,
	);
	const inner: Json = { ...held, ...part };
	const source = [inner["source"], held?.["source"], inner["bytes"]].find(isObject) ?? {};
	const format = stringIn(inner, "format");
	const media =
		stringIn(inner, "mediaType", "media_type", "mimeType", "contentType") ??
		stringIn(source, "media_type") ??
		(format && isObject(part["image"]) ? `image/${format}` : undefined);
	const isImage = /image/.test(type) || /^image\//.test(media ?? "");
	const isFile =
		/^(file|document|input_file|audio|video|binary)|-url$/.test(type) ||
		"attachmentId" in part ||
		"href" in part;
	if (!isImage && !isFile) return undefined;
	const bytes =
		stringIn(source["bytes"], "data") ?? stringIn(source, "data") ?? stringIn(inner, "data", "file_data");
	const address = stringIn(inner, "href", "image_url", "url", "image") ?? stringIn(source, "url") ?? bytes;
	const kind = media ?? (isImage ? "image/png" : "");
	const isAddress = address === undefined || /^[a-z][a-z0-9+.-]*:/i.test(address);
	const id = ATTACHMENT.exec(address ?? "")?.[1];
	const href = id ? undefined : isAddress ? address : `data:${kind};base64,${address}`;
	const name = stringIn(inner, "name", "filename", "title", "file_name", "attachmentId", "file_id") ?? "";
	return {
		kind: isImage ? "image" : "file",
		href,
		name: name || (isImage ? "Image" : "File"),
		type: kind,
		id,
	};
}
