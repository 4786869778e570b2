// One request to the service: its headers, its retries, its errors as sentences.

const ANSWER_MS = 35_000; // the service gives up after 29 s
const PATIENCE_MS = 90_000; // how long one request is tried
const PACE_MS = 3_000; // if none is told
const QUIET_MS = 5_000; // after this without an answer, another program may have the address
const WAIT_MS = [400, 800, 1600, 3000, 5000];
const AGAIN = [0, 429, 502, 503, 504];
const REFUSED = 429; // it was not done
const NAMES_IT = /\/[0-9a-f-]{36}$/; // no other thing ever gets the id

/** What went wrong, as a sentence for people. status 0: there was no answer. */
export class Problem extends Error {
	/** @param {string} sentence @param {Failure} [told] */
	constructor(sentence, { status = 0, details = {}, requestId = "" } = {}) {
		super(sentence);
		this.status = status;
		this.details = details;
		this.requestId = requestId;
	}

	/** Whether the service may have done it: there was no answer, or one that does not say. */
	get isLost() {
		return AGAIN.includes(this.status) || this.status === 500;
	}
}

/** Tell whether an error only says that nobody waits for the answer. @param {unknown} error */
export const isAborted = (error) => error instanceof DOMException && error.name === "AbortError";

/** Return a new key for a deed. */
export const newKey = () => crypto.randomUUID();

/** Return what a JSON text says. A number that JavaScript spells otherwise stays as it is. @param {string} text */
export const parse = (text) =>
	JSON.parse(text, (_, value, { source }) =>
		typeof value === "number" && String(value) !== source ? JSON.rawJSON(source) : value,
	);

/** Wait. Raises an AbortError when the signal comes. @param {number} milliseconds @param {AbortSignal} signal */
export async function pause(milliseconds, signal) {
	const { promise, resolve } = Promise.withResolvers();
	signal.addEventListener("abort", resolve);
	setTimeout(resolve, signal.aborted ? 0 : milliseconds);
	await promise;
	signal.removeEventListener("abort", resolve);
	signal.throwIfAborted();
}

/** Return what sends the requests of one person until `signal` comes. server: its id, or "". @type {HttpOf} */
export function httpOf(credentials, server, { signal: ended, lost, refused }) {
	let answeredAt = performance.now();
	let isLost = false;
	let paceMs = PACE_MS;
	return { send, pace };

	function pace() {
		const told = paceMs;
		paceMs = PACE_MS;
		return told;
	}

	/**
	 * Send a request, again and again while there is no answer, and return its answer. Raises Problem for each status
	 * from 400 on, and after PATIENCE_MS without an answer. A DELETE that finds nothing after a lost answer is done. A
	 * PATCH that may have been done is not sent again, nor the removal of a member: that would undo what somebody else
	 * has changed meanwhile.
	 * @type {Send}
	 */
	async function send(method, path, sent = {}) {
		const signal = sent.signal ? AbortSignal.any([sent.signal, ended]) : ended;
		const until = performance.now() + PATIENCE_MS;
		for (let attempt = 0; ; attempt++) {
			try {
				return await once(method, path, sent, signal);
			} catch (error) {
				if (!(error instanceof Problem)) throw error;
				if (method === "DELETE" && error.status === 404 && attempt) return { status: 204, body: null };
				const waits = error.details.retryAfter * 1000 || (WAIT_MS[attempt] ?? 5000);
				const mayUndo = method === "PATCH" || (method === "DELETE" && !NAMES_IT.test(path));
				const isOnce = sent.once || (mayUndo && error.status !== REFUSED);
				if (isOnce || !AGAIN.includes(error.status) || performance.now() + waits > until) throw error;
				await pause(waits, signal);
			}
		}
	}

	/** @type {Attempt} */
	async function once(method, path, { query, body, key }, signal) {
		if (isLost || performance.now() - answeredAt > QUIET_MS) await checkServer(signal);
		const headers = new Headers({ Authorization: `Bearer ${credentials.token}` });
		if (credentials.key) headers.set("X-API-Key", credentials.key);
		if (body !== undefined) headers.set("Content-Type", "application/json");
		if (key) headers.set("Idempotency-Key", key);
		const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
		const [response, text] = await answer(`/v1${path}${queryOf(query)}`, signal, request);
		const { status } = response;
		paceMs = Math.min(paceMs, Number(response.headers.get("Forklore-Ask-Again-Ms")) || PACE_MS);
		const problem = response.ok ? undefined : problemOf(response, text);
		if (problem && [502, 504].includes(status)) lose(problem.message);
		else found();
		if (!problem) return { status, body: text ? parse(text) : null };
		if (status === 401) refused(problem.message);
		throw problem;
	}

	/** Ask without credentials whether the server is still the one that gave this page. @param {AbortSignal} signal */
	async function checkServer(signal) {
		if (!server) return;
		const [{ headers }] = await answer("/", signal, { method: "HEAD", cache: "no-store" });
		if (headers.get("Forklore-Server") === server) return;
		const sentence = "Another server answers at this address. Sign in again.";
		refused(sentence);
		throw new Problem(sentence, { status: 401 });
	}

	/** @type {Fetch} */
	async function answer(url, signal, request) {
		try {
			const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
			const safe = /** @type {const} */ ({ redirect: "error", credentials: "omit" });
			const response = await fetch(url, { ...request, ...safe, signal: within });
			return [response, await response.text()];
		} catch {
			signal.throwIfAborted();
			lose("The server does not answer.");
			throw new Problem("The server does not answer.");
		}
	}

	/** @param {string} sentence */
	function lose(sentence) {
		isLost = true;
		lost(sentence);
	}

	function found() {
		answeredAt = performance.now();
		if (isLost) lost("");
		isLost = false;
	}
}

/** @param {Query} [query] */
function queryOf(query = {}) {
	const given = Object.entries(query).filter(([, value]) => (value ?? "") !== "");
	const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`).join("&");
	return text && `?${text}`;
}

/** @param {Response} response @param {string} text */
function problemOf({ status, headers }, text) {
	let body;
	try {
		body = JSON.parse(text);
	} catch {
		// not an answer of the service
	}
	const told = String(body?.details?.message ?? body?.message ?? `the server answered ${status}`).trim();
	const sentence = `${told.charAt(0).toUpperCase()}${told.slice(1)}${/[.!?]$/.test(told) ? "" : "."}`;
	const details = { ...body?.details, retryAfter: Number(headers.get("Retry-After")) };
	const requestId = body?.requestId ?? headers.get("X-Request-Id") ?? "";
	return new Problem(sentence, { status, details, requestId });
}
