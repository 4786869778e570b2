// The real repository of assistant-ui, driven at random: what a load returns is what was said, in its branches.

import type { ExportedMessageRepositoryItem, ThreadHistoryAdapter, ThreadMessage } from "@assistant-ui/core";
import { MessageRepository } from "@assistant-ui/core/internal";
import { expect, inject, test } from "vitest";

import { Forklore } from "@forklore/client";

import { seededWith, type Random } from "../../typescript/tests/support/random.ts";
import { historyAdapter } from "../src/index.ts";

const STEPS = 130;

/** What the chat is, as somebody would keep it who has only a list. */
class Model {
	readonly items: ExportedMessageRepositoryItem[] = [];
	latest: string | null = null;
	begun = false;

	append(item: ExportedMessageRepositoryItem): void {
		this.items.push(item);
		this.begun = true;
		this.latest = item.message.id;
	}

	update(message: ThreadMessage): void {
		for (const item of this.items) if (item.message.id === message.id) item.message = message;
	}

	delete(id: string): void {
		const parentId = this.items.find(({ message }) => message.id === id)?.parentId ?? null;
		if (this.latest === id) this.latest = parentId;
		for (const item of this.items) if (item.parentId === id) item.parentId = parentId;
		this.items.splice(
			this.items.findIndex(({ message }) => message.id === id),
			1,
		);
	}

	has = (id: string | null): boolean => id === null || this.items.some(({ message }) => message.id === id);

	children = (parent: string | null): string[] =>
		this.items.filter(({ parentId }) => parentId === parent).map(({ message }) => message.id);

	get headId(): string | null {
		let head = this.latest;
		for (let next = this.children(head).at(-1); next; next = this.children(next).at(-1)) head = next;
		return head;
	}
}

/** A page that shows the chat. asked: its requests since the last look. */
class Tab {
	repository = new MessageRepository();
	asked = 0;
	/** What this tab believes to be the end of the current branch. */
	believed: string | null = null;
	readonly history: Required<Pick<ThreadHistoryAdapter, "load" | "append" | "update" | "delete">>;

	constructor(conversationId: string) {
		const fl = new Forklore(inject("url"), {
			token: "ann",
			fetch: async (...sent) => {
				this.asked++;
				return fetch(...sent);
			},
		});
		this.history = historyAdapter(fl, conversationId);
	}

	async load(): Promise<void> {
		const loaded = await this.history.load();
		this.repository = new MessageRepository();
		if (loaded.messages.length > 0) this.repository.import(loaded);
		this.believed = this.repository.headId;
	}

	get ids(): string[] {
		return this.repository.export().messages.map(({ message }) => message.id);
	}

	/** Return how many requests were sent since the last look. */
	count(): number {
		const { asked } = this;
		this.asked = 0;
		return asked;
	}
}

let minted = 0;
const metadata = { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], custom: {} };

function said(random: Random, role: "user" | "assistant"): ThreadMessage {
	const id = `message-${minted++}`;
	const text = { type: "text", text: `${id} says ${random.below(1000)} “ü\u2028”` } as const;
	const createdAt = new Date(1_790_000_000_000 + minted);
	if (role === "user") {
		const file = { id: "a", type: "file", name: "a.txt", status: { type: "complete" } } as const;
		const attachments = random.below(4) === 0 ? [{ ...file, content: [text] }] : [];
		return {
			id,
			role,
			createdAt,
			content: [text],
			attachments,
			metadata: { custom: { n: random.below(9) } },
		};
	}
	const call = {
		type: "tool-call",
		toolCallId: id,
		toolName: "look",
		args: { a: [1, null] },
		argsText: "{}",
	} as const;
	return {
		id,
		role,
		createdAt,
		content: random.below(3) === 0 ? [call, text] : [text],
		status: { type: "complete", reason: "stop" },
		metadata,
	};
}

function compare(tab: Tab, model: Model): void {
	const { messages, headId } = tab.repository.export();
	const byId = (items: readonly ExportedMessageRepositoryItem[]) =>
		new Map(items.map((item) => [item.message.id, item] as const).sort());
	expect(byId(messages)).toEqual(byId(model.items));
	expect(headId).toBe(model.headId);
	for (const { parentId } of messages) {
		const siblings = model.children(parentId);
		expect(tab.repository.getBranches(siblings[0] ?? "")).toEqual(siblings);
	}
}

/** Say, edit, answer anew, switch, and now and then load; with `mends` also update and delete. */
async function talk(random: Random, tabs: Tab[], model: Model, mends: boolean): Promise<void> {
	const alone = tabs.length === 1;
	for (const tab of tabs) await tab.load();
	for (const tab of tabs) tab.count();
	for (let step = 0; step < STEPS; step++) {
		const tab = random.choose(tabs);
		const known = tab.ids.filter(model.has);
		const some = known.length ? random.choose(known) : undefined;
		const append = async (parentId: string | null): Promise<void> => {
			if (!model.has(parentId)) return;
			const role = random.below(2) === 0 ? "user" : "assistant";
			const item = { parentId, message: said(random, role) };
			tab.repository.addOrUpdateMessage(parentId, item.message);
			tab.repository.switchToBranch(item.message.id);
			await tab.history.append(item);
			model.append(item);
			tab.believed = item.message.id;
		};
		switch (random.below(mends ? 11 : 9)) {
			case 0:
			case 1:
			case 2:
			case 3:
				await append(tab.repository.headId);
				if (alone) expect(tab.count()).toBe(1);
				break;
			case 4:
			case 5:
				if (some === undefined) break;
				await append(tab.repository.getMessage(some).parentId);
				if (alone) expect(tab.count()).toBe(1);
				break;
			case 6:
				if (some !== undefined) tab.repository.switchToBranch(some);
				break;
			case 9: {
				const old = some === undefined ? undefined : tab.repository.getMessage(some);
				if (old === undefined) break;
				const text = { type: "text", text: `now ${step}` } as const;
				const message = { ...old.message, content: [text] } as ThreadMessage;
				tab.repository.addOrUpdateMessage(old.parentId, message);
				await tab.history.update({ parentId: old.parentId, message });
				model.update(message);
				if (tab.believed === message.id) model.latest = message.id;
				break;
			}
			case 10:
				if (some === undefined || random.below(3) > 0) break;
				await tab.history.delete([tab.repository.getMessage(some)]);
				model.delete(some);
				await tab.load();
				break;
			default:
				tab.count();
				await tab.load();
				expect(tab.count()).toBe(model.begun ? 2 : 1);
				compare(tab, model);
		}
		tab.count();
	}
	for (const tab of tabs) {
		await tab.load();
		compare(tab, model);
	}
}

for (const seed of [1, 2, 3, 4]) {
	for (const [name, tabs, mends] of [
		["one tab", 1, false],
		["two tabs", 2, false],
		["one tab that also mends", 1, true],
		["two tabs that also mend", 2, true],
	] as const) {
		test(`${name}, seed ${seed}`, async () => {
			const id = crypto.randomUUID();
			const pages = Array.from({ length: tabs }, () => new Tab(id));
			await talk(seededWith(seed), pages, new Model(), mends);
		});
	}
}
