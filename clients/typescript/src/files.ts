// Files in the messages of a chat: a message refers to an attachment in place of holding its bytes.
//
// A stored message has `attachment:ID:SHA256` where its part had an address. A page gets a link for minutes that ends
// with `#attachment=ID:SHA256`. So what comes back from a page is known without its bytes.

import { base64Of, sha256Of } from "./attaching.ts";
import type { ChatMessage, PlacedMessage } from "./chatMessages.ts";
import type { Forklore } from "./client.ts";
import { ApiError, ConflictError, NotFoundError } from "./errors.ts";
import { ATTACHMENTS_PER_ENTRY_MAX } from "./generated/operations.ts";
import { isFinal } from "./writing.ts";

/** What of a client moves files. */
export type FileClient = Pick<Forklore, "api" | "upload" | "read" | "located">;

type Part = Record<string, unknown>;

/** A part of a message that has an address, and the member that has it. */
interface FilePart {
	readonly part: Part;
	readonly member: string;
	readonly url: string;
}

/** An attachment, as a message refers to it. sha256: undefined for one that another program has named. */
interface Reference {
	readonly id: string;
	readonly sha256?: string | undefined;
}

interface Bytes {
	readonly bytes: Uint8Array<ArrayBuffer>;
	readonly contentType: string;
}

/**
 * The data of a message as it is stored. failed: why bytes could not be uploaded, which are in it; what passes before
 * what does not.
 */
export interface Kept {
	readonly data: ChatMessage["data"];
	readonly failed?: unknown;
}

const INLINE_BYTES_MAX = 32_768;
const SVG = "image/svg+xml"; // its link is only ever downloaded, so no page could show it
const INLINED_BYTES_MAX = 1_800_000; // in base64 they fit into an entry
const ASKED_AT_ONCE = 10;
const NAME_CHARACTERS_MAX = 60;
const KINDS: unknown[] = ["file", "image", "reasoning-file"];
const MEMBERS = ["url", "image", "data"];
const REFERENCE =
	/(?:^attachment:|#attachment=)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9a-f]{64})?$/;
const DATA = /^data:([^;,]*)[^,]*;base64$/i;

/** The files of a chat's messages, on their way into the store and back. */
export class ChatFiles {
	readonly #fl: FileClient;
	/** The hashes of bytes that the service probably has. */
	readonly #seen = new Set<string>();
	#isOff = false;

	constructor(fl: FileClient) {
		this.#fl = fl;
	}

	/**
	 * Return the data of a message as it is stored: it names up to ten `attachments`, and refers to them.
	 *
	 * The bytes of the files behind these stay in it, and so do bytes that cannot be uploaded. It does not throw.
	 * conversationId: one of the chat, which may show what others have attached.
	 */
	async kept(message: ChatMessage, conversationId: string): Promise<Kept> {
		const failures: unknown[] = [];
		const named = new Map<string, { id: string; name: string | undefined }>();
		const data = await changed(message.data, async (files) => {
			const urls = new Map<string, string>();
			const keep = async ({ url, part }: FilePart): Promise<void> => {
				const reference = referenceIn(url);
				const upload = async (): Promise<Reference | undefined> =>
					this.#uploaded(url, part).catch((error: unknown) => {
						failures.push(error);
						return undefined;
					});
				const found = reference ? await this.#found(reference, conversationId) : await upload();
				if (found) named.set(found.id, { id: found.id, name: nameOf(part) });
				const held = reference ?? found; // as it came, so that it compares as the same
				if (held) urls.set(keyOf(url), referenceTo(held));
			};
			const large = files.filter(({ url }) => referenceIn(url) ?? largeIn(url));
			const each = [...new Map(large.map((file) => [keyOf(file.url), file])).values()];
			await Promise.all(each.slice(0, ATTACHMENTS_PER_ENTRY_MAX).map(keep));
			let room = INLINED_BYTES_MAX;
			for (const { url } of each.slice(ATTACHMENTS_PER_ENTRY_MAX)) {
				const reference = referenceIn(url);
				if (reference?.sha256 === undefined) continue; // its bytes would not compare as the same
				const times = files.filter((file) => keyOf(file.url) === keyOf(url)).length;
				const blob = await this.#read(reference, room / times, conversationId);
				room -= (blob?.size ?? 0) * times;
				urls.set(keyOf(url), blob ? await dataUrlOf(blob) : referenceTo(reference));
			}
			return files.map(({ url }) => urls.get(keyOf(url)) ?? url);
		});
		const attachments = [...named.values()].sort(({ id }, other) => (id < other.id ? -1 : 1));
		const failed = failures.find((error) => !isFinal(error)) ?? failures[0];
		return { data: attachments.length > 0 ? { ...data, attachments } : data, failed };
	}

	/** Return a stored message as it is shown: with links in place of references. */
	shown(message: PlacedMessage): PlacedMessage {
		const links = new Map(message.files?.map((file) => [file.id, file.url]));
		const data = eachFile(message.data, ({ part, member, url }) => {
			const held = referenceIn(url);
			if (held?.sha256 !== undefined) this.#seen.add(held.sha256);
			return held ? { ...part, [member]: fileUrl(this.#fl, { ...held, url: links.get(held.id) }) } : part;
		});
		return { ...message, data: data as Part };
	}

	/** Return the attachment that is referred to, as it is now; undefined if it cannot be named any more. */
	async #found(
		held: Reference,
		conversationId?: string,
	): Promise<(Reference & { readonly size?: number }) | undefined> {
		try {
			const found = await this.#fl.api.getAttachment({ attachmentId: held.id, conversationId });
			return found.state === "removed" ? undefined : found;
		} catch (error) {
			if (!isGone(error)) return held; // the append tells it
			return conversationId === undefined ? undefined : this.#found(held); // another chat may show it
		}
	}

	/** Return the attachment that the bytes of an address have become; undefined if none are kept. */
	async #uploaded(url: string, part: Part): Promise<Reference | undefined> {
		const held = largeIn(url);
		if (held === undefined || this.#isOff) return undefined;
		const { bytes, contentType } = held;
		const name = nameOf(part) ?? contentType.replace("/", ".");
		try {
			const sha256 = await sha256Of(bytes);
			if (this.#seen.has(sha256)) {
				const fields = { name, contentType, size: bytes.length, sha256 };
				const { upload, ...found } = await this.#fl.api.uploadAttachment(fields);
				if (upload === undefined) return found;
			}
			const made = await this.#fl.upload(bytes, { name, contentType });
			this.#seen.add(sha256);
			return made;
		} catch (error) {
			this.#isOff ||= error instanceof ConflictError && error.reason === "attachments_off";
			if (this.#isOff) return undefined;
			throw error;
		}
	}

	/** Return the bytes that are referred to; undefined for more than there is room for, or if they are gone. */
	async #read(held: Reference, room: number, conversationId: string): Promise<Blob | undefined> {
		const { size = Infinity } = (await this.#found(held, conversationId)) ?? {};
		if (size > room) return undefined;
		return this.#fl
			.read(held.id, { conversationId })
			.catch(async () => this.#fl.read(held.id))
			.catch(() => undefined);
	}
}

/**
 * Return messages with files that a model can get: as links, which a provider fetches, or as bytes, if the link is not
 * https, such as that of a local server.
 *
 * conversationId: one that shows the messages. In place of a file that is gone, or cannot be read now, stands a text
 * that says so. It reads whatever `fl` may read: give it a client of the user whose page sent the messages.
 */
export async function readableFiles<T>(fl: FileClient, conversationId: string, messages: T): Promise<T> {
	const look = async (attachmentId: string): Promise<{ url: string } | { why: string }> => {
		try {
			const { url } = await fl.api.getAttachment({ attachmentId, conversationId });
			const link = url === undefined ? undefined : fl.located(url);
			if (link?.startsWith("https:")) return { url: link };
			return { url: await dataUrlOf(await fl.read(attachmentId, { conversationId })) };
		} catch (error) {
			if (!(error instanceof ApiError)) throw error;
			return { why: isGone(error) ? "is not there any more" : "cannot be read just now" };
		}
	};
	return changed(messages, async (files) => {
		const ids = [...new Set(files.flatMap(({ url }) => referenceIn(url)?.id ?? []))];
		const looks = new Map<string, Awaited<ReturnType<typeof look>>>();
		for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
			const some = ids.slice(at, at + ASKED_AT_ONCE);
			await Promise.all(some.map(async (id) => looks.set(id, await look(id))));
		}
		return files.map(({ url, part }) => {
			const found = looks.get(keyOf(url)) ?? { url };
			return "url" in found
				? found.url
				: { type: "text", text: `[${nameOf(part) ?? "A file"} ${found.why}.]` };
		});
	});
}

/** Return a value with each file in it named by its hash, so that what is the same compares as the same. */
export async function hashedFiles<T>(value: T): Promise<T> {
	return changed(value, async (files) =>
		Promise.all(
			files.map(async ({ url }) => {
				const held = referenceIn(url);
				if (held) return referenceTo({ id: held.sha256 ?? held.id });
				const bytes = bytesIn(url)?.bytes;
				return bytes ? referenceTo({ id: await sha256Of(bytes).catch(() => url) }) : url;
			}),
		),
	);
}

/** Return the address of an attachment in a message: a link for minutes by which it is known later, too. */
export function fileUrl(
	fl: Pick<FileClient, "located">,
	{ url, ...reference }: Reference & { readonly url?: string | undefined },
): string {
	const held = referenceTo(reference);
	return url === undefined ? held : `${fl.located(url)}#${held.replace(":", "=")}`;
}

/** Return bytes as an address that holds them. */
export const dataUrlOf = async (blob: Blob): Promise<string> =>
	`data:${blob.type};base64,${base64Of(new Uint8Array(await blob.arrayBuffer()))}`;

/** Tell whether a message holds the bytes of a file itself. */
export const staysInline = (contentType: string, size: number): boolean =>
	size <= INLINE_BYTES_MAX || contentType.toLowerCase() === SVG;

const referenceTo = ({ id, sha256 = "" }: Reference): string => `attachment:${id}:${sha256}`;

function referenceIn(url: string): Reference | undefined {
	const [, id, sha256] = url.startsWith("data:") ? [] : (REFERENCE.exec(url) ?? []);
	return id === undefined ? undefined : { id, sha256 };
}

/** Return what an address stands for: the id of an attachment, or itself. */
const keyOf = (url: string): string => referenceIn(url)?.id ?? url;

/** Return the bytes that an address holds. */
function bytesIn(url: string): Bytes | undefined {
	const comma = url.indexOf(",");
	const [head, type = ""] = DATA.exec(url.slice(0, comma)) ?? [];
	const contentType = type === "" ? "application/octet-stream" : type;
	if (head === undefined) return undefined;
	try {
		const letters = atob(url.slice(comma + 1));
		const bytes = new Uint8Array(letters.length);
		for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
		return { bytes, contentType };
	} catch {
		return undefined; // it is no base64
	}
}

/** Return the bytes that an address holds, if they are too many for a message. */
function largeIn(url: string): Bytes | undefined {
	const held = bytesIn(url);
	return held && staysInline(held.contentType, held.bytes.length) ? undefined : held;
}

/** Return what a part calls its file, as a plain name. */
function nameOf({ filename }: Part): string | undefined {
	if (typeof filename !== "string") return undefined;
	const name = filename.replace(/[\p{C}/\\]/gu, "_").replace(/^\.+$/, "_");
	return name === "" ? undefined : Array.from(name).slice(-NAME_CHARACTERS_MAX).join("");
}

/** Tell whether there is no such attachment, or none at all, for the caller. */
const isGone = (error: unknown): boolean =>
	error instanceof NotFoundError || (error instanceof ApiError && [400, 409].includes(error.status ?? 0));

/** Return the same with each part that is a file, at any depth, changed. */
function eachFile(value: unknown, change: (file: FilePart) => unknown): unknown {
	if (Array.isArray(value)) return value.map((held) => eachFile(held, change));
	if (value?.constructor !== Object) return value;
	const part = value as Part;
	const isFile = KINDS.includes(part["type"]);
	const member = isFile ? MEMBERS.find((name) => typeof part[name] === "string") : undefined;
	if (member !== undefined) return change({ part, member, url: part[member] as string });
	return Object.fromEntries(Object.entries(part).map(([name, held]) => [name, eachFile(held, change)]));
}

/** Return the same with other addresses of its files, or with other parts in their place. */
async function changed<T>(value: T, change: (files: FilePart[]) => Promise<(string | Part)[]>): Promise<T> {
	const files: FilePart[] = [];
	eachFile(value, (file) => files.push(file));
	if (files.length === 0) return value;
	const made = await change(files);
	let at = 0;
	return eachFile(value, ({ part, member }) => {
		const now = made[at++];
		return typeof now === "string" ? { ...part, [member]: now } : now;
	}) as T;
}
