// A message in the conversation, with what one may do at it.

import { GitFork, Link, Pencil, RotateCcw } from "lucide-react";
import { textOf } from "@forklore/client";
import type { Shown } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import { toConversation } from "../model/route.ts";
import { visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import type { Writing } from "../service/place.ts";
import { may } from "./deeds.tsx";
import { IconPress, laneStyle, Press, Time } from "./parts.tsx";

interface TurnProps {
	app: App;
	message: Shown;
	isChosen: boolean;
	isFirst: boolean;
	isLast: boolean;
}

export function Turn({ app, message, isChosen, isFirst, isLast }: TurnProps) {
	const { id, role, who, entries } = message;
	const [entry] = entries;
	const lane = app.grove?.look(entry!.conversationId)?.lane;
	return (
		<article
			className={`msg ${role} ${isFirst ? "first" : ""} ${isLast ? "last" : ""} ${isChosen ? "chosen" : ""}`}
			style={laneStyle(lane)}
			data-key={id}
			tabIndex={0}
			aria-label={`${who}`}
		>
			<span className="node" />
			<div className="who">
				<h2>{visible(who)}</h2>
				<Time at={entry!.createdAt} className="quiet" />
				<div className="acts" role="toolbar" aria-label="Message">
					{may(app, "writer") && (
						<>
							<Press className="b ghost s" press={() => app.fork(entry!, "before")}>
								<Pencil /> Edit
							</Press>
							{role === "ai" && (
								<Press className="b ghost s" press={() => app.fork(entry!, "before")}>
									<RotateCcw /> Try again
								</Press>
							)}
							<Press className="b ghost s" press={() => app.fork(entries.at(-1)!, "after")}>
								<GitFork /> Fork here
							</Press>
						</>
					)}
					<IconPress
						label="Copy link"
						className="s"
						press={() => app.copyLink(toConversation(app.place!.id, id))}
					>
						<Link />
					</IconPress>
				</div>
			</div>
			<div className="body md">
				{message.blocks.map((one, at) => ("text" in one ? <p key={at}>{one.text}</p> : null))}
			</div>
		</article>
	);
}

/** The answer that is written, so far. */
export function WritingTurn({ app, writing }: { app: App; writing: Writing }) {
	const lane = app.grove?.look(writing.conversationId)?.lane;
	const text = writing.pieces
		.map((one) =>
			typeof one === "string"
				? one
				: ((one as { text?: string; delta?: string }).text ?? (one as { delta?: string }).delta ?? ""),
		)
		.join("");
	return (
		<article
			className="msg ai live last"
			style={laneStyle(lane)}
			aria-label="An answer that is written"
			tabIndex={0}
		>
			<span className="node" />
			<div className="who">
				<h2>{visible(writing.agentId ?? writing.clientId ?? writing.userId)}</h2>
				<span className="quiet">{writing.state === "open" ? "now" : writing.state}</span>
			</div>
			<div className="body md">
				<p>
					{visible(text)}
					<span className="caret" />
				</p>
			</div>
		</article>
	);
}

/** What an entry says, alone. */
export const Plain = ({ entry }: { app: App; entry: Entry }) => <p>{textOf(entry)}</p>;
