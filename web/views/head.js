// The head of the open conversation: what it is called, where it comes from, and what one may do with it.

import { toCompare } from "../domain/route.js";
import { isAtLeast, tagLine, tagsOf } from "../domain/rules.js";
import { metricsText, titleOf } from "../domain/words.js";
import { button, fill, h, released } from "../dom.js";
import { Problem } from "../service/http.js";
import { actions, ask, askPromote, bdi, link, p, quoted, refill } from "./ask.js";
import { askDelete, currentWithout } from "./deleting.js";
import { askHandOver, openMembers } from "./sharing.js";

/** Show the head of a place whose conversation is loaded, until one leaves. @type {ShowHead} */
export function showHead(app, panel, place) {
	const { api, conversationId: id, grove, opened, signal } = place;
	/** @type {Ancestor[]} */
	let ancestors = [];
	let drawn = ""; // what the drawn state was made of

	const draw = async () => {
		await released(panel);
		const { conversation } = opened;
		if (signal.aborted || !conversation) return;
		const { hasForks, current } = grove;
		const otherId = currentWithout(grove, id)?.conversationId;
		const state = JSON.stringify([conversation, hasForks, current, otherId, ancestors]);
		if (state === drawn) return;
		drawn = state;
		const title = h("h2", { dir: "auto" }, titleOf(conversation.title));
		const deeds = deedsOf(app, place, conversation, otherId);
		refill(panel, originOf(conversation, ancestors), title, chips(conversation, current), deeds);
	};
	const load = async () => {
		if (!opened.conversation?.forkedAtConversationId) return;
		ancestors = (await api.listAncestors(id)).data.slice(0, -1);
		void draw();
	};
	for (const one of [grove, opened]) one.addEventListener("change", draw, { signal });
	app.addEventListener("reloaded", load, { signal });
	signal.addEventListener("abort", () => fill(panel));
	void draw();
	void load();
}

/** @param {Conversation} conversation @param {Ancestor[]} ancestors */
function originOf({ startedByConversationId: parentId, startedByEntryId }, ancestors) {
	const steps = ancestors.map(({ conversationId, title, removed, inheritedUpToEntryId }) =>
		h("li", {}, removed ? "deleted branch" : link(title, conversationId, inheritedUpToEntryId)),
	);
	const parent = parentId && p("Started by ", link("another conversation", parentId, startedByEntryId));
	if (!parent && !steps.length) return null;
	return h("nav.origins.dim", { "aria-label": "Origin" }, parent, steps.length > 0 && h("ol", {}, steps));
}

/** @type {DeedsOf} */
function deedsOf(app, place, { accessLevel, isCurrent }, otherId) {
	const { grove, conversationId: id } = place;
	/** @type {(needed: AccessLevel, label: string, press: () => unknown, settings?: object) => Child} */
	const act = (needed, label, press, settings = {}) =>
		isAtLeast(accessLevel, needed) &&
		button(`${label}…`, press, { id: label.replace(" ", "-"), ...settings });
	const whole = { disabled: !grove.hasForks }; // its words depend on all branches
	const danger = { ...whole, class: "danger" };
	return actions(
		act("writer", "Rename", () => askTitle(app, place)),
		act("writer", "Tags", () => askTags(app, place)),
		!isCurrent && act("writer", "Promote", () => askPromote(app, grove, id), whole),
		otherId && act("reader", "Compare", () => app.go(toCompare(id, otherId))),
		act("reader", isAtLeast(accessLevel, "manager") ? "Share" : "Members", () => openMembers(app, place)),
		act("owner", "Hand over", () => askHandOver(app, place), whole),
		otherId && act("manager", "Delete branch", () => askDelete(app, place, "branch"), danger),
		act("owner", "Delete tree", () => askDelete(app, place, "tree"), danger),
	);
}

/** @type {Wrap} */
const chip = (...children) => h("span.chip", {}, ...children);

/** @param {Conversation} conversation @param {Fork} [current] */
function chips({ ownerUserId, accessLevel, isCurrent, agentId, tags, metrics }, current) {
	return h(
		"div.chips",
		{},
		isCurrent && chip("current branch"),
		!isCurrent && current && chip("current: ", link(current.title, current.conversationId)),
		accessLevel === "owner" ? chip("yours") : chip("of ", bdi(ownerUserId), `, you: ${accessLevel}`),
		agentId && chip("agent ", bdi(agentId)),
		Object.entries(tags).map((tag) => chip(bdi(tagLine(tag)))),
		h("span.dim", {}, metricsText(metrics)),
	);
}

/** @type {AskAt} */
function askTitle(app, { conversationId, opened }) {
	return ask(app, {
		title: "Rename this branch",
		explain: ["All members see the title. An empty one clears it."],
		fields: [{ name: "title", label: "Title", value: opened.conversation?.title ?? "", maxlength: 500 }],
		confirm: "Rename",
		run: (values, api) => api.updateConversation(conversationId, { title: values.title.trim() || null }),
		told: ({ title }) => (title ? `The branch is called ${quoted(title)}.` : "The title is cleared."),
	});
}

/** @type {AskAt} */
function askTags(app, { conversationId, opened }) {
	const before = linesOf(opened.conversation?.tags ?? {});
	return ask(app, {
		title: "Tags of this branch",
		explain: ["One tag a line, as name:value. These lines replace all tags."],
		fields: [{ name: "lines", label: "Tags", tag: "textarea", value: before }],
		confirm: "Save",
		check: ({ lines }) => tagsOf(lines).wrong,
		run: async ({ lines }, api) => {
			const { tags } = tagsOf(lines);
			const now = linesOf((await api.getConversation(conversationId)).tags);
			if (now === linesOf(tags)) return;
			if (now !== before) {
				const sentence = `Somebody changed the tags meanwhile. They are now: ${now || "none"}`;
				throw new Problem(sentence, { status: 409 });
			}
			await api.updateConversation(conversationId, { tags });
		},
		told: () => "The tags are saved.",
	});
}

/** @param {Record<string, string>} tags */
const linesOf = (tags) => Object.entries(tags).map(tagLine).sort().join("\n");
