// Chats with photos: their bytes are sent once, and every later turn knows them by what it refers to.

import { randomBytes } from "node:crypto";

import { convertToModelMessages, type FileUIPart, type UIMessage } from "ai";
import { expect, inject, test } from "vitest";

import { Forklore, TooLargeError } from "@forklore/client";

import { Counting } from "../../typescript/tests/support/counting.ts";
import { filePart, loadChat, readableFiles, saveTurn, type Chat, type Unsaved } from "../src/index.ts";

const TURN_BYTES_MAX = 50_000;

const photo = (size: number, filename = "casa.png"): FileUIPart => ({
	type: "file",
	mediaType: "image/png",
	filename,
	url: `data:image/png;base64,${randomBytes(size).toString("base64")}`,
});
const asks = (id: string, text: string, ...files: FileUIPart[]): UIMessage => ({
	id,
	role: "user",
	parts: [...files, { type: "text", text }],
});
const answers = (id: string, text: string): UIMessage => ({
	id,
	role: "assistant",
	parts: [{ type: "text", text }],
});
const urlsOf = (message: UIMessage | undefined): string[] =>
	message?.parts.flatMap((part) => (part.type === "file" ? [part.url] : [])) ?? [];
/** Return what a page has of a chat. */
const paged = (chat: Chat): UIMessage[] => (JSON.parse(JSON.stringify(chat)) as Chat).messages;
const bytesAt = async (url: string): Promise<string> =>
	`data:image/png;base64,${Buffer.from(await (await fetch(url)).arrayBuffer()).toString("base64")}`;
const filesOf = async (fl: Forklore, chatId: string): Promise<number[]> =>
	(await fl.conversation(chatId).tree()).entries.map(({ attachments }) => attachments?.length ?? 0);

test("ten photos of 1 MB: each turn after the first is 50 KB at most, whether the page has their bytes or links", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const id = crypto.randomUUID();
	const photos = Array.from({ length: 10 }, () => photo(1_000_000));
	let talk = [asks("q1", "Which one?", ...photos)];
	/** A turn as the route handler does it. Return what it has moved. */
	const turn = async (question: UIMessage | undefined, answer: UIMessage): Promise<number> => {
		counting.taken();
		if (question) talk = [...talk, question];
		const chat = await loadChat(fl, id);
		await saveTurn(chat, talk);
		talk = [...talk, answer];
		await saveTurn(chat, talk);
		return counting.taken().bytes;
	};
	expect(await turn(undefined, answers("a1", "The third."))).toBeGreaterThan(10_000_000);
	expect(await turn(asks("q2", "Why?"), answers("a2", "It is quiet."))).toBeLessThan(TURN_BYTES_MAX);
	talk = paged(await loadChat(fl, id)); // the page is opened anew
	const inPage = JSON.stringify(talk).length;
	expect(inPage + (await turn(asks("q3", "And?"), answers("a3", "Cheap.")))).toBeLessThan(TURN_BYTES_MAX);
	talk = talk.slice(0, 1);
	expect(await turn(undefined, answers("b1", "The second."))).toBeLessThan(TURN_BYTES_MAX); // regenerate
	const chat = await loadChat(fl, id);
	expect(chat.messages.map((message) => message.id)).toEqual(["q1", "b1"]);
	expect(chat.alternatives).toEqual({ b1: ["a1", "b1"] });
	const [question] = chat.messages;
	expect(await Promise.all(urlsOf(question).map(bytesAt))).toEqual(photos.map(({ url }) => url));
});

test.each(["bytes", "links"])(
	"an edit and the same photo again, by its %s, is no second upload",
	async (as) => {
		const counting = new Counting();
		const { fl } = counting;
		const id = crypto.randomUUID();
		const casa = photo(100_000);
		await saveTurn(await loadChat(fl, id), [asks("q", "May?", casa), answers("a", "Lisbon.")]);
		const [first] = paged(await loadChat(fl, id));
		const again = as === "bytes" ? casa : { ...casa, url: urlsOf(first)[0] ?? "" };
		const talk = [asks("q", "June?", again, again), answers("b", "Porto."), asks("q2", "And this?", again)];
		counting.taken();
		await saveTurn(await loadChat(fl, id), talk);
		expect(counting.taken().bytes).toBeLessThan(TURN_BYTES_MAX);
		expect(await filesOf(fl, id)).toEqual([1, 0, 1, 0, 1]); // in one message it is named once
		const chat = await loadChat(fl, id);
		const urls = chat.messages.flatMap(urlsOf);
		expect(new Set(urls.map((url) => url.split("#")[1])).size).toBe(1);
		expect(await Promise.all(urls.map(bytesAt))).toEqual([casa.url, casa.url, casa.url]);
		const before = await loadChat(fl, id, { through: "a" });
		expect(before.messages.map(({ id }) => id)).toEqual(["q", "a"]);
		counting.taken();
		await saveTurn(chat, [...talk.slice(0, 2), ...chat.messages.slice(2)]);
		expect(counting.taken().asked).toEqual([]); // it is as it was
	},
);

test("31 KB stay in the message; of eleven files the last one does, also if the page has links alone", async () => {
	const { fl } = new Counting();
	const id = crypto.randomUUID();
	const small = photo(31 * 1024);
	const photos = Array.from({ length: 11 }, (_, at) => photo(40_000 + at, `${at}.png`));
	await saveTurn(await loadChat(fl, id), [asks("q", "Which?", small, ...photos)]);
	const [stored] = paged(await loadChat(fl, id));
	expect(await filesOf(fl, id)).toEqual([10]);
	const urls = urlsOf(stored);
	expect([urls[0], urls[11]]).toEqual([small.url, photos[10]?.url]);
	expect(urls.filter((url) => url.startsWith("http"))).toHaveLength(10);

	const links = await Promise.all(
		photos.map(async ({ url }, at) =>
			filePart(fl, await fl.upload(await (await fetch(url)).blob(), { name: `${at}.png` })),
		),
	);
	await saveTurn(await loadChat(fl, id), [asks("r", "Which?", ...links)]);
	const [shown] = (await loadChat(fl, id)).messages;
	expect(urlsOf(shown)[10]).toBe(photos[10]?.url);
	expect(await bytesAt(urlsOf(shown)[9] ?? "")).toBe(photos[9]?.url);
});

test.each([
	["of 20 KB", 20_000, true],
	["of 40 KB", 40_000, true],
	["whose hash the page has not", 40_000, false],
])("a page with eleven links, each %s, goes on in its branch", async (_, size, isHashed) => {
	const { fl } = new Counting();
	const id = crypto.randomUUID();
	const links = await Promise.all(
		Array.from({ length: 11 }, async (_, at) => {
			const { sha256, ...made } = await fl.upload(randomBytes(size), {
				name: `${at}.png`,
				contentType: "image/png",
			});
			return filePart(fl, isHashed ? { ...made, sha256 } : made);
		}),
	);
	let talk = [asks("q1", "Which?", ...links)];
	for (const next of [answers("a1", "The third."), asks("q2", "Why?"), answers("a2", "It is quiet.")]) {
		await saveTurn(await loadChat(fl, id), talk);
		talk = [...talk, next];
	}
	await saveTurn(await loadChat(fl, id), talk);
	const { messages, alternatives } = await loadChat(fl, id);
	expect([messages.map((message) => message.id), alternatives]).toEqual([["q1", "a1", "q2", "a2"], {}]);
	expect(await filesOf(fl, id)).toEqual([10, 0, 0, 0]);
});

test("what cannot be uploaded stays in the message, and compares as the same when it can", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const id = crypto.randomUUID();
	const talk = [asks("q", "This?", photo(40_000), photo(50_000)), answers("a", "Yes.")];
	counting.refuseFiles(409, "attachments_off");
	await saveTurn(await loadChat(fl, id), talk);
	expect((await loadChat(fl, id)).messages).toEqual(talk);
	counting.instead = () => undefined;
	counting.taken();
	await saveTurn(await loadChat(fl, id), [...talk, asks("q2", "Sure?")]);
	expect(counting.taken().asked.filter((one) => one.startsWith("POST"))).toEqual(["POST /v1/conversations"]);
	const { alternatives, messages } = await loadChat(fl, id);
	expect([alternatives, messages]).toEqual([{}, [...talk, asks("q2", "Sure?")]]);

	const large = asks("big", "And this?", photo(2_000_000));
	counting.refuseFiles(413);
	const told: string[] = [];
	const onUnsaved = (unsaved: Unsaved[]): void => {
		told.push(...unsaved.map(({ message }) => message.id));
	};
	const whole = [...messages, large, answers("a3", "No.")];
	await expect(saveTurn(await loadChat(fl, id), whole, { onUnsaved })).rejects.toThrow(TooLargeError);
	expect(told).toEqual(["big"]);
	expect((await loadChat(fl, id)).messages.map((message) => message.id)).toEqual(["q", "a", "q2", "a3"]);
});

test("a removed file ends no chat: an edit is stored, and a model is told", async () => {
	const { fl } = new Counting();
	const id = crypto.randomUUID();
	await saveTurn(await loadChat(fl, id), [asks("q", "This?", photo(40_000), photo(50_000, "b.png"))]);
	const [message] = paged(await loadChat(fl, id));
	const [removed, kept] = message?.parts as [FileUIPart, FileUIPart];
	const attachmentId = /#attachment=([\w-]+):/.exec(removed.url)?.[1] ?? "";
	const admin = new Forklore(inject("url"), { token: "the-admin" });
	await admin.api.adminRemoveAttachment({ attachmentId, justification: "by law" });
	await saveTurn(await loadChat(fl, id), [asks("q", "These?", removed, kept)]);
	expect(await filesOf(fl, id)).toEqual([2, 1]);
	const { messages } = await loadChat(fl, id);
	expect(urlsOf(messages[0])[0]).toMatch(/^attachment:/);
	const [said] = await convertToModelMessages(await readableFiles(fl, id, messages));
	expect(said?.content).toMatchObject([
		{ type: "text", text: "[casa.png is not there any more.]" },
		{ type: "file", mediaType: "image/png" },
		{ type: "text", text: "These?" },
	]);
});

test("a model gets the bytes of a local server's file, and the link of any other", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const id = crypto.randomUUID();
	const casa = photo(40_000);
	await saveTurn(await loadChat(fl, id), [asks("q", "This?", casa, casa)]);
	const { messages } = await loadChat(fl, id);
	expect(await readableFiles(fl, id, messages)).toEqual([asks("q", "This?", casa, casa)]);
	const url = "https://files.example/casa?signature=1";
	counting.taken();
	counting.instead = (path) =>
		path.startsWith("/v1/attachments/")
			? Response.json({ ...made, state: "ready", url, urlExpiresAt: made.createdAt })
			: undefined;
	const made = await fl.upload(Buffer.from("x"), { name: "casa.png", contentType: "image/png" });
	const [linked] = await readableFiles(fl, id, messages);
	expect(urlsOf(linked)).toEqual([url, url]);
	expect(counting.taken().asked).toEqual(["POST /v1/attachments", "GET /v1/attachments"]);
});

test("a page can upload by itself, and what other programs attach is shown", async () => {
	const { fl } = new Counting();
	const chat = fl.conversation();
	const attached = await fl.upload(randomBytes(40_000), { name: "a.png", contentType: "image/png" });
	await chat.say("user", "From an agent", { files: [attached] });
	const loaded = await loadChat(fl, chat.id);
	const [shown] = paged(loaded);
	expect(shown?.parts).toMatchObject([
		{ type: "text", text: "From an agent" },
		{ type: "file", mediaType: "image/png", filename: "a.png" },
	]);
	await saveTurn(loaded, [...loaded.messages, asks("q", "From a page", filePart(fl, attached))]);
	const { messages } = await loadChat(fl, chat.id);
	expect(messages.map((message) => urlsOf(message).length)).toEqual([1, 1]);
	expect(await filesOf(fl, chat.id)).toEqual([1, 1]);
	expect(await bytesAt(urlsOf(messages[1])[0] ?? "")).toBe(await bytesAt(urlsOf(messages[0])[0] ?? ""));
});

test("a reference to another user's file is stored and names nothing", async () => {
	const { fl } = new Counting();
	const other = new Counting();
	const secret = await other.fl.upload(randomBytes(40_000), { name: "s.png", contentType: "image/png" });
	const id = crypto.randomUUID();
	await saveTurn(await loadChat(fl, id), [asks("q", "This?", filePart(other.fl, secret))]);
	const { messages } = await loadChat(fl, id);
	expect(urlsOf(messages[0])).toEqual([`attachment:${secret.id}:${secret.sha256}`]);
	expect(await filesOf(fl, id)).toEqual([0]);
});
