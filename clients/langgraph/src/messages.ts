// What a checkpoint's messages say to people.

const ROLES: Record<string, string> = { human: "USER", ai: "AI", system: "SYSTEM", tool: "TOOL" };

/** Return the role and the text of the last message of a channel; undefined if that holds no messages of LangChain. */
export function messageIn(values: unknown): { role: string; text: string } | undefined {
	const last: unknown = Array.isArray(values) ? values.at(-1) : undefined;
	if (typeof last !== "object" || last === null || !("getType" in last) || !("text" in last))
		return undefined;
	const { getType, text } = last;
	if (typeof getType !== "function" || typeof text !== "string") return undefined;
	const role = ROLES[String(getType.call(last))];
	return role === undefined ? undefined : { role, text: text.replace(/\p{Surrogate}/gu, "\uFFFD") };
}
