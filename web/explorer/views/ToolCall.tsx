// A call of a tool: its name, arguments, result, and how long it took. What has failed is open at first.

import { Check, ChevronRight, X } from "lucide-react";
import { useState, type ReactNode } from "react";
import { duration } from "../model/costs.ts";
import { isObject } from "../model/json.ts";
import { argsLine, type CallShown } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import { visible } from "../model/words.ts";
import { Output, Plain } from "./Block.tsx";
import { JsonTree } from "./JsonTree.tsx";

interface ToolCallProps {
	call: CallShown;
	acts?: ((entry: Entry) => ReactNode) | undefined;
}

export function ToolCall({ call, acts }: ToolCallProps) {
	const { name, args, result, resultEntry, entry, ms } = call;
	const [isOpen, setOpen] = useState(result?.isError ?? false);
	const state = result ? (result.isError ? "failed" : "done") : call.isAnswered ? "below" : "no result";
	return (
		<details className="call" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary className="line">
				<ChevronRight className="turn" />
				<b>{visible(name)}</b>
				<span className="args cut">{argsLine(call)}</span>
				<span className="line t">
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
						<Arguments args={args} />
					</div>
					<div className={result?.isError ? "fail" : ""}>
						<div className="h">
							Result
							<span className="grow" />
							{resultEntry && resultEntry !== entry && acts?.(resultEntry)}
						</div>
						{result ? (
							<Output blocks={result.blocks} />
						) : (
							<span className="quiet">{call.isAnswered ? "It stands below" : "There is none yet"}</span>
						)}
					</div>
				</div>
			)}
		</details>
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
