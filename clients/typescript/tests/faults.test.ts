// Faults between the client and the real service: nothing is lost, and nothing is doubled.

import { describe, expect, inject, onTestFinished, test, type TestContext } from "vitest";

import {
	ConflictError,
	Forklore,
	NoAnswerError,
	NotFoundError,
	ServerError,
	textOf,
	type Conversation,
	type Entry,
	type Options,
} from "../src/index.ts";
import { eventually } from "./support/eventually.ts";
import { FAULTS, proxy, TIMEOUT_MS, type Fault, type Proxy } from "./support/proxy.ts";
import { seeded, type Random } from "./support/random.ts";
import { KEYS } from "./support/server.ts";

const settings = (options: Options = {}): Options => ({
	token: "faults",
	clientKey: KEYS.planner,
	...options,
});
const direct = new Forklore(inject("url"), { token: "faults", clientKey: KEYS.planner });
const texts = async (chat: Conversation) => (await chat.entries({ channel: "history" }).list()).map(textOf);

const RETRIED = Object.keys(FAULTS).filter((fault) => fault !== "none") as Fault[];

/** Return a proxy for one test, with the faults of its next requests. */
async function planted(
	test: Pick<TestContext, "onTestFinished">,
): Promise<{ faulty: Proxy; plant: (...next: Fault[]) => void }> {
	const faults: Fault[] = [];
	const faulty = await proxy(inject("url"), () => faults.shift() ?? "none");
	test.onTestFinished(() => faulty.stop());
	return { faulty, plant: (...next) => faults.push(...next) };
}

describe.concurrent.each(RETRIED)("%s", (fault) => {
	const isSlow = /slow|late/.test(fault);
	const impatient = settings(isSlow ? { timeoutMs: TIMEOUT_MS } : {});

	test("an append is there once, with one key over both attempts", async (context) => {
		const { faulty, plant } = await planted(context);
		const chat = new Forklore(faulty.url, impatient).conversation();
		plant(fault);
		const said = await chat.say("user", "once");
		await faulty.idle();
		context.expect(faulty.planted.get(fault)).toBe(1);
		context.expect(faulty.seen.length).toBeGreaterThanOrEqual(2);
		if (!isSlow) context.expect(faulty.seen).toHaveLength(2); // a busy machine may be slower than this client waits
		context.expect(new Set(faulty.seen.map(({ key }) => key)).size).toBe(1);
		const stored = await direct.conversation(chat.id).entries().list();
		context.expect(stored.map(({ id }) => id)).toEqual([said.id]);
	});

	test("a deletion has happened, a list is whole, a fork is one", async (context) => {
		const { faulty, plant } = await planted(context);
		const chat = new Forklore(faulty.url, impatient).conversation();
		for (const text of ["one", "two", "three"]) await chat.say("user", text);
		plant("none", fault, "none", fault);
		const listed = await chat.entries({ pageEntries: 1 }).list();
		context.expect(listed.map(textOf)).toEqual(["one", "two", "three"]);
		await faulty.idle();
		plant(fault);
		const fork = await chat.fork();
		plant(fault);
		await chat.delete();
		await faulty.idle();
		await context.expect(direct.conversation(chat.id).details()).rejects.toBeInstanceOf(NotFoundError);
		const forks = await direct.conversation(fork.id).forks().list();
		context.expect(forks.map(({ conversationId }) => conversationId)).toEqual([fork.id]);
	});
});

test("a PATCH whose answer is lost is told, and not sent again", async (context) => {
	const { faulty, plant } = await planted(context);
	const chat = await new Forklore(faulty.url, settings()).create({ title: "before" });
	plant("closedAfter");
	await expect(chat.update({ title: "after" })).rejects.toMatchObject({ name: "NoAnswerError", attempts: 1 });
	expect((await chat.details()).title).toBe("after");
	plant("tooMany");
	expect((await chat.update({ title: "again" })).title).toBe("again");
});

test.each<Fault>(["closedAfter", "busyAfter", "truncated"])(
	"%s: a PATCH with ifMatch is sent again, and meets its own change",
	async (fault) => {
		const { faulty, plant } = await planted({ onTestFinished });
		const chat = await new Forklore(faulty.url, settings()).create({ title: "before" });
		const { updatedAt: ifMatch } = await chat.details();
		plant(fault);
		await expect(chat.update({ title: "after" }, { ifMatch })).rejects.toBeInstanceOf(ConflictError);
		expect((await chat.details()).title).toBe("after");
	},
);

test("after no answer at all the call can be repeated with its key", async (context) => {
	const { faulty, plant } = await planted(context);
	const chat = new Forklore(faulty.url, settings({ retries: 1 })).named("after no answer");
	plant("closedAfter", "closedAfter");
	const error: unknown = await chat.say("user", "once").catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(NoAnswerError);
	const { idempotencyKey } = error as NoAnswerError;
	await chat.say("user", "once", { idempotencyKey });
	await chat.say("user", "once", { idempotencyKey });
	expect(await texts(direct.named("after no answer"))).toEqual(["once"]);
});

test("an aborted call ends at once, and may have taken effect", async (context) => {
	const { faulty, plant } = await planted(context);
	const chat = new Forklore(faulty.url, settings()).conversation();
	plant("slowAnswer");
	const controller = new AbortController();
	const call = chat.say("user", "once", { signal: controller.signal, idempotencyKey: "mine" });
	await eventually(() => {
		expect(faulty.seen).toHaveLength(1);
	});
	controller.abort();
	await expect(call).rejects.toMatchObject({ name: "AbortError" });
	await faulty.idle();
	expect(faulty.seen).toHaveLength(1);
	await chat.say("user", "once", { idempotencyKey: "mine" });
	expect(await texts(direct.conversation(chat.id))).toEqual(["once"]);
});

test("without a server nothing is answered, and the deadline ends it", async () => {
	const gone = await proxy(inject("url"), () => "none");
	await gone.stop();
	const fl = new Forklore(gone.url, settings({ retries: 2 }));
	const error: unknown = await fl
		.conversation()
		.say("user", "x")
		.catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(NoAnswerError);
	expect((error as NoAnswerError).attempts).toBe(3);
});

/** A conversation as a worker knows it: the texts that it shows. */
interface Line {
	chat: Conversation;
	shown: string[];
	entries: Entry[];
}

test("random calls of many at once, with random faults", async () => {
	const { random, seed } = seeded();
	const often = Object.entries(FAULTS).flatMap(([fault, times]) => Array<Fault>(times).fill(fault as Fault));
	const stormy = await proxy(inject("url"), () => random.choose(often));
	const token = `storm ${seed}`;
	const calm = new Forklore(inject("url"), { token, clientKey: KEYS.planner });
	const fl = new Forklore(stormy.url, settings({ token, timeoutMs: TIMEOUT_MS, deadlineMs: 100_000 }));
	await calm.named("shared").say("user", "begin");
	try {
		const workers = Array.from({ length: 6 }, (_, number) => work(number, fl, random, 20));
		const said = (await Promise.all(workers)).flatMap((worker) => worker.said);
		await stormy.idle();
		expect((await texts(calm.named("shared"))).toSorted(), `seed ${seed}`).toEqual(
			["begin", ...said].toSorted(),
		);
		for (const worker of await Promise.all(workers)) {
			for (const { chat, shown } of worker.lines) {
				expect(await texts(calm.conversation(chat.id)), `seed ${seed}`).toEqual(shown);
			}
			const [{ chat: root } = worker.root] = worker.lines;
			const tree = calm.conversation(root.id);
			const forks = (await tree.forks().list()).map((fork) => fork.conversationId);
			expect(forks.toSorted(), `seed ${seed}`).toEqual(worker.lines.map(({ chat }) => chat.id).toSorted());
			expect(await tree.context.latest(), `seed ${seed}`).toEqual(worker.memory);
			const context = await tree.context.entries({ epoch: "all" }).list();
			expect(
				context.flatMap(({ content }) => content),
				`seed ${seed}`,
			).toEqual(worker.memory);
			for (const id of worker.deleted) {
				await expect(calm.conversation(id).details(), `seed ${seed}`).rejects.toBeInstanceOf(NotFoundError);
			}
		}
		const kinds = [...stormy.planted.keys()];
		expect(kinds.length, `only ${kinds.join()} of seed ${seed}`).toBeGreaterThan(5);
	} finally {
		await stormy.stop();
	}
});

async function work(number: number, fl: Forklore, random: Random, calls: number) {
	const root: Line = { chat: fl.named(`worker ${number}`), shown: [], entries: [] };
	const lines = [root];
	const memory: unknown[] = [];
	const said: string[] = [];
	const deleted: string[] = [];
	let count = 0;
	const text = () => `${number} says ${count++}`;
	const say = async (line: Line): Promise<void> => {
		const words = text();
		line.entries.push(await line.chat.say("user", words));
		line.shown.push(words);
	};
	const moves: (() => Promise<void>)[] = [
		async () => say(random.choose(lines)),
		async () => say(random.choose(lines)),
		async () => {
			const words = text();
			await fl.named("shared").say("user", words);
			said.push(words);
		},
		async () => {
			const line = random.choose(lines);
			const words = [text(), text(), text()];
			const drafts = words.map((one) => ({ contentType: "history", content: [{ role: "USER", text: one }] }));
			line.entries.push(...(await line.chat.appendAll(drafts)));
			line.shown.push(...words);
		},
		async () => {
			const { chat, shown, entries } = random.choose(lines);
			const after = random.choose(entries);
			const at = entries.indexOf(after);
			const made = await chat.fork({ after, count: 2 });
			for (const one of made)
				lines.push({ chat: one, shown: shown.slice(0, at + 1), entries: entries.slice(0, at + 1) });
		},
		async () => {
			memory.push({ n: memory.length, exact: 0.5 });
			await root.chat.context.sync(memory);
		},
		async () => {
			const gone: Line = { chat: fl.conversation(), shown: [], entries: [] };
			await say(gone);
			await gone.chat.delete();
			deleted.push(gone.chat.id);
		},
		async () => {
			// Not sent again: nobody knows whether it has happened.
			await random
				.choose(lines)
				.chat.update({ title: text() })
				.catch((error: unknown) => {
					if (!(error instanceof NoAnswerError || error instanceof ServerError)) throw error;
				});
		},
	];
	await say(root);
	for (let call = 1; call < calls; call++) await random.choose(moves)();
	return { root, lines, memory, said, deleted };
}
