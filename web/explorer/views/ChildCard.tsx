// A tree that a message has started, such as the run of a sub-agent.

import { ChevronRight } from "lucide-react";
import { toConversation } from "../model/route.ts";
import type { ConversationDetails } from "../model/types.ts";
import { counted, titleOf, usd, visible } from "../model/words.ts";

export function ChildCard({ child }: { child: ConversationDetails }) {
	const { id, agentId, title, lastMessagePreview, metrics, historyEntries = 0, answering } = child;
	const words = [title && titleOf(title), visible(lastMessagePreview ?? "")].filter(Boolean).join(": ");
	return (
		<a className="line child" href={toConversation(id)}>
			<span className={`sq ${answering ? "live" : ""}`} />
			<b>{visible(agentId ?? "child")}</b>
			<span className="cut grow quiet" dir="auto">
				{words || titleOf(null)}
			</span>
			<span className="quiet hidenarrow">{counted(historyEntries, "entry", "entries")}</span>
			{Number(metrics.costUsd) > 0 && <span className="quiet">{usd(Number(metrics.costUsd))}</span>}
			<ChevronRight />
		</a>
	);
}
