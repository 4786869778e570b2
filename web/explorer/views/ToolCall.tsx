// A call of a tool: its name, arguments, result, and how long it took. What has failed is open at first, and what
// differs from the call that it is held against.

import { Check, ChevronRight, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { duration } from "../model/costs.ts";
import { differs, textOfArgs, textOfResult, type ToolBlock } from "../model/counterparts.ts";
import { isObject } from "../model/json.ts";
import { argsLine, type CallShown } from "../model/shown.ts";
import { visible } from "../model/words.ts";
import { Output, Plain } from "./Block.tsx";
import { Marked, useDifferences } from "./Differing.tsx";
import { JsonTree } from "./JsonTree.tsx";

const CONTEXT = 400; // characters around what differs

interface ToolCallProps {
	call: CallShown;
	acts?: ((call: CallShown) => ReactNode) | undefined;
	/** What it is held against; null: there is no such call. */
	other?: ToolBlock | null | undefined;
}

export function ToolCall({ call, acts, other }: ToolCallProps) {
	const { name, args, result, ms, entry, resultEntry } = call;
	const isOther = other === null || (other !== undefined && differs(call, other));
	const [chosen, choose] = useState<boolean>();
	const isOpen = chosen ?? (isOther || (result?.isError ?? false));
	const state = result ? (result.isError ? "failed" : "done") : call.isAnswered ? "below" : "no result";
	return (
		<details
			className="call"
			data-at={`${resultEntry?.id ?? ""} ${entry.id}`.trim()}
			open={isOpen}
			onToggle={({ currentTarget: { open } }) => open !== isOpen && choose(open)}
		>
			<summary className="line">
				<ChevronRight className="turn" />
				<b>{visible(name)}</b>
				<span className="args cut">{argsLine(call)}</span>
				<span className="line t">
					{isOther && <Other isNew={other === null} />}
					{result?.isError ? (
						<span className="err">
							<X /> failed
						</span>
					) : result ? (
						<span className="ok">
							<Check aria-label={state} />
						</span>
					) : (
						<span className="quiet">{state}</span>
					)}
					{ms !== undefined && ms > 0 && <span>{duration(ms)}</span>}
				</span>
			</summary>
			{isOpen && (
				<div className="io">
					<div>
						<div className="h">Arguments</div>
						<Held from={other?.kind === "call" ? textOfArgs(other.args) : ""} to={textOfArgs(args)}>
							<Arguments args={args} />
						</Held>
					</div>
					<div className={result?.isError ? "fail" : ""}>
						<div className="h">
							Result
							<span className="grow" />
							{acts?.(call)}
						</div>
						{result ? (
							<Held from={textOfResult(other?.result)} to={textOfResult(result)}>
								<Output blocks={result.blocks} />
							</Held>
						) : (
							<span className="quiet">{call.isAnswered ? "It stands below" : "There is none yet"}</span>
						)}
					</div>
				</div>
			)}
		</details>
	);
}

/** A result that has a place of its own. */
export function ToolResult({ block, other }: { block: ToolBlock; other?: ToolBlock | null | undefined }) {
	const { result } = block;
	const isOther = other === null || (other !== undefined && differs(block, other));
	return (
		<div className={`tools result ${result?.isError ? "fail" : ""}`}>
			{isOther && <Other isNew={other === null} />}
			<Held from={textOfResult(other?.result)} to={textOfResult(result)}>
				<Output blocks={result?.blocks ?? []} />
			</Held>
		</div>
	);
}

/** The mark of what differs from what it is held against. isNew: there is nothing like it. */
const Other = ({ isNew }: { isNew: boolean }) => (
	<span className="differs">{isNew ? "only here" : "differs"}</span>
);

/** A text with what it has in place of another one, if both are there and much alike; else the children. */
function Held({ from, to, children }: { from: string; to: string; children: ReactNode }) {
	const pieces = useDifferences(from, to);
	return Array.isArray(pieces) ? (
		<pre dir="auto">
			<Marked pieces={pieces} context={CONTEXT} />
		</pre>
	) : (
		children
	);
}

function Arguments({ args }: { args: unknown }) {
	if (typeof args === "string") return <Plain text={args} />;
	const members = isObject(args) ? Object.entries(args) : undefined;
	if (!members) return <JsonTree value={args} />;
	if (!members.length) return <span className="quiet">none</span>;
	return (
		<dl>
			{members.map(([name, value]) => (
				<div key={name}>
					<dt>{visible(name)}</dt>
					<dd>{typeof value === "string" ? <Plain text={value} /> : <JsonTree value={value} />}</dd>
				</div>
			))}
		</dl>
	);
}
