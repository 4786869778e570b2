// What a tool has returned, as one corrects it: its text, and whether the tool has failed. Pure.
//
// A result stands in a part of what an agent reads. Providers, frameworks and chat kits spell it differently, and not
// each can say that the tool has failed.

import { parse } from "@forklore/client";

import { indentedJson, isObject, member, valueAt, withAt, type Json, type Path } from "./json.ts";
import { stringIn, type Result } from "./parts.ts";

/** What an editor holds of an entry, and the truth that a changed text stands for. */
export interface Editor {
	text: string;
	/** Of what a tool has returned: whether the tool has failed, and whether its form can say so. */
	tool?: { isError: boolean; canFail: boolean };
	/** Throws SyntaxError for what should be JSON. */
	truthOf: (text: string, isError?: boolean) => unknown;
}

const OUTPUTS = ["output", "content", "result", "errorText"];

/** Return the place of what a tool has returned in the part that holds it. */
function outputIn(part: Json): Path {
	if (part["text"]) return ["text"]; // a message of a tool
	const name =
		OUTPUTS.find((one) => part[one] !== undefined && part[one] !== null) ??
		("call_id" in part || "toolCallId" in part ? "output" : "content");
	const output = part[name];
	if (isTyped(output)) return [name, "value"];
	const texts = Array.isArray(output) ? output.flatMap((one, at) => (stringIn(one, "text") ? [at] : [])) : [];
	if (texts.length === 1) return [name, texts[0]!, "text"];
	const isOne = Array.isArray(output) && output.length === 1;
	return isOne && member(output[0], "json") !== undefined ? [name, 0, "json"] : [name];
}

/** Whether an output names its own type, as those of the AI SDK do. */
const isTyped = (output: unknown): output is Json =>
	isObject(output) && "value" in output && typeof output["type"] === "string";

/** Return the part in which a tool has failed, or has not; undefined if its form cannot say so. */
function failing(part: Json, isError: boolean): Json | undefined {
	const [type, kind] = [stringIn(part, "type"), stringIn(part, "part_kind")];
	const { output } = part;
	if (isTyped(output)) {
		const base = /^(?:error-)?(text|json)$/.exec(String(output["type"]))?.[1];
		return base === undefined
			? undefined
			: { ...part, output: { ...output, type: isError ? `error-${base}` : base } };
	}
	if ("toolCallId" in part && /^output-/.test(String(part["state"]))) {
		const { errorText, ...rest } = part;
		const said = output ?? errorText;
		if (!isError) return { ...rest, state: "output-available", output: said };
		const { output: _, ...others } = rest;
		const text = typeof said === "string" ? said : indentedJson(said);
		return { ...others, state: "output-error", errorText: text };
	}
	if (kind === "tool-return")
		return "outcome" in part ? { ...part, outcome: isError ? "failed" : "success" } : undefined;
	if (["success", "error"].includes(String(part["status"])))
		return { ...part, status: isError ? "error" : "success" };
	if ("is_error" in part || type === "tool_result") return marked(part, "is_error", isError);
	if ("isError" in part || type === "tool-call") return marked(part, "isError", isError);
	return undefined;
}

/** Return a part with a mark, which one that has not failed does not get. */
const marked = (part: Json, name: string, isError: boolean): Json =>
	isError || name in part ? { ...part, [name]: isError } : part;

/** Return the editor of what a tool has returned; undefined if the result does not stand in a part of `truth`. */
export function editorOfResult(
	truth: unknown,
	{ path, isError }: Pick<Result, "path" | "isError">,
): Editor | undefined {
	const part = valueAt(truth, path);
	if (!isObject(part)) return undefined;
	const place = outputIn(part);
	const output = valueAt(part, place) ?? "";
	const isText = typeof output === "string";
	return {
		text: isText ? output : indentedJson(output),
		tool: { isError, canFail: failing(part, !isError) !== undefined },
		truthOf: (text, hasFailed = isError) => {
			const said = withAt(part, place, isText ? text : parse(text)) as Json;
			return withAt(truth, path, hasFailed === isError ? said : (failing(said, hasFailed) ?? said));
		},
	};
}
