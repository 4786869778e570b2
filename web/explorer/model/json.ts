// JSON as values and as text. Pure.

import { ExactNumber, stringify } from "@forklore/client";

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
	typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/** Return a member of an object; undefined for what is none. */
export const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

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
	const lines = members.map(
		([name, held]) => `${inner}${JSON.stringify(name)}: ${indentedJson(held, inner)}`,
	);
	return `{\n${lines.join(",\n")}\n${indent}}`;
}

/** Where a value stands in another one: names of members, and numbers of elements. */
export type Path = readonly (string | number)[];

/** Return a value with another one at a place. */
export function withAt(value: unknown, [step, ...rest]: Path, other: unknown): unknown {
	if (step === undefined) return other;
	if (Array.isArray(value))
		return value.map((one: unknown, at) => (at === step ? withAt(one, rest, other) : one));
	return { ...(value as Json), [step]: withAt((value as Json)[step], rest, other) };
}

/** Return the value at a place; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
	let held = value;
	for (const step of path) held = (held as Record<string | number, unknown> | undefined)?.[step];
	return held;
}
