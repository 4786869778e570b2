// Chats of the AI SDK: the messages of its user interfaces, as they are, with all branches.

import type { LanguageModelUsage, UIMessage } from "ai";

import { InputError, type Forklore } from "@forklore/client";
import { ChatFiles, ChatStore, hashedFiles, isSame } from "@forklore/client/chat";

import { chatMessageOf, placedOf, type End, type Placed } from "./messages.ts";

/** A chat as it was loaded: one branch of it, and where others go on. `Response.json` sends it to a page. */
export interface Chat<M extends UIMessage = UIMessage> {
	/** The conversation that the chat began with. */
	readonly id: string;
	/** The messages of the branch. */
	readonly messages: M[];
	/** Of each message that has others beside it the ids of all of them, itself included, the oldest first. */
	readonly alternatives: Record<string, string[]>;
}

/** A message that could not be stored, and why. */
export interface Unsaved {
	readonly message: UIMessage;
	readonly error: unknown;
}

/**
 * How a turn is saved. usage: what the answer has cost, as `usage` of `streamText` tells it; what has not
 * come within a second is left out. onUnsaved: is told what could not be stored, before `saveTurn` throws.
 */
export interface SaveOptions {
	/** The answer in progress that the turn ends. */
	answerId?: string | undefined;
	usage?: LanguageModelUsage | PromiseLike<LanguageModelUsage> | undefined;
	onUnsaved?: ((unsaved: Unsaved[]) => void) | undefined;
}

/** What else is known of a chat. messages: those that are stored. unsaved: those that could not be. */
interface Known {
	readonly store: ChatStore;
	readonly messages: Map<string, Placed>;
	unsaved: Placed[];
}

const knownOf = new WeakMap<Chat, Known>();

const USAGE_WAIT_MS = 1_000;

/**
 * Return a chat: its current branch, or the newest one through a message. Two requests.
 *
 * id: a UUID; a chat that does not exist has no messages. through: where a page's ‹ 2 / 3 › was moved to.
 * While an answer is written, the branch ends with its question: the answer follows by `resumeAnswer`. Once the chat
 * has gone on since, the answer is not waited for.
 */
export async function loadChat<M extends UIMessage = UIMessage>(
	fl: Forklore,
	id: string,
	{ through }: { through?: string | undefined } = {},
): Promise<Chat<M>> {
	const store = new ChatStore(fl, id, { files: new ChatFiles(fl) });
	const tree = await store.load();
	const messages = new Map(tree.messages.map((one) => [one.id, placedOf(fl, one)]));
	const known: Known = { store, messages, unsaved: [] };
	let branch = pathTo(known, tree.answering ? tree.answering.parentId : tree.headId);
	if (through !== undefined && messages.has(through) && !branch.some(({ id }) => id === through)) {
		let last = through;
		for (let next = childrenOf(known, last).at(-1); next; next = childrenOf(known, last).at(-1))
			last = next.id;
		branch = pathTo(known, last);
	}
	const chat = {
		id,
		messages: branch.map(({ message }) => message as M),
		alternatives: Object.fromEntries(
			branch
				.map(({ id, parentId }) => [id, childrenOf(known, parentId).map((one) => one.id)] as const)
				.filter(([, beside]) => beside.length > 1),
		),
	};
	knownOf.set(chat, known);
	return chat;
}

/**
 * Store what a branch has beyond the chat: one request for all that is new.
 *
 * messages: the whole branch, as the page has it, with the answer. What was edited or answered anew begins a
 * branch. The last answer is updated if it has gone on under its id, such as after a tool's result. An answer
 * without parts, of a model that failed, is left out. With the same messages again nothing is stored.
 *
 * A message that cannot be stored, such as one that is too large, keeps no other from it: what follows stands
 * behind the nearest one that is stored. Throws then why, of the first one. A chat that is loaded anew tries it again;
 * if it is stored then, it begins a branch with what follows. Throws InputError for a message without an id:
 * `generateMessageId` of the AI SDK gives it one.
 */
export async function saveTurn(
	chat: Chat,
	messages: readonly UIMessage[],
	{ usage, onUnsaved, answerId }: SaveOptions = {},
): Promise<void> {
	const known = knownOf.get(chat);
	if (known === undefined) throw new InputError("the chat is what loadChat returned", "chat");
	if (!messages.every(({ id }) => id)) throw new InputError("each message has an id", "messages");

	const said = messages.filter(({ role, parts }) => role !== "assistant" || parts.length > 0); // a model may fail
	const usageOfLast = said.at(-1)?.role === "assistant" ? await usageFrom(usage) : undefined;
	const end: End = { usage: usageOfLast, answerId };
	const unsaved: Unsaved[] = [];
	let parentId: string | null = null;
	for (let at = 0; at < said.length; at++) {
		const rest = said.slice(at);
		const beside = childrenOf(known, parentId);
		const [message] = rest as [UIMessage];
		const found = await thatIs(message, beside);
		if (found !== undefined) {
			const isLast = rest.length === 1 || childrenOf(known, found.id).length === 0;
			if (isLast && !(await isSameAs(found, message))) {
				const newer = { ...message, id: found.id };
				try {
					const last = rest.length === 1 ? end : undefined;
					await known.store.update(parentId, chatMessageOf(newer, found.given, last));
					found.message = newer;
				} catch (error) {
					unsaved.push({ message, error });
				}
			}
			parentId = found.id;
		} else if (!(await isAnyOf(rest, beside))) {
			await add(known, parentId, rest, unsaved, end);
			break;
		} else if ((await thatIs(message, known.unsaved)) === undefined) {
			// what follows may be stored without it, because it could not be: so it is tried alone
			parentId = await add(known, parentId, [message], unsaved);
		}
	}
	if (unsaved.length === 0) return;
	onUnsaved?.(unsaved);
	throw unsaved[0]?.error;
}

/** Return the store of a chat, and the last of its messages that is stored. */
export async function behind(
	chat: Chat,
	messages: readonly UIMessage[],
): Promise<{ store: ChatStore; parentId: string | null }> {
	const known = knownOf.get(chat);
	if (known === undefined) throw new InputError("the chat is what loadChat returned", "chat");
	let parentId: string | null = null;
	for (const message of messages)
		parentId = (await thatIs(message, childrenOf(known, parentId)))?.id ?? parentId;
	return { store: known.store, parentId };
}

/** Return what an answer has cost; undefined if that is not known soon: a stream that nobody reads never tells. */
async function usageFrom(usage: SaveOptions["usage"]): Promise<LanguageModelUsage | undefined> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<undefined>((resolve) => {
		timer = setTimeout(resolve, USAGE_WAIT_MS, undefined);
	});
	try {
		return await Promise.race([usage, late]);
	} catch {
		return undefined; // the model has failed
	} finally {
		clearTimeout(timer);
	}
}

/**
 * Store messages behind one another; note those that are not stored. Return the id of the last one that is.
 *
 * end: what the last one has beside.
 */
async function add(
	known: Known,
	parentId: string | null,
	messages: UIMessage[],
	unsaved: Unsaved[],
	end?: End,
): Promise<string | null> {
	const added: Placed[] = [];
	for (const message of messages) {
		const before = await thatIs(message, known.unsaved);
		const id = before?.id ?? (known.messages.has(message.id) ? crypto.randomUUID() : message.id);
		added.push({ id, given: message.id, message: { ...message, id }, parentId });
	}
	await known.store
		.append(
			parentId,
			...added.map(({ message, given }, at) =>
				chatMessageOf(message, given, at === added.length - 1 ? end : undefined),
			),
		)
		.catch(() => undefined); // the store tells it below
	const failed = new Map(known.store.unsaved.map(({ message, error }) => [message.id, error]));
	known.unsaved = known.unsaved.filter(({ id }) => failed.has(id));
	let last = parentId;
	for (const one of added) {
		if (failed.has(one.id)) {
			unsaved.push({ message: { ...one.message, id: one.given }, error: failed.get(one.id) });
			if (!known.unsaved.some(({ id }) => id === one.id)) known.unsaved.push(one);
			continue;
		}
		known.messages.set(one.id, { ...one, parentId: last });
		last = one.id;
	}
	return last;
}

/** Return the one that a message is: an edited question has the id of the old one; an answer goes on under its id. */
async function thatIs(message: UIMessage, among: Placed[]): Promise<Placed | undefined> {
	for (const one of among.toReversed()) {
		if (![one.id, one.given].includes(message.id)) continue;
		if (message.role === "assistant" || (await isSameAs(one, message))) return one;
	}
	return undefined;
}

async function isAnyOf(messages: UIMessage[], among: Placed[]): Promise<boolean> {
	for (const message of messages) if ((await thatIs(message, among)) !== undefined) return true;
	return false;
}

/** Tell whether a message is as it was, also if it has the bytes of a file that the other one refers to. */
const isSameAs = async ({ id, message }: Placed, other: UIMessage): Promise<boolean> =>
	isSame(await hashedFiles(message), await hashedFiles({ ...other, id }));

const childrenOf = ({ messages }: Known, parent: string | null): Placed[] =>
	[...messages.values()].filter(({ parentId }) => parentId === parent);

function pathTo({ messages }: Known, last: string | null): Placed[] {
	const path: Placed[] = [];
	for (let one = messages.get(last ?? ""); one; one = messages.get(one.parentId ?? "")) path.unshift(one);
	return path;
}
