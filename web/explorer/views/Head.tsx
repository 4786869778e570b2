// What stands above the messages: what the branch is, where it comes from, and what one may do with it.

import { ArrowLeft, Columns2, PanelRight, Share2, Star } from "lucide-react";
import { duration } from "../model/costs.ts";
import { toCompare, toConversation, toList } from "../model/route.ts";
import { tagLine } from "../model/rules.ts";
import { rootward, shownBy, sumOf } from "../model/shape.ts";
import { counted, titleOf, usageWords, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { actionsOf } from "./actions.tsx";
import { askPromote, currentWithout, may } from "./deeds.tsx";
import { BranchName, IconPress, Menu, Press } from "./parts.tsx";
import { openShare } from "./Share.tsx";
import { Title } from "./Title.tsx";

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
	const isTitle = limb && limb.look.label === visible(title ?? "").trim();
	const look = isTitle ? { ...limb.look, label: isCurrent ? "current" : "branch" } : limb?.look;
	return (
		<header className="head">
			<a className="b icon ghost narrow-back" href={toList()} aria-label="Conversations">
				<ArrowLeft />
			</a>
			<div className="grow">
				<Title key={id} app={app} title={conversation ? titleOf(title) : "…"} />
				<div className="line sub">
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
						<span key={from.id} className="sep">
							<span className="cut">
								{at ? "which is from" : "from"}{" "}
								<a href={toConversation(from.id, line.id)}>{visible(from.look.label)}</a>
							</span>
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
			<Menu label="More actions" id="more" items={actionsOf(app)} />
			{!app.isPaneShown && (
				<IconPress label="Show the tree" press={() => app.showPane(app.pane)}>
					<PanelRight />
				</IconPress>
			)}
		</header>
	);
}
