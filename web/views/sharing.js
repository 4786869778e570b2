// Who shares a tree, and who owns it: members, and offers to hand a tree over.

import { counted, visible } from "../domain/message.js";
import { toList } from "../domain/route.js";
import { givenBy } from "../domain/rules.js";
import { longTime } from "../domain/words.js";
import { button, fill, h, released } from "../dom.js";
import { allOf } from "../service/api.js";
import { isAborted } from "../service/http.js";
import { actions, ask, bdi, isAsking, isolated, link, openDialog, p, quoted, refill } from "./ask.js";
import { retry } from "./problem.js";

const GONE = "can open no branch of this tree any more.";

/** @param {Place} place */
function branchesOf({ grove: { hasForks, forks } }) {
	const all = hasForks && forks.size > 1 ? counted(forks.size, "branch", "branches") : "branches";
	return `all ${all} of this tree, and its later ones`;
}

/** Show the members of a tree, to change as far as one may. @param {App} app @param {Place} place */
export function openMembers(app, place) {
	const { conversationId: id, opened } = place;
	const mine = givenBy(opened.conversation?.accessLevel ?? "reader");
	const list = h("ul.members", {});
	const status = h("p", { role: "status" });
	const done = button("Close", () => frame.close());
	const add = mine.length > 0 && button("Add a member…", () => change(), { class: "primary" });
	const title = `Members of the tree of ${quoted(opened.conversation?.title)}`;
	const shared = p(`Members share ${branchesOf(place)}.`);
	const frame = openDialog(app, title, shared, status, list, actions(done, add));

	let rounds = 0;
	async function load() {
		const round = ++rounds;
		try {
			const members = await allOf((query) => frame.api.listMemberships(id, query));
			await released(list);
			if (round !== rounds) return; // a later one is on its way
			refill(list, members.map(row));
			if (document.activeElement === document.body) done.focus(); // its button was replaced
		} catch (error) {
			if (isAborted(error) || round !== rounds) return;
			fill(list, h("li", { role: "alert" }, retry(error, load)));
		}
	}

	/** @param {Membership} member */
	function row(member) {
		const { userId, accessLevel, createdAt } = member;
		const isMe = userId === app.user;
		const mayChange = !isMe && mine.includes(accessLevel);
		const named = { id: `member-${userId}`, "aria-label": `Change ${isolated(userId)}` };
		return h(
			"li",
			{},
			bdi(userId),
			h("span.dim", { title: `since ${longTime(createdAt)}` }, isMe && "you, ", accessLevel),
			mayChange && button("Change…", () => change(member), named),
			isMe && accessLevel !== "owner" && button("Leave…", leave),
		);
	}

	/** Ask, and change or remove a member, or add one. @param {Membership} [member] */
	async function change(member) {
		const { userId = "", accessLevel } = member ?? {};
		const none = member ? [["none", "no member any more"]] : [];
		const options = [...mine.map((level) => [level]), ...none];
		/** @type {Field[]} */
		const fields = [{ name: "level", label: "Level", tag: "select", options, value: accessLevel }];
		if (!member) fields.unshift({ name: "user", label: "User id", required: true, maxlength: 255 });
		await ask(app, {
			title: member ? `Change ${isolated(userId)}` : "Add a member",
			explain: ({ user = userId, level }) => {
				const who = isolated(user.trim() || "This user");
				const may = level === "reader" ? "may read" : "may read and write in";
				if (level === "none")
					return [
						`${who} ${GONE}`,
						"What they wrote stays. An offer to hand the tree over to them is dropped.",
					];
				const more = "A manager may also delete branches, and add and remove readers and writers.";
				return [`${who} ${may} ${branchesOf(place)}.`, level === "manager" && more];
			},
			fields,
			confirm: member ? "Change" : "Add",
			run: ({ user, level }, api, key) => {
				if (!member) return api.shareConversation(id, { userId: user, accessLevel: level }, key);
				if (level === "none") return api.removeMembership(id, userId);
				return api.updateMembership(id, userId, level);
			},
			told: (_, { user = userId, level }) =>
				`${isolated(user)} is ${level === "none" ? "no member" : `a ${level}`} now.`,
			say: (sentence) => fill(status, sentence),
		});
		void load(); // not awaited: a press meanwhile is not lost
	}

	const leave = () =>
		ask(app, {
			title: "Leave this tree?",
			explain: [`You ${GONE} What you wrote stays. The owner or a manager can let you in again.`],
			confirm: "Leave",
			kind: "danger",
			run: (_, api) => api.removeMembership(id, app.user),
			told: () => "You have left the tree.",
			next: toList(),
		});

	void load();
}

/** Offer the tree to a member, or take a pending offer back. @type {AskAt} */
export async function askHandOver(app, place) {
	const { api, conversationId: id, grove, opened } = place;
	const sent = await allOf((query) => api.listTransfers({ role: "sender", ...query }));
	if (isAsking()) return;
	const pending = sent.find(({ conversationId: at }) => grove.has(at));
	if (pending) return await askTakeBack(app, pending);
	const members = await allOf((query) => api.listMemberships(id, query));
	if (isAsking()) return;
	const others = members.map(({ userId }) => userId).filter((userId) => userId !== app.user);
	if (!others.length) return app.say("Nobody else shares this tree. Only a member can become its owner.");
	const options = others.map((userId) => [userId, visible(userId)]);
	await ask(app, {
		title: `Hand over the tree of ${quoted(opened.conversation?.title)}`,
		explain: ({ user }) => [
			`You offer ${isolated(user)} ${branchesOf(place)}. They may accept or decline; until then you can take it back.`,
			"Once they accept they own it, and you are a manager.",
		],
		fields: [{ name: "user", label: "New owner", tag: "select", options }],
		confirm: "Offer it",
		run: ({ user }, one, key) => one.requestTransfer({ conversationId: id, newOwnerUserId: user }, key),
		told: ({ toUserId }) => `The tree is offered to ${isolated(toUserId)}.`,
	});
}

/** @param {App} app @param {Transfer} offer */
const askTakeBack = (app, { id, toUserId, createdAt }) =>
	ask(app, {
		title: "Take the offer back?",
		explain: [
			`You offered this tree to ${isolated(toUserId)}, who has not answered: ${longTime(createdAt)}. You stay its owner.`,
		],
		confirm: "Take it back",
		run: (_, api) => api.deleteTransfer(id),
		told: () => "The offer is taken back.",
	});

/** Return an element that shows the trees which others offer to this person. @param {App} app */
export function transfersView(app) {
	const panel = h("div.offers", {});
	let rounds = 0;
	const load = async () => {
		const round = ++rounds;
		const offers = await allOf((query) => app.api.listTransfers({ role: "recipient", ...query }));
		const drawn = await Promise.all(offers.map((offer) => offerOf(app, offer)));
		await released(panel);
		if (round === rounds) refill(panel, drawn);
	};
	app.addEventListener("reloaded", load, { signal: app.signal });
	void load();
	return panel;
}

/** @param {App} app @param {Transfer} offer */
async function offerOf(app, { id, conversationId, fromUserId }) {
	const tree = await app.api.getConversation(conversationId).catch(() => null); // its branch may be deleted
	const from = isolated(fromUserId);
	const accept = () =>
		ask(app, {
			title: "Accept the tree?",
			explain: [`You become the owner of all its branches, and ${from} a manager.`],
			confirm: "Accept",
			run: (_, api, key) => api.acceptTransfer(id, key),
			told: () => "You own the tree now.",
		});
	const decline = () =>
		ask(app, {
			title: "Decline the tree?",
			explain: [`The offer is dropped. ${from} stays the owner, and you stay a member.`],
			confirm: "Decline",
			run: (_, api) => api.deleteTransfer(id),
			told: () => "The offer is declined.",
		});
	return h(
		"div",
		{ role: "group", "aria-label": "Offer" },
		p(bdi(fromUserId), " offers you ", tree ? link(tree.title, tree.id) : "a tree"),
		actions(
			button("Accept…", accept, { id: `accept-${id}` }),
			button("Decline…", decline, { id: `decline-${id}` }),
		),
	);
}
