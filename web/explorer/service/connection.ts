// The requests of one person to one server: whether it answers, and is still the one that gave this page.

import { ApiError, Forklore, InputError, NoAnswerError, type Attachment } from "@forklore/client";

/** Who sends the requests. key: the API key of an agent, or "" for a person alone. */
export interface Credentials {
	token: string;
	key: string;
}

export interface Told {
	/** Called with a sentence when the service does not answer, and with "" when it does again. at: its last answer. */
	lost: (sentence: string, at: Date) => void;
	/** Called with a sentence when the credentials are good no more, or are for another server. */
	refused: (sentence: string) => void;
}

const LIMITS = { timeoutMs: 35_000, deadlineMs: 90_000 }; // the service gives up after 29 s
/** After so long one is told that the service has not done it yet. */
export const SLOW_MS = 15_000;
export const SLOW = "The server has not done it yet. Trying again…";
const QUIET_MS = 5_000; // after this without an answer, another program may have the address
const SILENT = "The server does not answer.";
const OTHER = "Another server answers at this address. Sign in again.";

/** Tell whether an error only says that nobody waits for the answer. */
export const isAborted = (error: unknown): boolean =>
	error instanceof DOMException && error.name === "AbortError";

/** Tell whether the service may have done it: there was no answer, or one that does not say. */
export const isLost = (error: unknown): boolean =>
	error instanceof NoAnswerError ||
	(error instanceof ApiError && [429, 500, 502, 503, 504].includes(error.status ?? 0));

export const statusOf = (error: unknown): number | undefined =>
	error instanceof ApiError ? error.status : undefined;

/** Return an error as a sentence for people. */
export function sentenceOf(error: unknown): string {
	if (error instanceof NoAnswerError) return SILENT;
	if (!(error instanceof ApiError)) return "Something went wrong in this page. Load it again.";
	const told = error.message.trim();
	return `${told.charAt(0).toUpperCase()}${told.slice(1)}${/[.!?]$/.test(told) ? "" : "."}`;
}

/** Uploads a file. sent: called with the bytes that have gone, if they go to an address of their own. */
export type Attach = (
	file: File,
	told: { sent: (bytes: number) => void; signal: AbortSignal },
) => Promise<Attachment>;

/** Return the client of one person, and what uploads their files. server: the id of the server, or "". */
export function clientOf(
	{ token, key }: Credentials,
	server: string,
	{ lost, refused }: Told,
): { client: Forklore; attach: Attach } {
	let answeredAt = performance.now();
	let isGone = false;

	const ask = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
		const isOver = () => init?.signal?.aborted ?? false;
		try {
			const response = await fetch(url, { ...init, credentials: "omit" });
			if ([502, 504].includes(response.status)) lose();
			else find();
			return response;
		} catch (error) {
			if (!isOver()) lose();
			else if ((init?.signal?.reason as Error).message === "time is up") lose();
			throw error;
		}
	};
	const answered = () => new Date(performance.timeOrigin + answeredAt);
	const lose = () => {
		isGone = true;
		lost(SILENT, answered());
	};
	const find = () => {
		answeredAt = performance.now();
		if (isGone) lost("", answered());
		isGone = false;
	};
	const checkServer = async (signal: AbortSignal | null | undefined) => {
		const head = { method: "HEAD", cache: "no-store", signal: signal ?? null } as const;
		const { headers } = await ask("/", head);
		if (headers.get("Forklore-Server") === server) return;
		refused(OTHER);
		throw new InputError(OTHER);
	};
	/** Send a request, if the server is still the one that gets the credentials. */
	const guarded: typeof fetch = async (url, init) => {
		if (server && (isGone || performance.now() - answeredAt > QUIET_MS)) await checkServer(init?.signal);
		const headers = new Headers(init?.headers);
		headers.set("Authorization", `Bearer ${inHeader(token)}`);
		if (key) headers.set("X-API-Key", inHeader(key));
		const response = await ask(url, { ...init, headers });
		if (response.status === 401) refused(await sentenceIn(response.clone()));
		return response;
	};
	const client = new Forklore(location.origin, { fetch: guarded, ...LIMITS });
	const attach: Attach = (file, { sent, signal }) => {
		// Another address than that of the service gets bytes, and no credentials.
		const send: typeof fetch = (url, init) =>
			isOfService(url) ? guarded(url, init) : bring(url, init, sent);
		return new Forklore(location.origin, { fetch: send, ...LIMITS }).upload(file, { signal });
	};
	return { client, attach };
}

const isOfService = (url: RequestInfo | URL): boolean =>
	new Request(url).url.startsWith(`${location.origin}/v1/`);

/** Send bytes as `fetch` does, which does not tell how many have gone. */
function bring(
	url: RequestInfo | URL,
	{ method = "PUT", headers, body, signal }: RequestInit = {},
	sent: (bytes: number) => void,
): Promise<Response> {
	const { promise, resolve, reject } = Promise.withResolvers<Response>();
	const request = new XMLHttpRequest();
	request.open(method, new Request(url).url);
	new Headers(headers).forEach((value, name) => request.setRequestHeader(name, value));
	request.upload.onprogress = ({ loaded }) => sent(loaded);
	request.onload = () => resolve(new Response(null, { status: request.status }));
	request.onerror = request.onabort = () => reject(new TypeError("the bytes were not sent"));
	signal?.addEventListener("abort", () => request.abort());
	request.send(body as XMLHttpRequestBodyInit);
	return promise;
}

/** Return a text of any letters as a browser takes it for a header: each byte of its UTF-8 as a character. */
const inHeader = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));

async function sentenceIn(response: Response): Promise<string> {
	const said = (await response.json().catch(() => ({}))) as Record<string, unknown>;
	const { message = said.message } = (said.details ?? {}) as Record<string, unknown>;
	return sentenceOf(new ApiError(typeof message === "string" ? message : "sign in again"));
}

/** Return who serves this page: its id and its stage, "" for the local server. Without an answer: undefined. */
export async function askServer(): Promise<{ server: string; stage: string } | undefined> {
	try {
		const signal = AbortSignal.timeout(10_000);
		const { headers } = await fetch("/", { method: "HEAD", cache: "no-store", credentials: "omit", signal });
		return { server: headers.get("Forklore-Server") ?? "", stage: headers.get("Forklore-Stage") ?? "" };
	} catch {
		return undefined;
	}
}

/** Wait. Throws the reason of `signal` when it comes. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
	const { promise, resolve } = Promise.withResolvers<void>();
	const end = () => resolve();
	signal.addEventListener("abort", end);
	const timer = setTimeout(end, signal.aborted ? 0 : milliseconds);
	await promise;
	clearTimeout(timer);
	signal.removeEventListener("abort", end);
	signal.throwIfAborted();
}

/** Wait until somebody sees the page. Throws the reason of `signal` when it comes. */
export async function seen(signal: AbortSignal): Promise<void> {
	while (document.hidden) {
		await new Promise<void>((resolve) => {
			document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
		signal.throwIfAborted();
	}
}
