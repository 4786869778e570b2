// What stands above the messages: what the branch is, where it comes from, and what one may do with it.

import {
	Archive,
	ArrowLeft,
	Columns2,
	Crown,
	GitMerge,
	Link,
	PanelRight,
	Share2,
	Star,
	Tag,
	Trash2,
} from "lucide-react";
import { duration } from "../model/costs.ts";
import { toCompare, toConversation, toList } from "../model/route.ts";
import { tagLine } from "../model/rules.ts";
import { rootward, shownBy, sumOf } from "../model/shape.ts";
import { counted, titleOf, usageWords, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import {
	askDelete,
	askDeleteTree,
	askDetails,
	askHandOver,
	askMerge,
	askPromote,
	currentWithout,
	may,
	toggleArchive,
} from "./deeds.tsx";
import { BranchName, IconPress, Menu, Press, type MenuItem } from "./parts.tsx";
import { openShare } from "./Share.tsx";

export function Head({ app }: { app: App }) {
	const place = app.place!;
	const { grove } = app;
	const { conversation, id } = place;
	const limb = grove?.shape.limbs.get(id);
	const otherId = grove && currentWithout(grove, id);
	const { accessLevel, tags = {}, agentId, ownerUserId, startedByConversationId: by } = conversation ?? {};
	const isCurrent = limb?.look.isCurrent ?? conversation?.isCurrent;
	const path = shownBy(limb);
	const sum = sumOf(path);
	const facts = limb
		? [
				counted(sum.entries, "entry", "entries"),
				usageWords({ inputTokens: sum.inputTokens, outputTokens: sum.outputTokens }).join(", "),
				usageWords({ costUsd: sum.costUsd })[0],
				sum.seconds > 0 && duration(sum.seconds * 1000),
			]
		: [];
	const origins = [...rootward(limb)].flatMap(({ after }) => after ?? []);
	// What was appended as a branch of its own may have no words for a title.
	const title =
		conversation?.title ?? origins.find(({ limb: { branch } }) => branch?.title)?.limb.branch?.title;
	const isTitle = limb && limb.look.label === titleOf(title);
	const look = isTitle ? { ...limb.look, label: isCurrent ? "current" : "branch" } : limb?.look;
	const failing = (deed: () => Promise<unknown>) => () => deed().catch(app.fail);
	const items: (MenuItem | null | false)[] = [
		may(app, "writer") && {
			label: "Names and tags…",
			sign: <Tag />,
			press: failing(() => askDetails(app, id)),
			hint: "T",
		},
		may(app, "writer") && !isCurrent && grove?.hasForks
			? { label: "Make current…", sign: <Star />, press: () => askPromote(app, id) }
			: false,
		may(app, "writer") && otherId
			? { label: "Merge into…", sign: <GitMerge />, press: failing(() => askMerge(app, id)) }
			: false,
		otherId
			? { label: "Compare", sign: <Columns2 />, press: () => app.go(toCompare([id, otherId])), hint: "C" }
			: false,
		{
			label: may(app, "manager") ? "Share…" : "Members…",
			sign: <Share2 />,
			press: () => openShare(app),
			hint: "S",
		},
		may(app, "owner") && { label: "Hand over to…", sign: <Crown />, press: failing(() => askHandOver(app)) },
		{ label: "Copy link", sign: <Link />, press: () => app.copyLink(toConversation(id)), hint: "L" },
		{
			label: conversation?.archived ? "Take out of the archive" : "Archive",
			sign: <Archive />,
			press: () => toggleArchive(app),
		},
		may(app, "manager") ? null : false,
		may(app, "manager") && otherId
			? { label: "Delete this branch…", sign: <Trash2 />, press: () => askDelete(app, [id]), isBad: true }
			: false,
		may(app, "owner") && {
			label: "Delete the whole tree…",
			sign: <Trash2 />,
			press: () => askDeleteTree(app),
			isBad: true,
		},
	];
	return (
		<header className="head">
			<a className="b icon ghost narrow-back" href={toList()} aria-label="Conversations">
				<ArrowLeft />
			</a>
			<div className="grow">
				<h1 className="cut" dir="auto">
					{conversation ? titleOf(title) : "…"}
				</h1>
				<div className="sub">
					<BranchName look={look} />
					{may(app, "writer") && limb && !isCurrent && (
						<Press className="b ghost s" press={() => askPromote(app, id)}>
							<Star /> Make current…
						</Press>
					)}
					{facts
						.filter((one): one is string => Boolean(one))
						.map((one, at) => (
							<span key={at} className={at ? "sep" : ""}>
								{one}
							</span>
						))}
					{by && (
						<a className="sep" href={toConversation(by, conversation?.startedByEntryId)}>
							started by another conversation
						</a>
					)}
					{origins.map(({ limb: from, line }, at) => (
						<span key={from.id} className="sep cut">
							{at ? "which is from" : "from"}{" "}
							<a href={toConversation(from.id, line.id)}>{visible(from.look.label)}</a>
						</span>
					))}
					{accessLevel !== "owner" && ownerUserId && (
						<span className="chip">
							of {visible(ownerUserId)}, you: {accessLevel}
						</span>
					)}
					{agentId && <span className="chip">{visible(agentId)}</span>}
					{Object.entries(tags).map((tag) => (
						<span key={tag[0]} className="chip">
							{visible(tagLine(tag))}
						</span>
					))}
				</div>
			</div>
			{otherId && (
				<a className="b" href={toCompare([id, otherId])}>
					<Columns2 /> Compare
				</a>
			)}
			<Press className="b" press={() => openShare(app)} id="share">
				<Share2 /> {may(app, "manager") ? "Share" : "Members"}
			</Press>
			<Menu
				label="More actions"
				id="more"
				items={items.filter((item): item is MenuItem | null => item !== false)}
			/>
			{!app.isPaneShown && (
				<IconPress label="Show the tree" className="show-pane" press={() => app.showPane(app.pane)}>
					<PanelRight />
				</IconPress>
			)}
		</header>
	);
}
