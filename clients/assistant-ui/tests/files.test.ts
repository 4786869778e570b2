// Threads with photos, in the real runtime: they are uploaded while the message is written, and never sent again.

import { randomBytes } from "node:crypto";

import {
	SimpleImageAttachmentAdapter,
	type AttachmentAdapter,
	type ChatModelAdapter,
	type PendingAttachment,
	type ThreadMessage,
} from "@assistant-ui/core";
import { CompositeContextProvider, LocalThreadRuntimeCore } from "@assistant-ui/core/internal";
import { expect, test } from "vitest";

import type { Forklore } from "@forklore/client";

import { Counting } from "../../typescript/tests/support/counting.ts";
import { eventually } from "../../typescript/tests/support/eventually.ts";
import { attachmentAdapter, historyAdapter, readableFiles } from "../src/index.ts";

const TURN_BYTES_MAX = 50_000;

const photo = (size: number, name = "casa.png", type = "image/png"): File =>
	new File([randomBytes(size)], name, { type });
const dataUrl = async (file: File): Promise<string> =>
	`data:${file.type};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
/** Return the addresses of all files of a message. */
const urlsOf = (message: ThreadMessage | undefined): string[] =>
	[...(message?.attachments ?? []).flatMap(({ content }) => content), ...(message?.content ?? [])].flatMap(
		(part) => (part.type === "image" ? [part.image] : part.type === "file" ? [part.data] : []),
	);
const bytesAt = async (url: string): Promise<string> =>
	`data:image/png;base64,${Buffer.from(await (await fetch(url)).arrayBuffer()).toString("base64")}`;

/** A page with a thread, whose model answers at once. */
async function opened(
	fl: Forklore,
	id: string,
	attachments: AttachmentAdapter = attachmentAdapter(fl),
): Promise<LocalThreadRuntimeCore> {
	const chatModel: ChatModelAdapter = {
		run: ({ messages }) =>
			Promise.resolve({ content: [{ type: "text", text: `answer to ${messages.length}` }] }),
	};
	const adapters = { chatModel, history: historyAdapter(fl, id), attachments };
	const page = new LocalThreadRuntimeCore(new CompositeContextProvider(), { adapters });
	await page.__internal_load();
	return page;
}

/** Send what is written, and wait until its answer is stored. */
async function say(page: LocalThreadRuntimeCore, text: string, files: File[] = []): Promise<void> {
	const { length } = page.messages;
	for (const file of files) await page.composer.addAttachment(file);
	page.composer.setText(text);
	await page.composer.send();
	await eventually(() => {
		expect(page.messages.length).toBe(length + 2);
		expect(page.messages.at(-1)?.status).toMatchObject({ type: "complete" });
	});
}

/** Wait until a thread has so many entries, and return how many files each names. */
async function named(fl: Forklore, id: string, entries: number): Promise<number[]> {
	let found: number[] = [];
	await eventually(async () => {
		const { entries: all } = await fl.conversation(id).tree();
		found = all.map(({ attachments }) => attachments?.length ?? 0);
		expect(found).toHaveLength(entries);
	});
	return found;
}

test.each([
	["uploaded by the page", (fl: Forklore) => attachmentAdapter(fl)],
	["put into the message by assistant-ui's own adapter", () => new SimpleImageAttachmentAdapter()],
])("ten photos of 1 MB, %s: each turn after the first is 50 KB at most", async (_, adapterOf) => {
	const counting = new Counting();
	const { fl } = counting;
	const id = crypto.randomUUID();
	const photos = Array.from({ length: 10 }, () => photo(1_000_000));
	const page = await opened(fl, id, adapterOf(fl));
	await say(page, "Which one?", photos);
	expect(await named(fl, id, 2)).toEqual([10, 0]);
	expect(counting.taken().bytes).toBeGreaterThan(10_000_000);
	await say(page, "Why?");
	await named(fl, id, 4);
	expect(counting.taken().bytes).toBeLessThan(TURN_BYTES_MAX);

	const device = await opened(fl, id);
	const [question] = device.messages;
	const urls = urlsOf(question);
	expect(urls).toHaveLength(10);
	await say(device, "And then?");
	await device.startRun({ parentId: question?.id ?? null, sourceId: null, runConfig: {} }); // another answer
	await named(fl, id, 7);
	expect(counting.taken().bytes).toBeLessThan(TURN_BYTES_MAX);
	expect(await Promise.all(urls.map(bytesAt))).toEqual(await Promise.all(photos.map(dataUrl)));
});

test("an edit names the photo again, and uploads nothing; the same photo twice is named once", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const id = crypto.randomUUID();
	const casa = photo(200_000);
	await say(await opened(fl, id), "May?", [casa, casa]);
	await named(fl, id, 2);
	const device = await opened(fl, id);
	const [question] = device.messages as [ThreadMessage];
	counting.taken();
	const { id: _, ...rest } = question;
	const content = [{ type: "text" as const, text: "June?" }];
	const edit = { ...rest, content, parentId: null, sourceId: question.id, runConfig: {}, startRun: true };
	await device.append(edit);
	expect(await named(fl, id, 4)).toEqual([1, 0, 1, 0]);
	expect(counting.taken().bytes).toBeLessThan(TURN_BYTES_MAX);
	const other = await opened(fl, id);
	const [shown] = other.messages;
	expect(other.getBranches(shown?.id ?? "")).toHaveLength(2);
	expect(await Promise.all(urlsOf(shown).map(bytesAt))).toEqual(await Promise.all([casa, casa].map(dataUrl)));
});

test("the adapter shows what becomes of an upload, and sending tries again what has failed", async () => {
	const counting = new Counting();
	const adapter = attachmentAdapter(counting.fl, { accept: "image/*,.pdf" });
	expect(adapter.accept).toBe("image/*,.pdf");
	const added = async (file: File): Promise<[PendingAttachment, PendingAttachment]> => {
		const states: PendingAttachment[] = [];
		for await (const state of adapter.add({ file }) as AsyncGenerator<PendingAttachment>) states.push(state);
		return states as [PendingAttachment, PendingAttachment];
	};
	const casa = photo(40_000);
	const [begun, there] = await added(casa);
	expect(begun).toMatchObject({ type: "image", name: "casa.png", contentType: "image/png", file: casa });
	expect([begun.status.type, there.status]).toEqual([
		"running",
		{ type: "requires-action", reason: "composer-send" },
	]);
	expect(counting.taken().asked).toEqual(["POST /v1/attachments"]);
	const sent = await adapter.send(there);
	expect(sent).toMatchObject({ id: begun.id, type: "image", status: { type: "complete" } });
	expect(sent.content).toEqual([
		{ type: "image", filename: "casa.png", image: expect.stringMatching(/^http.*#attachment=/) as string },
	]);
	expect(counting.taken().asked).toEqual(["GET /v1/attachments"]); // for a new link

	const [, old] = await added(casa);
	counting.taken();
	counting.instead = (path) =>
		path.startsWith("/v1/attachments/") ? Response.json({ code: "not_found" }, { status: 404 }) : undefined;
	expect((await adapter.send(old)).content).toMatchObject([{ filename: "casa.png" }]); // it is gone after a day
	expect(counting.taken().asked).toEqual(["GET /v1/attachments", "POST /v1/attachments"]);

	counting.refuseFiles(400);
	const offer = photo(50_000, "offer.pdf", "application/pdf; version=1");
	const [, failed] = await added(offer);
	expect(failed.status).toMatchObject({ type: "incomplete", reason: "error", message: "refused" });
	await expect(adapter.send(failed)).rejects.toThrow("refused");
	counting.instead = () => undefined;
	expect((await adapter.send(failed)).content).toMatchObject([
		{ type: "file", filename: "offer.pdf", mimeType: "application/pdf" },
	]);
	await adapter.remove(failed);
});

test("31 KB, a drawing that may run, and all files where none are kept are sent in the message", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const small = photo(31 * 1024);
	const drawing = photo(40_000, "plan.svg", "image/svg+xml");
	const id = crypto.randomUUID();
	await say(await opened(fl, id), "These?", [small, drawing]);
	expect(await named(fl, id, 2)).toEqual([0, 0]);
	expect(counting.taken().asked).not.toContain("POST /v1/attachments");
	counting.refuseFiles(409, "attachments_off");
	const large = photo(40_000);
	await say(await opened(fl, id), "And this?", [large]);
	expect(await named(fl, id, 4)).toEqual([0, 0, 0, 0]);
	const shown = (await opened(fl, id)).messages.flatMap(urlsOf);
	expect(shown).toEqual(await Promise.all([small, drawing, large].map(dataUrl)));
});

test("a server gives its model the files, and what other programs attach is shown", async () => {
	const { fl } = new Counting();
	const chat = fl.conversation();
	const casa = photo(40_000);
	await chat.say("user", "From an agent", { files: [await fl.upload(casa)] });
	const agents = fl.conversation();
	await agents.say("ai", "A picture", { files: [await fl.upload(casa)] });
	const [picture] = (await opened(fl, agents.id)).messages;
	expect(picture?.content).toMatchObject([{ type: "text" }, { type: "image", filename: "casa.png" }]);
	expect(await bytesAt(urlsOf(picture)[0] ?? "")).toBe(await dataUrl(casa));
	const page = await opened(fl, chat.id);
	expect(page.messages[0]?.attachments).toMatchObject([
		{ type: "image", name: "casa.png", contentType: "image/png", status: { type: "complete" } },
	]);
	await say(page, "And this?", [photo(50_000, "offer.pdf", "application/pdf")]);
	expect(await named(fl, chat.id, 3)).toEqual([1, 1, 0]);
	const [first, second] = await readableFiles(fl, chat.id, page.messages);
	expect(urlsOf(first)).toEqual([await dataUrl(casa)]);
	expect(urlsOf(second)[0]).toMatch(/^data:application\/pdf;base64,/);
});

test("messages of the AI SDK's runtime refer to their files, too", async () => {
	const { fl } = new Counting();
	const id = crypto.randomUUID();
	const history = (): ReturnType<ReturnType<typeof historyAdapter>["withFormat"]> =>
		historyAdapter(fl, id).withFormat({
			format: "ai-sdk/v6",
			encode: ({ message: { id: _, ...rest } }: { message: { id: string; parts: object[] } }) => rest,
			decode: ({ id, parent_id: parentId, content }) => ({ parentId, message: { id, ...content } }),
			getId: ({ id }) => id,
		});
	const url = await dataUrl(photo(40_000));
	const file = { type: "file", mediaType: "image/png", url };
	await history().append({ parentId: null, message: { id: "q", role: "user", parts: [file] } });
	const [loaded] = (await history().load()).messages as { message: { parts: { url: string }[] } }[];
	expect(await named(fl, id, 1)).toEqual([1]);
	expect(await bytesAt(loaded?.message.parts[0]?.url ?? "")).toBe(url);
});
