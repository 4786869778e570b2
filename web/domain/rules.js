// What the service accepts, checked before anything is sent. Pure.

/** @type {AccessLevel[]} each includes the ones before it */
const LEVELS = ["reader", "writer", "manager", "owner"];
const TAGS_MAX = 50;
const TAG_VALUE_MAX = 256;

/** @type {(level: AccessLevel, needed: AccessLevel) => boolean} */
export const isAtLeast = (level, needed) => LEVELS.indexOf(level) >= LEVELS.indexOf(needed);

/** Return the levels that a member may give and take, the lowest first. @param {AccessLevel} own */
export const givenBy = (own) => (isAtLeast(own, "manager") ? LEVELS.slice(0, LEVELS.indexOf(own)) : []);

/** Return a tag as a line, `name:value`. A value that a line cannot show is spelled as JSON. @param {[string, string]} tag */
export const tagLine = ([name, value]) =>
	`${name}:${value !== value.trim() || /^"|\p{Cc}/u.test(value) ? JSON.stringify(value) : value}`;

/** Return the tags that lines name, and what is wrong with them. @param {string} lines */
export function tagsOf(lines) {
	/** @type {Record<string, string>} */
	const tags = Object.create(null);
	const wrong = [];
	for (const line of lines.split("\n").map((one) => one.trim())) {
		if (!line) continue;
		const [, name, text = ""] = /^([^:]*?)\s*(?::\s*(.*))?$/su.exec(line) ?? [];
		if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
			wrong.push(`“${name}” is no name of a tag: 1 to 64 of a–z, A–Z, 0–9, “_”, “.”, “-”.`);
		if (name in tags) wrong.push(`The tag “${name}” is there twice.`);
		tags[name] = valueOf(text);
		if ([...tags[name]].length > TAG_VALUE_MAX)
			wrong.push(`The value of “${name}” has more than ${TAG_VALUE_MAX} characters.`);
	}
	if (Object.keys(tags).length > TAGS_MAX) wrong.push(`A conversation has at most ${TAGS_MAX} tags.`);
	return { tags, wrong: wrong[0] ?? "" };
}

/** @param {string} text */
function valueOf(text) {
	try {
		return text.startsWith('"') ? String(JSON.parse(text)) : text;
	} catch {
		return text;
	}
}
