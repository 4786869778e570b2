// Times, sums and names in words. Pure, but for the reader's time zone.

import type { Hit } from "./types.ts";

const DAY_MS = 86_400_000;
const TITLE_CHARACTERS = 40;
// Control characters but for tabs and line ends, and all that changes the direction of text.
const HIDDEN = /(?![\t\n\r])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

// To make a format is slow; a long list of times is not.
const format = (parts: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, parts);
const HOUR = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = format({ day: "numeric", month: "short" });
const OTHER_DAY = format({ day: "numeric", month: "short", year: "numeric" });
const LONG = format({ dateStyle: "medium", timeStyle: "medium" });

/** Return a text with its control characters spelled out, as `[U+202E]`. Line ends stay. */
export const visible = (text: string): string =>
	text.replace(HIDDEN, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

/** Return a text, cut after `length` characters. No character is split. */
export function clipped(text: string, length: number): string {
	if (text.length <= length) return text;
	const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
	return `${text.slice(0, end)}…`;
}

/** Return the first words of a text without what markdown puts around them. */
export const unmarked = (text: string): string =>
	text.replace(/(^\s*|[\n.!?:]\s*)#{1,6}\s+/g, "$1").replace(/```\w+\s|\*\*|`+/g, "");

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

/** Return the day of a time before `now`: 0 for today, 1 for yesterday. */
function daysAgo(time: string, now = new Date()): number {
	const day = (at: Date) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
	return Math.round((day(now) - day(new Date(time))) / DAY_MS);
}

/** Return a time, short: the hour of today, else the day. */
export function shortTime(time: string, now = new Date()): string {
	const at = new Date(time);
	if (daysAgo(time, now) === 0) return HOUR.format(at);
	return (at.getFullYear() === now.getFullYear() ? DAY : OTHER_DAY).format(at);
}

/** Return the hour, too, of a time that is not today. */
export function shortTimes(time: string, now = new Date()): string {
	const day = shortTime(time, now);
	return daysAgo(time, now) === 0 ? day : `${day}, ${HOUR.format(new Date(time))}`;
}

export const longTime = (time: string): string => LONG.format(new Date(time));

/** Return the name of the group of a list in which a time stands. */
export function dayName(time: string, now = new Date()): string {
	const days = daysAgo(time, now);
	if (days <= 0) return "Today";
	if (days === 1) return "Yesterday";
	return days < 7 ? "Last 7 days" : days < 31 ? "Last 30 days" : "Older";
}

/** Return US dollars: three decimals, more for what is less than that. */
export function usd(cost: number): string {
	const least = cost !== 0 && Math.abs(cost) < 0.001 ? 2 : undefined;
	return least
		? `$${cost.toLocaleString("en", { maximumSignificantDigits: least })}`
		: `$${cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 3 })}`;
}

/** Return a count, short: "1.2k". */
export const short = (count: number): string =>
	count < 1000
		? String(count)
		: count < 999_950
			? `${(count / 1000).toFixed(1)}k`
			: `${(count / 1e6).toFixed(1)}M`;

/** Return a number of bytes, short: "1.2 MB". */
export function bytes(size: number): string {
	if (size < 1000) return counted(size, "byte");
	return size < 999_950 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

/** Return what was used, as "310 in", "12 out", "$0.0021"; what was not counted is left out. */
export function usageWords(usage: Record<string, unknown> = {}): string[] {
	const of = (name: string) => Number(usage[name] ?? 0);
	const [input, output, cost] = [of("inputTokens"), of("outputTokens"), of("costUsd")];
	return [input && `${short(input)} in`, output && `${short(output)} out`, cost && usd(cost)].filter(
		(one): one is string => Boolean(one),
	);
}

/** Return what a line of an entry tells of a tool, else its text. */
export const toldOf = ({ tool, failed, text = "" }: Pick<Hit["line"], "tool" | "failed" | "text">): string =>
	failed ? `${tool ?? "A tool"} failed${text && `: ${text}`}` : text || (tool ?? "");

/** Return a conversation's title, or words in its place. The service makes titles of the first 40 characters. */
export function titleOf(title: string | null | undefined): string {
	const isCut = [...(title ?? "")].length === TITLE_CHARACTERS && /[\p{L}\p{N}]$/u.test(title ?? "");
	return `${visible(title ?? "").trim()}${isCut ? "…" : ""}` || "Untitled";
}

/** Return the last characters of an id, which tell branches with one title apart. */
export const shortId = (id: string): string => id.slice(-4);

/** Return the user id of a token: the claim `sub` of a JWT, or else the token itself. */
export function userOf(token: string): string {
	try {
		const payload = atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/"));
		const bytes = Uint8Array.from(payload, (one) => one.charCodeAt(0));
		const { sub } = JSON.parse(new TextDecoder().decode(bytes)) as { sub?: string };
		return String(sub ?? token);
	} catch {
		return token;
	}
}
