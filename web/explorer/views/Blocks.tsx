// What a message says: its pieces, with its runs of calls of tools; or its entries as they are stored.

import type { ReactNode } from "react";
import type { Counterparts } from "../model/counterparts.ts";
import { indentedJson } from "../model/json.ts";
import type { BlockShown, CallShown, Shown } from "../model/shown.ts";
import { OneBlock } from "./Block.tsx";
import { Code } from "./Code.tsx";
import { ToolCall, ToolResult } from "./ToolCall.tsx";

interface BlocksProps {
	blocks: readonly BlockShown[];
	/** What one may do with the result of a call. */
	acts?: ((call: CallShown) => ReactNode) | undefined;
	/** What the calls and results are held against. */
	others?: Counterparts | undefined;
}

export function Blocks({ blocks, acts, others }: BlocksProps) {
	const groups: (BlockShown | CallShown[])[] = [];
	for (const block of blocks) {
		const last = groups.at(-1);
		if (block.kind !== "call") groups.push(block);
		else if (Array.isArray(last)) last.push(block);
		else groups.push([block]);
	}
	return groups.map((one, at) =>
		Array.isArray(one) ? (
			<div key={at} className="tools">
				{one.map((call, index) => (
					<ToolCall key={call.id ?? index} call={call} acts={acts} other={others?.get(call)} />
				))}
			</div>
		) : one.kind === "result" ? (
			<ToolResult key={at} block={one} other={others?.get(one)} />
		) : (
			<OneBlock key={at} block={one} />
		),
	);
}

/** The entries of a message as the service keeps them. */
export const Stored = ({ entries }: { entries: Shown["entries"] }) => (
	<div className="raw">
		{entries.map((entry) => (
			<Code key={entry.id} language="json" text={indentedJson(entry)} />
		))}
	</div>
);
