// A call: what is sent, checked before anything is sent. Nothing here does I/O.

import { InputError, TooLargeError } from "./errors.ts";
import { newId, write } from "./json.ts";
import { BODY_CHARACTERS_MAX } from "./generated/operations.ts";
import type { Call, Keyed, Matched, Shape } from "./wire.ts";

const KEY_CHARACTERS_MAX = 255;
const ID = /^[A-Za-z0-9_-]{1,100}$/;
/** What every runtime sends alike in a header: printable ASCII without a space at either end. */
export const PRINTABLE = /^[!-~]([ -~]*[!-~])?$/;

/**
 * Return the call. given: path, query and body side by side. A POST that writes gets a key if it has none.
 *
 * Throws InputError for what the service cannot take, and names the limit.
 */
export function callOf(name: string, shape: Shape, given: object, options: Keyed & Matched = {}): Call {
	const { idempotencyKey, ifMatch, ifNoneMatch } = options;
	if (idempotencyKey !== undefined && !shape.takesKey) {
		throw new InputError(`${name} takes no idempotency key`, "idempotencyKey");
	}
	if (ifMatch !== undefined && !shape.takesIfMatch)
		throw new InputError(`${name} takes no ifMatch`, "ifMatch");
	if (ifMatch !== undefined && typeof ifMatch !== "string")
		throw new InputError("ifMatch is text", "ifMatch");
	if (idempotencyKey !== undefined) checkKey(idempotencyKey);
	const held = new Map<string, unknown>(Object.entries(given).filter(([, value]) => value !== undefined));
	for (const [argument, most] of Object.entries(shape.lengthsMax ?? {})) checkLength(given, argument, most);
	return {
		name,
		shape,
		target: targetOf(shape, held),
		body: shape.hasBody ? bodyOf(held) : undefined,
		idempotencyKey: idempotencyKey ?? (shape.takesKey ? newId() : undefined),
		ifMatch: ifMatch?.replace(/^"|"$/g, ""),
		ifNoneMatch,
	};
}

/**
 * Tell whether a second sending has no other effect than the first one.
 *
 * That of a PATCH undoes what somebody else has changed meanwhile; that of a DELETE removes what somebody else has
 * made meanwhile. A key or a condition prevents it. So does a DELETE's path that ends with an id: no other thing gets
 * it. A POST that takes no key needs none.
 */
export const mayBeRepeated = ({ shape, target, idempotencyKey, ifMatch }: Call): boolean =>
	shape.isRead === true ||
	(shape.method === "DELETE" && shape.path.endsWith("}")) ||
	(shape.method === "POST" && shape.takesKey !== true) ||
	idempotencyKey !== undefined ||
	ifMatch !== undefined ||
	/[?&]expectRevision=/.test(target);

/** Return the path with the query. Takes from `held` what stands there. */
function targetOf(shape: Shape, held: Map<string, unknown>): string {
	const taken = (name: string): unknown => {
		const value = held.get(name);
		held.delete(name);
		return value;
	};
	const path = shape.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(name, taken(name)));
	const names = shape.query ?? (shape.hasBody ? [] : [...held.keys()]);
	const pairs = names
		.map((name): [string, unknown] => [name, taken(name)])
		.filter(([, value]) => value !== undefined && value !== null)
		.map(([name, value]) => `${encodeURIComponent(name)}=${inQuery(name, value)}`);
	return pairs.length ? `${path}?${pairs.join("&")}` : path;
}

function bodyOf(held: Map<string, unknown>): string {
	const members = Array.from(held, ([name, value]) => `${JSON.stringify(name)}:${write(value, name)}`);
	const text = `{${members.join()}}`;
	if (text.length > BODY_CHARACTERS_MAX && characters(text) > BODY_CHARACTERS_MAX) {
		throw new TooLargeError(`a body has at most ${BODY_CHARACTERS_MAX} characters`, { attempts: 0 });
	}
	return text;
}

/** Refuse what is no id: in a path it could name something else. */
function inPath(name: string, value: unknown): string {
	if (typeof value === "string" && ID.test(value)) return value;
	throw new InputError(`${name} must be an id`, name);
}

function inQuery(name: string, value: unknown): string {
	const isSpelled = typeof value === "string" || typeof value === "boolean" || Number.isInteger(value);
	if (!isSpelled) throw new InputError(`${name} is text, a whole number or a truth`, name);
	try {
		return encodeURIComponent(String(value));
	} catch (cause) {
		if (cause instanceof URIError) throw new InputError(`${name} holds half of a surrogate pair`, name);
		throw cause;
	}
}

/** HTTP drops spaces around a header's value, so a key that has some would be another key. */
function checkKey(key: unknown): void {
	if (typeof key === "string" && PRINTABLE.test(key) && key.length <= KEY_CHARACTERS_MAX) return;
	throw new InputError(
		`an idempotency key is 1 to ${KEY_CHARACTERS_MAX} printable ASCII characters, without a space at either end`,
		"idempotencyKey",
	);
}

/** Refuse an argument that is longer than the service takes. name: as `entries[].content`. */
function checkLength(given: object, name: string, most: number): void {
	const [outer = "", inner] = name.split("[].");
	const value: unknown = Object.entries(given).find(([held]) => held === outer)?.[1];
	if (inner !== undefined) {
		for (const element of Array.isArray(value) ? (value as unknown[]) : []) {
			if (typeof element === "object" && element !== null) checkLength(element, inner, most);
		}
		return;
	}
	const [length, what] =
		typeof value === "string" && value.length > most
			? [characters(value), "characters"]
			: Array.isArray(value)
				? [value.length, "elements"]
				: [0, ""];
	if (length > most) throw new InputError(`${name} has at most ${most} ${what}, not ${length}`, name);
}

/** Return the characters of a text, as the service counts them. */
const characters = (text: string): number => Array.from(text).length;
