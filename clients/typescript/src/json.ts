// JSON whose numbers keep their value, also those that a number of JavaScript cannot hold.

import { InputError } from "./errors.ts";

const DEPTH_MAX = 100; // the service reads 64 levels
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;
const SUSPECT = /(?:^|[[:,\s])-?(?:[\d.]{16}|[\d.]+e)/i; // a number with fewer digits and no exponent is exact
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * A number that JavaScript cannot hold: with all its digits in `text`, and as a number the nearest one.
 *
 * It calculates and compares as that number does, and is sent as `text` says.
 */
export class ExactNumber extends Number {
	/** The number as JSON has it, such as `12345678901234567890`. */
	readonly text: string;

	/** Throws InputError for what is no number in JSON. */
	constructor(text: string) {
		super(text);
		if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text))
			throw new InputError("this is no number in JSON");
		this.text = text;
	}

	override toString(): string {
		return this.text;
	}
}

/** Return the value of JSON text, with all digits of its numbers. Throws SyntaxError for anything else. */
export function read(text: string): unknown {
	if (!SUSPECT.test(text)) return JSON.parse(text);
	JSON.parse(text); // the text is JSON: only its numbers are spelled otherwise below
	const mark = newId();
	const marked = text.replace(TOKENS, (token) =>
		token.startsWith('"') || isExact(token) ? token : `"${mark}${token}"`,
	);
	return JSON.parse(marked, (_, value: unknown) =>
		typeof value === "string" && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
	);
}

/**
 * Return a value as JSON text. place: what the caller calls it.
 *
 * As with JSON.stringify, `toJSON` is asked, and members that are undefined are left out. What that would
 * lose in silence throws an InputError that names the place: NaN, a Map, undefined in an array, a function.
 */
export function write(value: unknown, place: string): string {
	return written(value, place, 0);
}

/** Return a value as JSON text, also numbers that JavaScript cannot hold. Throws InputError as a call does. */
export const stringify = (value: unknown): string => write(value, "value");

/** Return a random id, a UUID. The usual function for it is missing on pages without https. */
export function newId(): string {
	return uuidOf(crypto.getRandomValues(new Uint8Array(16)), 4);
}

/**
 * Return the id that a key has in a namespace, which is a UUID: a UUID of version 5 (RFC 9562).
 *
 * Throws InputError for what is no key or UUID, and on pages without https: they have no hash functions.
 */
export async function newIdOf(namespace: string, key: string): Promise<string> {
	const digits = namespace.replaceAll("-", "");
	if (!/^[0-9a-f]{32}$/.test(digits)) throw new InputError(`${JSON.stringify(namespace)} is no UUID`);
	if (typeof key !== "string" || key === "" || LONE_SURROGATE.test(key))
		throw new InputError("the key of a child is text", "key");
	if (!("subtle" in crypto)) throw new InputError("a key needs a page with https: give an id", "key");
	const pairs = digits.match(/../g) ?? [];
	const named = [...pairs.map((pair) => parseInt(pair, 16)), ...new TextEncoder().encode(key)];
	return uuidOf(new Uint8Array(await crypto.subtle.digest("SHA-1", new Uint8Array(named))), 5);
}

function uuidOf(random: Uint8Array, version: number): string {
	const bytes = random.slice(0, 16);
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
	const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
	return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function written(value: unknown, place: string, depth: number): string {
	const refuse = (why: string): never => {
		throw new InputError(`${place}: ${why}`, place.split(/[.[]/, 1)[0]);
	};
	if (depth > DEPTH_MAX) refuse("it is nested too deeply for JSON");
	switch (typeof value) {
		case "string":
			return LONE_SURROGATE.test(value)
				? refuse("a text holds half of a surrogate pair")
				: JSON.stringify(value);
		case "number":
			return Number.isFinite(value) ? String(value) : refuse(`${String(value)} is no JSON value`);
		case "bigint":
		case "boolean":
			return String(value);
		case "object":
			break;
		default:
			return refuse(`${typeof value} is no JSON value`);
	}
	if (value === null) return "null";
	if (value instanceof ExactNumber) return value.text;
	if ("toJSON" in value && typeof value.toJSON === "function") {
		return written((value as { toJSON: () => unknown }).toJSON(), place, depth + 1);
	}
	if (Array.isArray(value)) {
		return `[${Array.from(value, (held: unknown, at) => written(held, `${place}[${at}]`, depth + 1)).join()}]`;
	}
	if (!isPlain(value)) refuse(`${value.constructor.name} is no JSON value`);
	const members = Object.entries(value).filter(([, held]) => held !== undefined);
	return `{${members
		.map(([name, held]) => `${written(name, place, depth)}:${written(held, `${place}.${name}`, depth + 1)}`)
		.join()}}`;
}

/** Tell whether a value is an object as `{}` makes it, also one of another realm. */
function isPlain(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Tell whether JavaScript spells the number that it makes of these digits with the same value. */
const isExact = (digits: string): boolean => canonical(digits) === canonical(String(Number(digits)));

/** Return a number as digits without zeros at the ends, and the power of ten of the last one. */
function canonical(text: string): string {
	const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
	const digits = `${whole}${fraction}`.replace(/^0+/, "");
	const short = digits.replace(/0+$/, "");
	const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length);
	return short ? `${sign}${short}e${power}` : "0";
}
