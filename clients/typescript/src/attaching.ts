// Files that entries name: their bytes on the way to the service and back.
//
// The address of the bytes is all that they need. So no credential is sent there, and no error shows it.

import { InputError, NoAnswerError, NotFoundError, UnexpectedAnswerError } from "./errors.ts";
import { ATTACHMENT_INLINE_BYTES_MAX, type Attachment, type Operations } from "./generated/operations.ts";
import { pauseAfter, within, type Connection, type Limits } from "./sending.ts";
import type { Sent } from "./wire.ts";

/** Where bytes go: as of a client. */
interface Way {
	readonly api: Operations;
	readonly connection: Connection;
	readonly limits: Limits;
}

const METHOD = "PUT";
const SENDINGS_MAX = 4;
const BYTES_PER_MS = 50; // a slower line is given up
const ARGUMENTS_MAX = 32_768;

/**
 * Return the attachment that has the bytes. The service tells whether they have to be sent.
 *
 * It is asked after each sending, too. So bytes that arrived without an answer are found, and a new address is
 * asked for.
 */
export async function upload(
	way: Way,
	given: Blob | Uint8Array,
	{ name, contentType, signal }: Sent & { name: string; contentType: string },
): Promise<Attachment> {
	const bytes = new Uint8Array(given instanceof Blob ? await given.arrayBuffer() : given);
	const content = bytes.length > ATTACHMENT_INLINE_BYTES_MAX ? undefined : base64Of(bytes);
	const fields = { name, contentType, size: bytes.length, sha256: await sha256Of(bytes), content };
	let lost: Lost = {};
	for (let sendings = 0; ; sendings++) {
		const { upload: to, ...made } = await way.api.uploadAttachment(fields, { signal });
		if (to === undefined) return made;
		if (sendings >= sendingsMax(way)) throw new NoAnswerError(`the bytes of ${name} have not arrived`, lost);
		const { method, headers, url } = to;
		if (method !== METHOD)
			throw new UnexpectedAnswerError("the service names another method than PUT for the bytes");
		const answered = await fetched(way, url, { method, headers, body: bytes }, bytes.length, signal);
		if ("bytes" in answered) continue;
		lost = answered;
		await pause(sendings, signal);
	}
}

/** Return the bytes of an attachment. They are asked for again if not all come. */
export async function read(
	way: Way,
	attachmentId: string,
	{ conversationId, signal }: Sent & { conversationId?: string | undefined } = {},
): Promise<Blob> {
	let lost: Lost = {};
	for (let sendings = 0; sendings < sendingsMax(way); sendings++) {
		if (sendings > 0) await pause(sendings, signal);
		const found = await way.api.getAttachment({ attachmentId, conversationId }, { signal });
		if (found.url === undefined)
			throw new NotFoundError(`the attachment ${attachmentId} has no bytes: it is ${found.state}`);
		const answered = await fetched(way, found.url, {}, found.size, signal);
		if ("bytes" in answered) {
			if ((await sha256Of(answered.bytes)) !== found.sha256)
				throw new UnexpectedAnswerError(`other bytes came than those of the attachment ${attachmentId}`);
			return new Blob([answered.bytes], { type: found.contentType });
		}
		lost = answered;
	}
	throw new NoAnswerError(`the bytes of the attachment ${attachmentId} have not come`, lost);
}

/**
 * Return an address that the service names as a whole one: those of the local server are relative to it.
 *
 * Throws UnexpectedAnswerError for what is not safe: it must be https, unless the service itself is not. A page may
 * show it as a link, so it is no script either.
 */
export function located(address: string, { url }: Connection): string {
	const { href, protocol } = new URL(address, url);
	if (protocol === "https:" || (protocol === "http:" && new URL(url).protocol === "http:")) return href;
	throw new UnexpectedAnswerError("the service names an address of bytes that is not safe to use");
}

/** Return the SHA-256 as hexadecimal digits. Throws InputError on pages without https: they have no hash functions. */
export async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
	if (!("subtle" in crypto)) throw new InputError("a file needs a page with https");
	const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
	return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Why there is no good answer. */
interface Lost {
	readonly status?: number;
	readonly cause?: unknown;
}

const sendingsMax = ({ limits }: Way): number => Math.min(SENDINGS_MAX, (limits.retries ?? SENDINGS_MAX) + 1);

const pause = async (sendings: number, signal: AbortSignal | undefined): Promise<unknown> =>
	within(pauseAfter(sendings, 0), signal, () => new Promise<never>(() => undefined));

/** Ask at an address of bytes once, in the time that so many bytes may take. Return those of a good answer. */
async function fetched(
	{ connection, limits }: Way,
	address: string,
	request: RequestInit,
	size: number,
	signal: AbortSignal | undefined,
): Promise<{ bytes: Uint8Array<ArrayBuffer> } | Lost> {
	const timeoutMs = limits.timeoutMs + size / BYTES_PER_MS;
	const place = located(address, connection);
	const answer = await within(timeoutMs, signal, async (stop) => {
		try {
			const sent: RequestInit = { ...request, redirect: "manual", signal: stop };
			const response = await connection.fetch(place, sent);
			const bytes = new Uint8Array(await response.arrayBuffer());
			return response.ok ? { bytes } : { status: response.status };
		} catch {
			return { cause: new Error("the connection failed") }; // its own words may quote the address
		}
	});
	return answer ?? { cause: new Error(`no whole answer within ${timeoutMs.toFixed()} ms`) };
}

/** Return bytes in base64. */
export function base64Of(bytes: Uint8Array): string {
	let text = "";
	for (let at = 0; at < bytes.length; at += ARGUMENTS_MAX)
		text += String.fromCharCode(...bytes.subarray(at, at + ARGUMENTS_MAX));
	return btoa(text);
}
