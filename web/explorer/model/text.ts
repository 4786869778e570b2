// Words about values: hidden characters, cut texts, numbers, times. Pure.

import { ExactNumber, stringify } from "@forklore/client";

export type Json = Record<string, unknown>;

/** Control characters but for tabs and line ends, and all that changes the direction of text. */
const HIDDEN = /(?![\t\n\r])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** Return a text with its control characters spelled out, as `[U+202E]`. Line ends stay. */
export const visible = (text: string): string =>
	text.replace(HIDDEN, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

/** Return a text, cut after `length` characters. No character is split. */
export function clipped(text: string, length: number): string {
	if (text.length <= length) return text;
	const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
	return `${text.slice(0, end)}…`;
}

/** Return a text on one line of at most `length` characters. */
export const oneLine = (text: string, length: number): string =>
	clipped(
		visible(
			text
				.slice(0, length * 4)
				.replace(/\s+/g, " ")
				.trim(),
		),
		length,
	);

/** Return a number with its noun: "2,000 forks". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
	`${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Return a value as JSON text, also one that the service would not take. */
export function jsonOf(value: unknown): string {
	try {
		return stringify(value);
	} catch {
		return JSON.stringify(value) ?? ""; // half of a surrogate pair
	}
}

/** Return a value as JSON text on several lines, with all digits of its numbers. */
export function indentedJson(value: unknown, indent = ""): string {
	const inner = `${indent}  `;
	if (Array.isArray(value) && value.length)
		return `[\n${value.map((one) => inner + indentedJson(one, inner)).join(",\n")}\n${indent}]`;
	const members = isObject(value) ? Object.entries(value).filter(([, held]) => held !== undefined) : [];
	if (!members.length) return jsonOf(value);
	const lines = members.map(([name, held]) => `${inner}${JSON.stringify(name)}: ${indentedJson(held, inner)}`);
	return `{\n${lines.join(",\n")}\n${indent}}`;
}
