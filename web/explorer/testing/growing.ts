// Trees for the tests, as the service lists them.

import type { Branch, ConversationDetails, Line, Role } from "../model/types.ts";

interface Said extends Partial<Line> {
	costUsd?: number;
}

/** A tree that grows by one event a second. */
export class Growing {
	readonly lines: Line[] = [];
	branches: Branch[] = [];
	readonly children: ConversationDetails[] = [];
	/** What each branch shows, also those that were deleted. */
	readonly shown = new Map<string, string[]>();
	#tick = 0;

	/** Make a branch that goes on after an entry, or after nothing. */
	branch(id: string, after: string | null = null, more: Partial<Branch> & { score?: number } = {}): this {
		const source = [...this.shown].find(([, ids]) => after !== null && ids.includes(after));
		const [first] = this.shown.keys();
		const from = source
			? { forkedAtConversationId: source[0], forkedAtEntryId: after! }
			: first !== undefined && { forkedAtConversationId: first };
		const createdAt = this.#now();
		const { score, ...rest } = more;
		const metadata = score === undefined ? {} : { score };
		this.branches.push({
			conversationId: id,
			title: null,
			createdAt,
			isCurrent: !this.branches.length,
			lastEntryId: after,
			names: [],
			tags: {},
			metadata,
			...from,
			...rest,
		});
		this.shown.set(id, source ? source[1].slice(0, source[1].indexOf(after!) + 1) : []);
		return this;
	}

	/** Append entries to a branch, of a user and an AI in turn, and return the id of the last one. */
	say(conversationId: string, texts: readonly string[], { costUsd, ...more }: Said = {}): string {
		const shown = this.shown.get(conversationId)!;
		for (const text of texts) {
			const createdAt = this.#now();
			const id = `e${String(this.#tick).padStart(6, "0")}`;
			const role: Role = shown.length % 2 ? "ai" : "user";
			const usage = costUsd === undefined ? {} : { usage: { costUsd, inputTokens: 10, outputTokens: 2 } };
			const parentId = shown.at(-1) ?? null;
			this.lines.push({
				id,
				conversationId,
				parentId,
				createdAt,
				at: createdAt,
				userId: "ann",
				role,
				text,
				...usage,
				...more,
			});
			shown.push(id);
			const branch = this.branches.find((one) => one.conversationId === conversationId);
			if (branch) branch.lastEntryId = id;
		}
		return shown.at(-1)!;
	}

	delete(id: string): void {
		this.branches = this.branches.filter(({ conversationId }) => conversationId !== id);
	}

	#now(): string {
		return new Date(Date.UTC(2026, 0, 1) + 1000 * ++this.#tick).toISOString();
	}
}

/** A random tree of so many branches and entries, the same for the same seed. */
export function forest(branches: number, entries: number, seed: number): Growing {
	let state = seed;
	const draw = (below: number): number => (state = (state * 48271) % 2147483647) % below;
	const tree = new Growing().branch("b0", null, { score: 0.5 });
	const ids = ["b0"];
	for (let made = 0; made < entries; made++) {
		if (draw(entries) < branches && ids.length < branches) {
			const seen = tree.shown.get(ids[draw(ids.length)]!)!;
			const id = `b${ids.length}`;
			tree.branch(id, seen[draw(seen.length + 1)] ?? null, { score: draw(100) / 100 });
			ids.push(id);
		}
		tree.say(ids[draw(ids.length)]!, [`words ${made}`], { costUsd: 0.001 });
	}
	return tree;
}
