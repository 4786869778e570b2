// What the compiler must accept, and what it must refuse. Nothing here runs.

import {
	Forklore,
	textOf,
	type AppendedEntry,
	type Conversation,
	type ConversationDetails,
	type Entry,
	type ExactNumber,
	type Fork,
	type ListedEntry,
	type Pages,
	type Synced,
	type Tree,
} from "../src/index.ts";

const fl = new Forklore("http://127.0.0.1:8080", {
	token: async () => Promise.resolve("ann"),
	clientKey: "key",
});
const chat = fl.conversation();

export async function accepted(exact: ExactNumber, title: string | undefined): Promise<unknown[]> {
	const said: AppendedEntry = await chat.say("user", "Hello", { key: "k", title, usage: { costUsd: 0.5 } });
	const entry: Entry = said;
	const listed: Pages<ListedEntry> = chat.entries({ after: entry, epoch: "all", alternatives: true });
	const forks: Fork[] = await chat.forks().list();
	const several: number = (await chat.fork({ after: said, count: 2 })).length;
	const one: string = (await chat.fork({ before: said.id, promote: true, resetMetrics: null })).id;
	const synced: Synced = await chat.context.sync(["a", 1, { b: null }, exact] as const, { basedOn: null });
	const details: ConversationDetails = await fl.api.getConversation({ conversationId: chat.id });
	const tree: Tree = await chat.tree({ signal: new AbortController().signal });
	const branch: Fork | undefined = tree.branches[0];
	const last: string | undefined = textOf(await chat.last());
	await fl.api.updateConversation({ conversationId: chat.id, title: null }, { ifMatch: details.updatedAt });
	await fl.api.acceptTransfer({ transferId: "t" });
	await chat.appendAll([{ contentType: "x", content: [1] }], { tags: { a: "b" }, ifMatch: said.id });
	for await (const { alternatives } of listed) alternatives?.at(0);
	return [
		forks,
		several,
		one,
		synced,
		branch?.lastEntryId,
		last,
		exact.toFixed(2),
		details.metrics.costUsd + 1,
	];
}

export async function refused(entry: Entry): Promise<void> {
	// @ts-expect-error a role that there is not
	await chat.say("robot", "Hello");
	// @ts-expect-error a text that is none
	await chat.say("user", 5);
	// @ts-expect-error an argument that there is not
	await chat.say("user", "Hello", { titel: "x" });
	// @ts-expect-error the kind of content is said by the method
	await chat.say("user", "Hello", { content: [] });
	// @ts-expect-error a tag that is no text
	await chat.say("user", "Hello", { tags: { a: 1 } });
	// @ts-expect-error a conversation is no entry
	await chat.fork({ after: chat });
	// @ts-expect-error undefined is no entry, and a fork at the head is another one
	await chat.fork({ before: undefined });
	// @ts-expect-error several forks are an array
	await chat.fork({ count: 2 }).then((fork: Conversation) => fork.id);
	// @ts-expect-error a list has no limit of its own
	chat.entries({ limit: 5 });
	// @ts-expect-error a level that there is not
	await chat.share("bob", "owner");
	// @ts-expect-error a read takes no key
	await fl.api.getEntry({ conversationId: chat.id, entryId: entry.id }, { idempotencyKey: "k" });
	// @ts-expect-error what must be given
	await fl.api.getEntry({ conversationId: chat.id });
	// @ts-expect-error an argument that there is not
	await fl.api.acceptTransfer({ transferId: "t", userId: "bob" });
	// @ts-expect-error seconds are the other client's
	new Forklore("http://127.0.0.1:8080", { timeout: 5 });
}
