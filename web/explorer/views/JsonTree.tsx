// JSON as a tree that one opens level by level.

import { useState } from "react";
import { isObject, jsonOf } from "../model/json.ts";
import { counted, visible } from "../model/words.ts";
import { Press } from "./parts.tsx";

const MEMBERS = 100; // that are shown at first
const LONG = 600;
const OPEN_MAX = 12;

/** A value. What has few members is open at first. */
export function JsonTree({ value, isOpen = true }: { value: unknown; isOpen?: boolean }) {
	const [count, setCount] = useState(MEMBERS);
	const members = membersOf(value);
	if (!members) return <Leaf value={value} />;
	return (
		<div className="json">
			{members.slice(0, count).map(([name, held]) => (
				<Member key={name} name={name} value={held} isOpen={isOpen && members.length <= OPEN_MAX} />
			))}
			{members.length > count && (
				<Press className="b s" press={() => setCount(count + 10 * MEMBERS)}>
					Show {counted(Math.min(members.length - count, 10 * MEMBERS), "more member")}
				</Press>
			)}
			{!members.length && <span className="quiet">{Array.isArray(value) ? "[ ]" : "{ }"}</span>}
		</div>
	);
}

function Member({ name, value, isOpen }: { name: string; value: unknown; isOpen: boolean }) {
	const members = membersOf(value);
	const [isShown, setShown] = useState(isOpen && (members?.length ?? 0) <= OPEN_MAX);
	if (!members?.length)
		return (
			<div className="member">
				<b>{visible(name)}</b> <Leaf value={value} />
			</div>
		);
	const what = Array.isArray(value) ? counted(members.length, "element") : counted(members.length, "member");
	return (
		<details open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
			<summary>
				<b>{visible(name)}</b> <span className="quiet">{what}</span>
			</summary>
			{isShown && <JsonTree value={value} isOpen={false} />}
		</details>
	);
}

function Leaf({ value }: { value: unknown }) {
	const [isWhole, setWhole] = useState(false);
	const text = typeof value === "string" ? visible(value) : jsonOf(value);
	const kind = typeof value === "string" ? "hs" : typeof value === "number" ? "hn" : "hk";
	if (isWhole || text.length <= LONG) return <span className={`leaf ${kind}`}>{text}</span>;
	return (
		<>
			<span className={`leaf ${kind}`}>{text.slice(0, LONG)}…</span>{" "}
			<Press className="b s" press={() => setWhole(true)}>
				Show {counted(text.length, "character")}
			</Press>
		</>
	);
}

/** Return the members of an object or array; undefined for a plain value. */
function membersOf(value: unknown): [string, unknown][] | undefined {
	return Array.isArray(value) || isObject(value) ? Object.entries(value) : undefined;
}
