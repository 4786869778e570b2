// Times, sums and names in words. Pure, but for the reader's time zone.

import { counted, numberOf, visible } from "./message.js";

const DAY_MS = 86_400_000;

// To make a format is slow; a long list of times is not.
/** @param {Intl.DateTimeFormatOptions} parts */
const format = (parts) => new Intl.DateTimeFormat(undefined, parts);
const HOUR = format({ hour: "2-digit", minute: "2-digit" });
const DAY = format({ day: "numeric", month: "short" });
const OTHER_DAY = format({ day: "numeric", month: "short", year: "numeric" });
const LONG = format({ dateStyle: "medium", timeStyle: "medium" });

/** Return a time, short: the hour of today, else the day. @param {string} time RFC 3339 @param {Date} [now] */
export function shortTime(time, now = new Date()) {
	const at = new Date(time);
	if (now.getTime() - at.getTime() < DAY_MS && at.getDate() === now.getDate()) return HOUR.format(at);
	return (at.getFullYear() === now.getFullYear() ? DAY : OTHER_DAY).format(at);
}

/** @param {string} time RFC 3339 */
export const longTime = (time) => LONG.format(new Date(time));

/** Return what was used, as "310 in, 12 out, $0.0021", or "" if nothing was counted. @param {Usage} [usage] */
export function usageText({ inputTokens, outputTokens, cachedInputTokens, costUsd } = {}) {
	/** @param {number | undefined} value @param {string} what */
	const told = (value, what, count = numberOf(value)) =>
		count ? `${count.toLocaleString("en")} ${what}` : "";
	const usd = numberOf(costUsd);
	const cost = usd ? `$${usd.toLocaleString("en", { maximumFractionDigits: 9 })}` : "";
	const all = [told(inputTokens, "in"), told(cachedInputTokens, "cached"), told(outputTokens, "out"), cost];
	return all.filter(Boolean).join(", ");
}

/** Return a conversation's sums: "12 entries, 310 in, 12 out". @param {Metrics} metrics */
export const metricsText = (metrics) =>
	[counted(metrics.entries, "entry", "entries"), usageText(metrics)].filter(Boolean).join(", ");

/** Return a conversation's title, or words in its place. @param {string | null} [title] */
export const titleOf = (title) => visible(title ?? "").trim() || "Untitled";

/** Return the last characters of an id, which tell branches with one title apart. @param {string} id */
export const shortId = (id) => id.slice(-4);

/** Return who wrote: "ann by planner". @param {{userId: string, clientId?: string, agentId?: string}} entry */
export const authorOf = ({ userId, clientId, agentId }) =>
	visible([userId, clientId && `by ${clientId}`, agentId && `(${agentId})`].filter(Boolean).join(" "));

/** Return the user id of a token: the claim `sub` of a JWT, or else the token itself. @param {string} token */
export function userOf(token) {
	try {
		const payload = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
		const bytes = Uint8Array.from(payload, (one) => one.charCodeAt(0));
		return String(JSON.parse(new TextDecoder().decode(bytes)).sub ?? token);
	} catch {
		return token;
	}
}
