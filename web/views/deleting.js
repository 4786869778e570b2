// Deletes a branch or a whole tree, after saying what that does.

import { counted } from "../domain/message.js";
import { toConversation, toList } from "../domain/route.js";
import { ask, quoted } from "./ask.js";

/** Return the current branch of a tree without one of its branches. @param {Grove} grove @param {string} goneId */
export function currentWithout(grove, goneId) {
	const others = [...grove.forks.values()].filter((fork) => fork.conversationId !== goneId);
	return others.find((fork) => fork.isCurrent) ?? others.find((fork) => !fork.forkedAtPosition) ?? others[0];
}

/** Ask, and delete the open branch alone, or its whole tree. @type {AskDelete} */
export function askDelete(app, { conversationId: id, grove: { forks }, grove }, scope) {
	const fork = forks.get(id);
	const isTree = scope === "tree";
	const next = isTree ? undefined : currentWithout(grove, id);
	const own = [...forks.values()].filter((one) => one.forkedAtConversationId === id).length;
	const stay = !isTree && own > 0 ? `Its ${counted(own, "fork stays", "forks stay")}` : "";
	const all = counted(forks.size, "branch", "branches");
	const explain = isTree
		? [`All of it is deleted for everybody: ${all} with all entries.`]
		: [
				"Nobody can open this branch any more. The other branches stay as they are.",
				stay
					? `${stay}, with all that is inherited from this branch.`
					: "Its entries are removed, but for those that other branches show.",
				fork?.isCurrent && next && `${quoted(next.title)} becomes the current branch.`,
			];
	explain.push("What it started for tasks is deleted with it. The ids rest for at least 30 days.");
	return ask(app, {
		title: `Delete the ${isTree ? "whole tree of" : "branch"} ${quoted(fork?.title)}?`,
		explain,
		fields: [{ name: "sure", label: "I know that this cannot be undone.", type: "checkbox", required: true }],
		confirm: `Delete the ${scope}`,
		kind: "danger",
		run: (_, api) =>
			api.deleteConversation(id, scope).catch((error) => {
				if (error.status === 404) return 404;
				throw error;
			}),
		told: (status) => {
			if (status === 404) return `The ${scope} was deleted already.`;
			const goesOn = status === 202 ? " Closing its conversations goes on in the background." : "";
			return `The ${scope} is deleted.${stay && ` ${stay}.`}${goesOn}`;
		},
		next: next ? toConversation(next.conversationId) : toList(),
	});
}
