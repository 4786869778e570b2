// A whole fork tree as a message tree: its paths are what the branches show.

import { expect, inject, test } from "vitest";

import { Forklore, textOf, type Conversation, type Tree } from "../src/index.ts";
import { seeded } from "./support/random.ts";
import { KEYS } from "./support/server.ts";

let asked = 0;
const fl = new Forklore(inject("url"), {
	token: "trees",
	clientKey: KEYS.planner,
	fetch: async (...sent) => {
		asked++;
		return fetch(...sent);
	},
});

/** Return the entries from the beginning to one. */
function path(tree: Tree, last: string | null): string[] {
	const parents = new Map(tree.entries.map(({ id, parentId }) => [id, parentId]));
	const found: string[] = [];
	for (let id = last; id !== null; id = parents.get(id) ?? null) found.unshift(id);
	return found;
}

const shownBy = async (id: string): Promise<string[]> =>
	(await fl.conversation(id).entries({ channel: "history" }).list()).map((entry) => entry.id);

/** Compare a tree with what each of its branches shows. */
async function compare(chat: Conversation, seed?: number): Promise<Tree> {
	const tree = await chat.tree();
	const forks = await chat.forks().list();
	expect(tree.branches).toEqual(forks);
	for (const { conversationId, lastEntryId } of tree.branches) {
		expect(path(tree, lastEntryId), `seed ${seed}`).toEqual(await shownBy(conversationId));
	}
	const ids = tree.entries.map(({ id }) => id);
	expect(ids).toEqual(ids.toSorted());
	expect(new Set(ids).size).toBe(ids.length);
	return tree;
}

test("a tree is read in two requests: entries with the one before, and branches", async () => {
	const chat = fl.conversation();
	const one = await chat.say("user", "one");
	const two = await chat.say("ai", "two");
	const edit = await chat.fork({ before: one, promote: true });
	const other = await edit.say("user", "other");
	const blank = fl.conversation();
	await blank.say("user", "blank", { forkedAtConversationId: chat.id });
	const again = await edit.fork({ before: other });
	const after = await chat.fork({ after: one });

	asked = 0;
	const tree = await chat.tree();
	expect(asked).toBe(2);
	expect(tree.entries.map((entry) => [textOf(entry), entry.parentId])).toEqual([
		["one", null],
		["two", one.id],
		["other", null],
		["blank", null],
	]);
	expect(
		tree.branches.map((branch) => [branch.conversationId, branch.isCurrent, branch.lastEntryId]),
	).toEqual([
		[chat.id, false, two.id],
		[edit.id, true, other.id],
		[blank.id, false, tree.entries[3]?.id],
		[again.id, false, null],
		[after.id, false, one.id],
	]);
	await compare(after);
});

test("branches of deleted branches, and at contexts, are in their place", async () => {
	const chat = fl.conversation();
	await chat.say("user", "one");
	const middle = await chat.fork();
	const two = await middle.turn("user", "two", { context: ["a"] });
	await middle.turn("user", "three", { context: ["a", "b"] });
	const top = await middle.fork({ after: two });
	await top.say("user", "four");
	const [first, second] = await middle.context.entries().list();
	const atContext = await middle.fork({ before: second ?? "" });
	const atFirst = await middle.fork({ after: first ?? "" });
	const deep = await top.fork({ before: two });
	await compare(chat);
	await middle.delete();
	await compare(deep);
	await chat.delete();
	const tree = await compare(top);
	expect(tree.branches.map(({ conversationId }) => conversationId)).toEqual([
		top.id,
		atContext.id,
		atFirst.id,
		deep.id,
	]);
});

test("what is added between the two lists is there, and the branches are as they were", async () => {
	const chat = fl.conversation();
	const one = await chat.say("user", "one");
	const slow = new Forklore(inject("url"), {
		token: "trees",
		fetch: async (...sent) => {
			if ((sent[0] as string).includes("/entries")) {
				const two = await chat.say("ai", "two");
				const [a, b] = (await chat.fork({ after: two, count: 2 })) as [Conversation, Conversation];
				await a.say("user", "three");
				await b.say("user", "four");
				await a.say("user", "five");
			}
			return fetch(...sent);
		},
	});
	const tree = await slow.conversation(chat.id).tree();
	expect(tree.entries.map((entry) => [textOf(entry), path(tree, entry.id).length])).toEqual([
		["one", 1],
		["two", 2],
		["three", 3],
		["four", 3],
		["five", 4],
	]);
	expect(tree.branches.map(({ lastEntryId }) => lastEntryId)).toEqual([one.id]);
});

test("an empty tree has a branch, and a name without a conversation has no tree", async () => {
	expect(await (await fl.create()).tree()).toMatchObject({ entries: [], branches: [{ lastEntryId: null }] });
	await expect(fl.named("no tree").tree()).rejects.toMatchObject({ name: "NotFoundError" });
});

test("random trees", async () => {
	const { random, seed } = seeded();
	for (let round = 0; round < 6; round++) {
		const chats = [fl.conversation()];
		await chats[0]?.say("user", "begin");
		for (let step = 0; step < 30; step++) {
			const chat = random.choose(chats);
			const shown = await chat.entries().list();
			const anchor = shown.length ? random.choose(shown) : undefined;
			switch (random.below(8)) {
				case 0:
					chats.push(await chat.fork(anchor && { before: anchor }));
					break;
				case 1:
				case 2:
					if (anchor) chats.push(...(await chat.fork({ after: anchor, count: 1 + random.below(2) })));
					break;
				case 3:
					if (chats.length > 2) {
						await chat.delete();
						chats.splice(chats.indexOf(chat), 1);
					}
					break;
				case 4:
					await chat.turn("ai", `${step}`, { context: [step], basedOn: null });
					break;
				default:
					await chat.say("user", `${step}`);
			}
		}
		await compare(random.choose(chats), seed);
	}
});
