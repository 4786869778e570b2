// What one may do with branches and trees, each after a question that says what it does.

import { Check, Trash2 } from "lucide-react";
import { ApiError, NotFoundError, TooLargeError } from "@forklore/client";
import { isAtLeast, tagLines, tagsOf } from "../model/rules.ts";
import { toConversation, toList } from "../model/route.ts";
import { baseOf, wayOf } from "../model/ways.ts";
import { leafward, scoreOf, shownBy } from "../model/shape.ts";
import type { Line, Transfer } from "../model/types.ts";
import { clipped, counted, longTime, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import type { Grove } from "../service/grove.ts";
import { ask } from "./ask.tsx";
import { BranchName, Said } from "./parts.tsx";

const MERGE_MAX = 50;

/** Return text of others for the middle of a sentence. */
export const isolated = (text: string): string => `\u2068${visible(text)}\u2069`;

/** Return what a branch is called, in quotes. */
export const quoted = (grove: Grove | undefined, id: string): string =>
	`“${isolated(clipped(grove?.look(id)?.label ?? `branch ${id.slice(-4)}`, 60))}”`;

/** A branch in a question: its names and label, and its last words, which tell it from others. */
function Named({ grove, id, children }: { grove: Grove; id: string; children?: React.ReactNode }) {
	const limb = grove.shape.limbs.get(id);
	if (!limb) return null;
	const last = shownBy(limb).findLast(({ text }) => text)?.text;
	return (
		<li>
			<span className="grow cut">
				<BranchName look={limb.look} /> {limb.look.names.length > 0 && <Said>{limb.look.label}</Said>}
				{last && (
					<span className="quiet cut last">
						ends with “<Said>{clipped(last, 90)}</Said>”
					</span>
				)}
			</span>
			<span className="quiet">{children}</span>
		</li>
	);
}

const Box = ({ children }: { children: React.ReactNode }) => (
	<div className="box">
		<ul>{children}</ul>
	</div>
);

/** Return the branch that opens first if another one goes. */
export function currentWithout(grove: Grove, goneId: string): string | undefined {
	const others = grove.forks.filter(({ conversationId }) => conversationId !== goneId);
	const next =
		others.find((one) => one.isCurrent) ?? others.find((one) => !one.forkedAtPosition) ?? others[0];
	return next?.conversationId;
}

export async function askNew(app: App): Promise<void> {
	const made = await ask(app, {
		title: "New conversation",
		explain: () => <p>You become its owner. Nobody else sees it until you share it.</p>,
		fields: [{ name: "title", label: "Title (may be empty)", maxLength: 500 }],
		confirm: "Create",
		run: ({ title }, sent) =>
			app.client.api.createConversation(title?.trim() ? { title: title.trim() } : {}, sent),
	});
	if (made) app.go(toConversation(made.id));
}

/** Ask for a title, names, tags and a score of a branch, and save what was changed. */
export async function askDetails(app: App, id: string): Promise<void> {
	const { grove, client } = app;
	if (!grove) return;
	const before = await client.api.getConversation({ conversationId: id }, { signal: app.signal });
	const names = [...(grove.look(id)?.names ?? [])].sort();
	const { metadata } = before;
	const score = scoreOf({ branch: before });
	const linesOf = (text: string | undefined) =>
		[...new Set((text ?? "").split("\n").map((one) => one.trim()))].filter(Boolean).sort();
	await ask(app, {
		title: "Names and tags",
		explain: () => (
			<p>
				Who reads by a name reads the branch that has it. A name moves here from the branch that has it now.
				Tags sort and filter.
			</p>
		),
		fields: [
			{ name: "title", label: "Title", value: before.title ?? "", maxLength: 500 },
			{
				name: "names",
				label: "Your names of this branch, one a line",
				kind: "lines",
				value: names.join("\n"),
			},
			{ name: "tags", label: "Tags, one a line, as name:value", kind: "lines", value: tagLines(before.tags) },
			{ name: "score", label: "Score: a number", value: score === undefined ? "" : String(score) },
		],
		confirm: "Save",
		check: ({ tags = "", score: given = "" }) =>
			tagsOf(tags).wrong || (Number.isFinite(Number(given)) ? "" : `“${given}” is no number.`),
		run: async ({ title = "", tags: lines = "", score: given = "", names: wanted }) => {
			const now = await client.api.getConversation({ conversationId: id });
			const { tags } = tagsOf(lines);
			const changes = {
				...(title.trim() !== (before.title ?? "") && { title: title.trim() || null }),
				...(tagLines(tags) !== tagLines(before.tags) && { tags }),
				...(given.trim() !== (score === undefined ? "" : String(score)) && {
					metadata: withScore(now.metadata, given.trim()),
				}),
			};
			const isOther =
				("tags" in changes && tagLines(now.tags) !== tagLines(before.tags)) ||
				("metadata" in changes && JSON.stringify(now.metadata) !== JSON.stringify(metadata)) ||
				("title" in changes && now.title !== before.title);
			if (isOther)
				throw new ApiError(
					`Somebody changed them meanwhile. The tags are now: ${tagLines(now.tags).replaceAll("\n", ", ") || "none"}`,
				);
			if (Object.keys(changes).length)
				await client.api.updateConversation({ conversationId: id, ...changes }, { ifMatch: now.updatedAt });
			const list = linesOf(wanted);
			for (const name of list)
				if (!names.includes(name)) await client.api.setName({ name, conversationId: id });
			for (const name of names) if (!list.includes(name)) await client.deleteName(name);
			await grove.loadBeside();
		},
		told: () => "They are saved.",
	});
}

/** Ask for another answer, and begin a branch with it after an entry that a branch shows. */
export const askAgain = (app: App, id: string, after: Pick<Line, "id" | "text">): Promise<unknown> =>
	ask(app, {
		title: "Answer again",
		explain: () => (
			<p>Your answer{after.text && ` to “${isolated(clipped(after.text, 60))}”`} begins a new branch.</p>
		),
		fields: [{ name: "text", label: "Another answer", kind: "lines", required: true }],
		confirm: "Send on a new branch",
		run: ({ text = "" }, { idempotencyKey, signal }) =>
			app.client.api.appendEntry(
				{
					conversationId: idempotencyKey,
					forkedAtConversationId: id,
					forkedAtEntryId: after.id,
					forkedAtPosition: "after",
					channel: "history",
					contentType: "history",
					content: [{ role: "AI", text }],
				},
				{ idempotencyKey, signal },
			),
		told: () => "The answer stands on a new branch.",
	});

/** Give a branch another title; "" for none. */
export async function rename(app: App, conversationId: string, title: string): Promise<void> {
	try {
		await app.client.api.updateConversation({ conversationId, title: title || null });
		await app.reload();
	} catch (error) {
		app.fail(error);
	}
}

/** Ask for tags, and add them to branches. */
export function askTag(app: App, ids: readonly string[]): Promise<unknown> {
	const { grove, client } = app;
	return ask(app, {
		title:
			ids.length === 1 ? `Tag ${quoted(grove, ids[0]!)}` : `Tag ${counted(ids.length, "branch", "branches")}`,
		explain: () => <p>They get these tags beside those that they have.</p>,
		fields: [{ name: "tags", label: "Tags, one a line, as name:value", kind: "lines", required: true }],
		confirm: "Add",
		check: ({ tags = "" }) => tagsOf(tags).wrong,
		run: async ({ tags: lines = "" }, { signal }) => {
			for (const conversationId of ids) {
				const { tags, updatedAt } = await client.api.getConversation({ conversationId }, { signal });
				const all = { ...tags, ...tagsOf(lines).tags };
				await client.api.updateConversation({ conversationId, tags: all }, { ifMatch: updatedAt, signal });
			}
		},
		told: () => "They have the tags now.",
	});
}

function withScore(metadata: Record<string, unknown>, given: string): Record<string, unknown> {
	const { score: _, ...others } = metadata;
	return given ? { ...others, score: Number(given) } : others;
}

/** Ask, and make a branch the current one. */
export function askPromote(app: App, id: string): Promise<unknown> {
	const grove = app.grove!;
	const { api } = app.client;
	const current = grove.current?.conversationId;
	const names = current ? (grove.look(current)?.names ?? []) : [];
	const title = quoted(grove, id);
	return ask(app, {
		title: `Make ${title} current?`,
		explain: () => (
			<>
				<p>
					It opens first for everybody{current && `, in place of ${quoted(grove, current)}`}. Nothing is
					removed.
				</p>
				<Box>
					<Named grove={grove} id={id}>
						becomes current
					</Named>
					{current && (
						<Named grove={grove} id={current}>
							stays as it is
						</Named>
					)}
				</Box>
			</>
		),
		fields: names.length
			? [
					{
						name: "move",
						kind: "checkbox",
						label: `Also move ${names.map(isolated).join(", ")} here, so that who reads by it goes on from this branch`,
					},
				]
			: [],
		confirm: "Make current",
		run: async ({ move }, sent) => {
			await api.promoteConversation({ conversationId: id }, sent);
			if (move) for (const name of names) await api.setName({ name, conversationId: id });
			if (move) await grove.loadBeside();
		},
		told: () => `${title} is the current branch.`,
	});
}

/**
 * Ask, and bring what a branch says into another one: as copies, or as a summary that one types. Return null if one
 * cancels it.
 */
export async function askMerge(app: App, from: string, into?: string): Promise<unknown> {
	const grove = app.grove!;
	const { limbs } = grove.shape;
	const source = limbs.get(from);
	const others = [...limbs.values()].filter(({ id, branch }) => id !== from && branch);
	const first = into ?? currentWithout(grove, from);
	if (!source || !first) return app.say("There is no other branch to merge into.");
	const newOf = (target: string) => wayOf(source, baseOf([source, limbs.get(target)!])?.id ?? null).lines;
	const isSummary = ({ how }: Record<string, string>) => how === "summary";
	return ask(app, {
		title: `Merge ${quoted(grove, from)}`,
		explain: (values) => {
			const count = counted(newOf(values.into ?? first).length, "entry", "entries");
			return (
				<>
					<p>
						{isSummary(values)
							? "Your text is appended at the end, as a summary of what this branch says. Nothing is removed."
							: `Copies of ${count} are appended at the end. What is there already is left out. Nothing is removed.`}
					</p>
					<Box>
						<Named grove={grove} id={from}>
							{count}
						</Named>
						<Named grove={grove} id={values.into ?? first}>
							gets them
						</Named>
					</Box>
				</>
			);
		},
		fields: [
			{
				name: "into",
				label: "Into",
				kind: "choice",
				value: first,
				options: others.map(
					({ id, look }) => [id, visible([...look.names, look.label].join(" · "))] as const,
				),
			},
			{
				name: "how",
				label: "As",
				kind: "choice",
				options: [
					["copies", "copies of all entries"],
					["summary", "a summary"],
				],
			},
			{ name: "role", label: "Role", kind: "choice", options: [["SYSTEM"], ["AI"]], isShown: isSummary },
			{ name: "text", label: "Summary", kind: "lines", required: true, isShown: isSummary },
		],
		confirm: "Merge",
		check: (values) => (newOf(values.into!).length ? "" : "There is nothing to merge."),
		run: async ({ into: target = "", how, role, text }, { idempotencyKey, signal }, progress) => {
			const ids = newOf(target).map(({ id }) => id);
			if (how === "summary") {
				const merged = { mergedFromConversationId: from, mergedUpToEntryId: ids.at(-1)! };
				const body = { channel: "history", contentType: "history", content: [{ role, text }], ...merged };
				await app.client.api.appendEntry({ conversationId: target, ...body }, { idempotencyKey, signal });
				return target;
			}
			let size = MERGE_MAX;
			for (let at = 0; at < ids.length;) {
				progress(`${at} of ${ids.length} are copied.`);
				const end = Math.min(at + size, ids.length);
				const upToEntryId = ids[end - 1]!;
				const given = { conversationId: target, fromConversationId: from, upToEntryId };
				try {
					await app.client.api.mergeConversation(given, {
						idempotencyKey: `${idempotencyKey}:${upToEntryId}`,
						signal,
					});
					at = end;
				} catch (error) {
					if (!(error instanceof TooLargeError) || end - at === 1) throw error;
					size = Math.ceil((end - at) / 2);
				}
			}
			return target;
		},
		told: (target) => `${quoted(grove, from)} is merged into ${quoted(grove, target)}.`,
	});
}

/** Ask, and delete branches. */
export function askDelete(app: App, ids: readonly string[]): Promise<unknown> {
	const grove = app.grove!;
	const { shape } = grove;
	const gone = new Set(ids);
	const limbs = ids.flatMap((id) => shape.limbs.get(id) ?? []);
	const stays = new Set(
		[...shape.limbs.values()]
			.filter(({ id, branch }) => branch && !gone.has(id))
			.flatMap((limb) => shownBy(limb).map(({ id }) => id)),
	);
	const shown = new Set(limbs.flatMap((limb) => shownBy(limb).map(({ id }) => id)));
	const goes = [...shown].filter((id) => !stays.has(id)).length;
	const forks = limbs
		.flatMap((limb) => [...leafward(limb)])
		.filter(({ id, branch }) => branch && !gone.has(id)).length;
	const next = currentWithout(grove, ids[0]!);
	const isCurrentGone = ids.includes(grove.current?.conversationId ?? "");
	const all = counted(ids.length, "branch", "branches");
	const count = counted(goes, "entry", "entries");
	return ask(app, {
		title: ids.length === 1 ? `Delete the branch ${quoted(grove, ids[0]!)}?` : `Delete ${all}?`,
		explain: () => (
			<>
				<p>
					Nobody can open {ids.length === 1 ? "it" : "them"} any more. Who owns the tree can restore{" "}
					{ids.length === 1 ? "it" : "them"} while the service keeps deleted branches in the trash.
				</p>
				<Box>
					{ids.map((id) => (
						<Named key={id} grove={grove} id={id}>
							goes
						</Named>
					))}
					<li className="bad">
						<Trash2 />
						<span className="grow">{count} that no other branch shows</span>
						<span>{goes === 1 ? "goes" : "go"}</span>
					</li>
					{shown.size > goes && (
						<li>
							<Check />
							<span className="grow">
								{counted(shown.size - goes, "entry", "entries")} that other branches show
							</span>
							<span className="quiet">{shown.size - goes === 1 ? "stays" : "stay"}</span>
						</li>
					)}
					{forks > 0 && (
						<li>
							<Check />
							<span className="grow">
								{counted(forks, "branch that goes", "branches that go")} on from there
							</span>
							<span className="quiet">{forks === 1 ? "stays" : "stay"}</span>
						</li>
					)}
					{isCurrentGone && next && (
						<Named grove={grove} id={next}>
							becomes current
						</Named>
					)}
				</Box>
				<p className="quiet">What was started from there for tasks is deleted with it.</p>
			</>
		),
		confirm: goes ? `Delete ${count}` : `Delete the ${ids.length === 1 ? "branch" : "branches"}`,
		cancel: "Keep it",
		isBad: true,
		run: async (_, { signal }, progress) => {
			for (const [at, id] of ids.entries()) {
				if (ids.length > 1) progress(`${at} of ${ids.length} are deleted.`);
				await app.client.conversation(id).delete({ signal }).catch(forgive);
			}
			return isInTrash(app, (id) => gone.has(id), signal);
		},
		told: () => `${ids.length === 1 ? "The branch is" : "The branches are"} deleted.`,
		undo: (isKept) => (isKept ? () => restore(app, ids) : undefined),
		next: app.place && gone.has(app.place.id) ? (next ? toConversation(next) : toList()) : undefined,
	});
}

/** What is not there any more is deleted. */
const forgive = (error: unknown): void => {
	if (!(error instanceof NotFoundError)) throw error;
};

/** Ask, and delete the whole tree. */
export function askDeleteTree(app: App): Promise<unknown> {
	const { grove, place, client } = app;
	const id = place!.id;
	const count = counted(grove!.lines.length, "entry", "entries");
	const forks = counted(grove!.forks.length, "branch", "branches");
	return ask(app, {
		title: "Delete the whole tree?",
		explain: () => (
			<>
				<p>
					All of it is deleted for everybody. You can restore it while the service keeps it in your trash.
				</p>
				<Box>
					<Named grove={grove!} id={id}>
						goes
					</Named>
					<li className="bad">
						<Trash2 />
						<span className="grow">
							{forks} with {count}, and what was started from there for tasks
						</span>
						<span>go</span>
					</li>
				</Box>
			</>
		),
		fields: [{ name: "sure", label: "I know that it goes for everybody.", kind: "checkbox", required: true }],
		confirm: `Delete ${forks}`,
		cancel: "Keep it",
		isBad: true,
		run: async (_, { signal }) => {
			await client.conversation(id).deleteTree({ signal }).catch(forgive);
			return isInTrash(app, (one) => grove!.has(one), signal);
		},
		told: () => "The tree is deleted.",
		undo: (isKept) => (isKept ? () => restore(app, [id]) : undefined),
		next: toList(),
	});
}

/** Return whether the trash lists what was just deleted. Not every service has one, and not for all who delete. */
async function isInTrash(app: App, isOne: (id: string) => boolean, signal: AbortSignal): Promise<boolean> {
	const trash = await app.client
		.trash({ signal })
		.list()
		.catch(() => []);
	return trash.some(({ id }) => isOne(id));
}

/** Restore what was deleted in this order; open it if it is one. The last branch of a tree took the tree along. */
export async function restore(app: App, ids: readonly string[]): Promise<void> {
	for (const id of ids.toReversed()) await app.client.conversation(id).restore({ signal: app.signal });
	if (ids.length === 1) app.go(toConversation(ids[0]!));
	app.say(ids.length === 1 ? "It is restored." : "They are restored.");
	void app.reload();
}

/** Copy the whole tree, and open the copy of this branch. */
export async function copyTree(app: App): Promise<void> {
	const { place } = app;
	const { id } = place!;
	try {
		const copied = await app.once(`copy the tree of ${id}`, (idempotencyKey) =>
			app.client.conversation(id).copyTree({ idempotencyKey, signal: app.signal }),
		);
		if (place === app.place) app.go(toConversation(copied.id));
		app.say("The tree is copied. The copy is yours alone.");
		await app.list.load();
	} catch (error) {
		if (error instanceof TooLargeError)
			app.say("This tree is too large to copy here. “forklore copy --tree” copies it.");
		else app.fail(error);
	}
}

export async function toggleArchive(app: App): Promise<void> {
	const { conversation, id } = app.place!;
	const talk = app.client.conversation(id);
	try {
		if (conversation?.archived) await talk.unarchive();
		else await talk.archive();
		app.say(
			conversation?.archived
				? "It is in your list again."
				: "It is archived: out of your list, for you alone.",
		);
		await app.reload();
	} catch (error) {
		app.fail(error);
	}
}

export const isPinned = ({ list, grove }: App): boolean => list.pins.some(({ id }) => grove?.has(id));

export async function togglePin(app: App): Promise<void> {
	const { id } = app.place!;
	if (isPinned(app)) return unpin(app, id);
	try {
		await app.client.conversation(id).pin({ signal: app.signal });
		app.say("It is pinned: first in your list, for you alone.");
		await app.list.load();
	} catch (error) {
		app.fail(error);
	}
}

export async function unpin(app: App, id: string): Promise<void> {
	try {
		await app.client.conversation(id).unpin({ signal: app.signal });
		await app.list.load();
	} catch (error) {
		app.fail(error);
	}
}

/** Offer the tree to a member, or take a pending offer back. */
export async function askHandOver(app: App): Promise<void> {
	const { client, grove, place } = app;
	const id = place!.id;
	const { data } = await client.api.listTransfers({ role: "sender", limit: 200 });
	const pending = data.find(({ conversationId }) => grove!.has(conversationId));
	if (pending) return void (await askTakeBack(app, pending));
	const members = await client.conversation(id).members().list();
	const others = members.map(({ userId }) => userId).filter((userId) => userId !== app.user);
	if (!others.length) return app.say("Nobody else shares this tree. Only a member can become its owner.");
	const all = counted(grove!.forks.length, "branch", "branches");
	await ask(app, {
		title: "Hand over the tree",
		explain: ({ user = "" }) => (
			<>
				<p>
					You offer {isolated(user)} all {all} of this tree. They may accept or decline; until then you can
					take it back.
				</p>
				<p>Once they accept they own it, and you are a manager.</p>
			</>
		),
		fields: [
			{
				name: "user",
				label: "New owner",
				kind: "choice",
				options: others.map((one) => [one, visible(one)] as const),
			},
		],
		confirm: "Offer it",
		run: ({ user = "" }, sent) =>
			client.api.requestTransfer({ conversationId: id, newOwnerUserId: user }, sent),
		told: ({ toUserId }) => `The tree is offered to ${isolated(toUserId)}.`,
	});
}

const askTakeBack = (app: App, { id: transferId, toUserId, createdAt }: Transfer) =>
	ask(app, {
		title: "Take the offer back?",
		explain: () => (
			<p>
				You offered this tree to {isolated(toUserId)}, who has not answered: {longTime(createdAt)}. You stay
				its owner.
			</p>
		),
		confirm: "Take it back",
		run: (_, { signal }) => app.client.api.deleteTransfer({ transferId }, { signal }),
		told: () => "The offer is taken back.",
	});

export const askAccept = (app: App, { id: transferId, fromUserId }: Transfer): Promise<unknown> =>
	ask(app, {
		title: "Accept the tree?",
		explain: () => <p>You become the owner of all its branches, and {isolated(fromUserId)} a manager.</p>,
		confirm: "Accept",
		run: (_, sent) => app.client.api.acceptTransfer({ transferId }, sent),
		told: () => "You own the tree now.",
	});

export const askDecline = (app: App, { id: transferId, fromUserId }: Transfer): Promise<unknown> =>
	ask(app, {
		title: "Decline the tree?",
		explain: () => (
			<p>The offer is dropped. {isolated(fromUserId)} stays the owner, and you stay a member.</p>
		),
		confirm: "Decline",
		run: (_, { signal }) => app.client.api.deleteTransfer({ transferId }, { signal }),
		told: () => "The offer is declined.",
	});

/** Whether one may do what needs a level here. */
export const may = (app: App, needed: "writer" | "manager" | "owner"): boolean =>
	isAtLeast(app.place?.conversation?.accessLevel, needed);
