// What is new, as it comes: entries, and an answer while it is written.

import { expect, inject, test, vi } from "vitest";

import { AnswerWriter } from "../src/chat.ts";
import { eventually } from "./support/eventually.ts";
import {
	ForbiddenError,
	Forklore,
	NoAnswerError,
	ServerError,
	textOf,
	type AnswerLog,
	type ListedEntry,
} from "../src/index.ts";

/** Return a client. fails: returns the status that a request gets in place of its answer; 0: it is lost. */
const client = (token = "watcher", fails = (): number | undefined => undefined): Forklore =>
	new Forklore(inject("url"), {
		token,
		fetch: async (...sent) => {
			const status = fails();
			if (status === undefined) return fetch(...sent);
			return status === 0 ? Promise.reject(new Error("lost")) : new Response("", { status });
		},
		retries: 0,
	});

/** Return the next things that a watch yields. */
async function next<T>(watch: AsyncGenerator<T, void, undefined>, count = 1): Promise<T[]> {
	const found: T[] = [];
	while (found.length < count) {
		const { done, value } = await watch.next();
		if (done === true) break;
		found.push(value);
	}
	return found;
}

const told = (one: ListedEntry | AnswerLog): unknown =>
	"parts" in one ? [...one.parts.flatMap(({ content }) => content), one.state] : textOf(one);

test("each entry is told once, in order, through lost answers, until the watcher is removed", async () => {
	const chat = client().conversation();
	const before = await chat.say("user", "before");
	await chat.share("other", "reader");
	const failures: (number | undefined)[] = [undefined, 0, 429, 500, undefined, 502, 503, 504];
	const watch = client("other", () => failures.shift())
		.conversation(chat.id)
		.watch({ after: before });
	const all = next(watch, 5);
	for (const text of ["1", "2", "3"]) await chat.say("user", text);
	await chat.appendAll(
		["4", "5"].map((text) => ({ contentType: "history", content: [{ role: "USER", text }] })),
	);
	expect((await all).map((entry) => textOf(entry))).toEqual(["1", "2", "3", "4", "5"]);
	const refused = expect(watch.next()).rejects.toThrow(ForbiddenError);
	await chat.unshare("other");
	await refused;
	const [first] = await next(client().conversation(chat.id).watch({ after: null }));
	expect(textOf(first)).toBe("before");
});

test("a service that was never there ends a watch, and so does what another request would meet again", async () => {
	const chat = client().conversation();
	await chat.say("user", "before");
	const watched = (...failures: (number | undefined)[]) =>
		client("watcher", () => failures.shift())
			.conversation(chat.id)
			.watch({ after: null });
	await expect(next(watched(0))).rejects.toThrow(NoAnswerError);
	await expect(next(watched(500))).rejects.toThrow(ServerError);
	const watch = watched(undefined, 507);
	expect(await next(watch)).toHaveLength(1);
	await expect(next(watch)).rejects.toThrow(ServerError);
});

test("what is said beside an answer is told while that is written", async () => {
	const fl = client();
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id });
	const watch = chat.watch({ after: null, answers: true });
	expect((await next(watch, 2)).map(told)).toEqual(["May?", ["open"]]);
	await chat.say("user", "Or June?");
	expect((await next(watch)).map(told)).toEqual(["Or June?"]);
	await writer.drop();
	expect((await next(watch)).map(told)).toEqual([["dropped"]]);
});

test("an answer is told piece by piece, and then the entry that it has become", async () => {
	const fl = client();
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const stop = new AbortController();
	const watch = chat.watch({ answers: true, signal: stop.signal });
	const first = next(watch);
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id });
	writer.write("Lis", "bon.", "é".repeat(12_001));
	const seen = (await first).map(told);
	await writer.close();
	await chat.say("ai", "Lisbon.", { answerId: writer.id });
	while (seen.at(-1) !== "Lisbon.") seen.push(...(await next(watch)).map(told));
	const pieces = seen.flat();
	expect(pieces.filter((one) => !["open", "finished"].includes(one as string)).join("")).toBe(
		`Lisbon.${"é".repeat(12_001)}Lisbon.`,
	);
	expect([pieces.includes("open"), pieces.at(-2)]).toEqual([true, "finished"]);
	const waiting = watch.next();
	stop.abort(new Error("left"));
	await expect(waiting).rejects.toThrow("left");
});

test.each([
	{ pieces: ["smile \uD83D", "\uDE00 end"], shown: "smile 😀 end" },
	{ pieces: ["cut \uD83D", "off \uDE00", "\uD83D"], shown: "cut \uFFFDoff \uFFFD\uFFFD" },
])("halves of a surrogate pair in two pieces are one: $shown", async ({ pieces, shown }) => {
	const fl = client();
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const errors: unknown[] = [];
	const onError = (error: unknown): void => {
		errors.push(error);
	};
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id }, { onError });
	for (const piece of pieces) writer.write(piece);
	await writer.close();
	const { parts } = await fl.api.getAnswer({ conversationId: chat.id, answerId: writer.id });
	expect([parts.flatMap(({ content }) => content).join(""), errors]).toEqual([shown, []]);
});

test("an answer is told to have ended, also if its entry was seen before that", async () => {
	const chat = client().conversation();
	const asked = await chat.say("user", "Hello?");
	let meanwhile: (() => Promise<unknown>) | undefined;
	const late = new Forklore(inject("url"), {
		token: "watcher",
		fetch: async (input, init) => {
			const ends = new URL(input as string).pathname.endsWith("/entries") ? meanwhile : undefined;
			if (ends) meanwhile = undefined;
			await ends?.();
			return fetch(input, init);
		},
	});
	const watch = late.conversation(chat.id).watch({ after: asked, answers: true });
	const place = { conversationId: chat.id, answerId: crypto.randomUUID() };
	await late.api.beginAnswer({ conversationId: chat.id, id: place.answerId });
	await late.api.appendToAnswer({ ...place, after: 0, content: ["Hi"] });
	expect((await next(watch)).map(told)).toEqual([["Hi", "open"]]);
	meanwhile = async () => chat.say("ai", "Hi", { answerId: place.answerId });
	expect((await next(watch, 2)).map(told)).toEqual(["Hi", ["finished"]]);
});

test("who writes learns that the answer was stopped, and nothing else breaks", async () => {
	const fl = client();
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const errors: unknown[] = [];
	const onError = (error: unknown): void => {
		errors.push(error);
	};
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id }, { onError });
	await fl.api.stopAnswer({ conversationId: chat.id, answerId: writer.id });
	writer.write("Lisbon.");
	await writer.close();
	expect([writer.signal.aborted, errors]).toEqual([true, []]);
	await chat.say("ai", "Lis", { answerId: writer.id });
	await writer.drop();
	const lost = await AnswerWriter.begin(fl.api, { conversationId: chat.id }, { onError });
	await chat.delete();
	lost.write("Porto.");
	await lost.close();
	expect([lost.signal.aborted, errors.length]).toEqual([false, 1]);
});

/** Return a writer whose parts are refused so first, and what it sends and tells. */
async function refused(status: number, told: object) {
	const sent: unknown[] = [];
	const errors: unknown[] = [];
	const fl = new Forklore(inject("url"), {
		token: "watcher",
		fetch: async (...request) => {
			if (!(request[0] as string).endsWith("/parts")) return fetch(...request);
			sent.push((JSON.parse(request[1]?.body as string) as { content: unknown }).content);
			return sent.length === 1 ? Response.json(told, { status }) : fetch(...request);
		},
	});
	const chat = fl.conversation();
	await chat.say("user", "May?");
	const writer = await AnswerWriter.begin(
		fl.api,
		{ conversationId: chat.id },
		{
			onError: (error) => {
				errors.push(error);
			},
		},
	);
	writer.write("Lisbon.");
	return { chat, writer, sent, errors };
}

test("who writes goes on when a token has expired", async () => {
	const { writer, sent, errors } = await refused(401, { code: "unauthorized" });
	await eventually(() => {
		expect(sent.length).toBeGreaterThan(1);
	});
	await writer.close();
	expect([sent, errors]).toEqual([[["Lisbon."], ["Lisbon."]], []]);
	await writer.drop();
});

test("a log that is full gets signs of life, and the answer ends with its entry", async () => {
	vi.useFakeTimers({ toFake: ["Date"] });
	try {
		const full = { code: "conflict", details: { reason: "answer_full" } };
		const { chat, writer, sent, errors } = await refused(409, full);
		await eventually(() => {
			expect(errors).toHaveLength(1);
		});
		writer.write("Porto.");
		vi.setSystemTime(Date.now() + 10_000);
		await eventually(() => {
			expect(sent).toEqual([["Lisbon."], []]);
		});
		await writer.close();
		expect(textOf(await chat.say("ai", "Lisbon. Porto.", { answerId: writer.id }))).toBe("Lisbon. Porto.");
		expect(errors).toHaveLength(1);
	} finally {
		vi.useRealTimers();
	}
});

test("what is written all the time goes in few parts", async () => {
	const fl = client();
	const chat = fl.conversation();
	await chat.say("user", "Count");
	const writer = await AnswerWriter.begin(fl.api, { conversationId: chat.id });
	const begun = Date.now();
	for (let number = 0; number < 300; number++) {
		writer.write(`${number} `);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
	await writer.close();
	const parts = (Date.now() - begun) / 500; // each waits for half a second
	const { position } = await fl.api.getAnswer({ conversationId: chat.id, answerId: writer.id });
	expect(position).toBeLessThan(parts + 4);
});
