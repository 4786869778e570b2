// What each call of a tool, and each result, of one message is held against in another one. Pure.

import { indentedJson, jsonOf } from "./json.ts";
import type { Block, Result } from "./parts.ts";
import type { BlockShown, CallShown } from "./shown.ts";

/** A call with its result, or a result that has a place of its own. */
export type ToolBlock = CallShown | Extract<Block, { kind: "result" }>;

/** By a block, the one that it is held against: of the same tool, in the same order; null: there is none. */
export type Counterparts = ReadonlyMap<ToolBlock, ToolBlock | null>;

const isOfTool = (block: BlockShown): block is ToolBlock => block.kind === "call" || block.kind === "result";

export function counterpartsOf(blocks: readonly BlockShown[], others: readonly BlockShown[]): Counterparts {
	const left = others.filter(isOfTool);
	return new Map(
		blocks.filter(isOfTool).map((block) => {
			const at = left.findIndex(({ kind, name }) => kind === block.kind && name === block.name);
			return [block, at < 0 ? null : left.splice(at, 1)[0]!];
		}),
	);
}

/** Return whether two calls or results differ in what the tool was given or has returned. */
export function differs(one: ToolBlock, other: ToolBlock): boolean {
	const given = (block: ToolBlock): unknown => (block.kind === "call" ? block.args : undefined);
	return (
		jsonOf(given(one)) !== jsonOf(given(other)) ||
		textOfResult(one.result) !== textOfResult(other.result) ||
		(one.result?.isError ?? false) !== (other.result?.isError ?? false)
	);
}

/** Return what a tool was given as a text of several lines. */
export const textOfArgs = (args: unknown): string => (typeof args === "string" ? args : indentedJson(args));

/** Return what a tool has returned as a text; "" without a result. */
export const textOfResult = (result: Result | undefined): string =>
	(result?.blocks ?? [])
		.map((block) => {
			if (block.kind === "text") return block.text;
			if (block.kind === "json") return indentedJson(block.value);
			return block.kind === "image" || block.kind === "file" ? `[${block.name}]` : jsonOf(block);
		})
		.join("\n\n");
