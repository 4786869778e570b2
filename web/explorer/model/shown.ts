// The entries of a branch as the messages that a page shows: calls with their results, runs of calls together. Pure.

import { blocksOf, roleOf, saidAt } from "./forms.ts";
import { jsonOf } from "./json.ts";
import type { Block, Call } from "./parts.ts";
import type { Entry, Role } from "./types.ts";
import { oneLine, unmarked } from "./words.ts";

/** The result of a call. entry: which holds it. ms: from the call to the result. */
export interface CallShown extends Call {
	entry: Entry;
	resultEntry?: Entry;
	ms?: number | undefined;
	/** Its result has a place of its own. */
	isAnswered?: boolean;
}

export type BlockShown = Exclude<Block, Call> | CallShown;

/** A message. entries: its own first; the others hold calls and results that are shown in it. ms: since the one before. */
export interface Shown {
	id: string;
	role: Role;
	who: string;
	entries: Entry[];
	blocks: BlockShown[];
	ms: number;
}

/**
 * Return the messages of a branch, oldest first.
 *
 * A result joins its call, and calls without words join the agent's message before them, unless another way begins
 * there: then the entry has a place of its own.
 */
export function shownOf(entries: readonly Entry[]): Shown[] {
	const found: Shown[] = [];
	let open: CallShown[] = [];
	for (const [at, entry] of entries.entries()) {
		const ms = Math.max(0, Date.parse(saidAt(entry)) - Date.parse(saidAt(entries[at - 1] ?? entry)));
		const role = roleOf(entry);
		const blocks: BlockShown[] = [];
		const isOwn = beginsWay(entry, found.at(-1)?.entries.at(-1));
		for (const block of blocksOf(entry)) {
			if (block.kind === "call") {
				const call: CallShown = { ...block, entry };
				if (!call.result) open.push(call);
				else call.resultEntry = entry;
				blocks.push(call);
				continue;
			}
			const call = block.kind === "result" ? callFor(block, open) : undefined;
			if (block.kind !== "result" || !call) {
				blocks.push(block);
				continue;
			}
			open = open.filter((one) => one !== call);
			call.isAnswered = true;
			if (isOwn) {
				blocks.push({ ...block, name: call.name });
				continue;
			}
			const took = Date.parse(block.result.at ?? saidAt(entry)) - Date.parse(call.at ?? saidAt(call.entry));
			Object.assign(call, { result: block.result, resultEntry: entry, ms: took });
		}
		if (role === "user") open = [];
		const last = found.at(-1);
		const isOfCalls = blocks.every(({ kind }) => kind === "call") && role !== "user" && role !== "system";
		if (last?.role === "ai" && isOfCalls && !isOwn && blocksOf(entry).length) {
			last.ms += ms;
			last.entries.push(entry);
			last.blocks.push(...blocks);
		} else found.push({ id: entry.id, role, who: whoOf(role, entry, blocks), entries: [entry], blocks, ms });
	}
	return found;
}

const beginsWay = (entry: Entry, before: Entry | undefined): boolean =>
	Boolean(entry.alternatives?.length) ||
	(before !== undefined && before.conversationId !== entry.conversationId);

/** Return the call that a result is of: by its id; without one, the oldest open call of that tool. */
function callFor(
	{ id, name }: { id?: string | undefined; name?: string | undefined },
	open: CallShown[],
): CallShown | undefined {
	if (id !== undefined) return open.find((one) => one.id === id);
	return open.find((one) => one.id === undefined && (one.name === name || name === undefined));
}

function whoOf(
	role: Role,
	{ userId, agentId, clientId, contentType, erased }: Entry,
	blocks: BlockShown[],
): string {
	if (erased) return "Erased";
	if (role === "user") return userId;
	if (role === "ai") return agentId ?? clientId ?? "Agent";
	if (role === "system") return "System";
	const [first] = blocks;
	if (role === "tool") return (first?.kind === "result" && first.name) || "Tool";
	return first?.kind === "json" && first.label !== contentType
		? first.label
		: (agentId ?? clientId ?? "Entry");
}

/** Return the first words of an entry on a line; "" if it says nothing. */
export function firstWords(entry: Entry, length = 120): string {
	if (entry.erased) return "[erased]";
	const blocks = blocksOf(entry);
	const words = blocks.find((one) => one.kind === "text") ?? blocks[0];
	return words ? unmarked(oneLine(wordsOf(words), length)) : "";
}

/** Return the words of a block on a line. */
export function wordsOf(block: Block): string {
	switch (block.kind) {
		case "text":
			return block.text;
		case "reasoning":
			return block.text || "Reasoning";
		case "call":
			return argsLine(block) ? `${block.name} ${argsLine(block)}` : block.name;
		case "result":
			return block.result.blocks
				.map((one) => (one.kind === "json" ? jsonOf(one.value) : wordsOf(one)))
				.join(" ");
		case "json":
			return block.label;
		default:
			return block.name;
	}
}

/** Return the arguments of a call on a line. */
export function argsLine({ args }: Pick<Call, "args">, length = 120): string {
	if (typeof args === "string") return oneLine(args, length);
	const values = Object.values(Object(args) as Record<string, unknown>);
	const shown = values.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
	return oneLine(shown.join("  "), length);
}
