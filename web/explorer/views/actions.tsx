// What one may do here, for the menu of the open branch, the palette and the keys.

import {
	Archive,
	Columns2,
	Copy,
	Crown,
	Download,
	GitMerge,
	Link,
	Maximize2,
	Moon,
	PanelRight,
	Pin,
	PinOff,
	Plus,
	Share2,
	Star,
	Tag,
	Terminal,
	Trash2,
} from "lucide-react";
import { toCompare, toConversation, toTree } from "../model/route.ts";
import type { App } from "../service/app.ts";
import { openContinue, openExport } from "./Commands.tsx";
import {
	askDelete,
	askDeleteTree,
	askDetails,
	askHandOver,
	askMerge,
	askNew,
	askPromote,
	copyTree,
	currentWithout,
	isPinned,
	may,
	toggleArchive,
	togglePin,
} from "./deeds.tsx";
import type { MenuItem } from "./parts.tsx";
import { openShare } from "./Share.tsx";
import { toggleTheme } from "./theme.ts";
import { openTrash } from "./Trash.tsx";

/** Return what one may do with the open branch. null: a line between two groups. hint: its key. */
export function actionsOf(app: App): (MenuItem | null)[] {
	const { place, grove } = app;
	if (!place || place.isGone) return [];
	const { id, conversation, chosen } = place;
	const other = grove && currentWithout(grove, id);
	const isCurrent = grove?.look(id)?.isCurrent ?? conversation?.isCurrent;
	const [mayWrite, mayManage, isOwner] = [may(app, "writer"), may(app, "manager"), may(app, "owner")];
	const failing = (deed: () => Promise<unknown>) => () => deed().catch(app.fail);
	const all: (MenuItem | null | false | undefined | "")[] = [
		mayWrite && {
			label: "Names and tags…",
			sign: <Tag />,
			press: failing(() => askDetails(app, id)),
			hint: "T",
		},
		mayWrite &&
			!isCurrent &&
			grove?.hasForks && { label: "Make current…", sign: <Star />, press: () => askPromote(app, id) },
		mayWrite &&
			other && { label: "Merge into…", sign: <GitMerge />, press: failing(() => askMerge(app, id)) },
		other && { label: "Compare", sign: <Columns2 />, press: () => app.go(toCompare([id, other])), hint: "C" },
		{ label: mayManage ? "Share…" : "Members…", sign: <Share2 />, press: () => openShare(app), hint: "S" },
		mayWrite && { label: "Continue in…", sign: <Terminal />, press: () => openContinue(app) },
		{ label: "Export…", sign: <Download />, press: () => openExport(app) },
		isOwner && { label: "Hand over to…", sign: <Crown />, press: failing(() => askHandOver(app)) },
		{ label: "Copy link", sign: <Link />, press: () => app.copyLink(toConversation(id, chosen)), hint: "L" },
		{ label: "Copy tree", sign: <Copy />, press: () => copyTree(app) },
		{
			label: isPinned(app) ? "Unpin" : "Pin",
			sign: isPinned(app) ? <PinOff /> : <Pin />,
			press: () => togglePin(app),
		},
		{
			label: conversation?.archived ? "Take out of the archive" : "Archive",
			sign: <Archive />,
			press: () => toggleArchive(app),
		},
		mayManage && null,
		mayManage &&
			other && {
				label: "Delete this branch…",
				sign: <Trash2 />,
				press: () => askDelete(app, [id]),
				isBad: true,
			},
		isOwner && {
			label: "Delete the whole tree…",
			sign: <Trash2 />,
			press: () => askDeleteTree(app),
			isBad: true,
		},
	];
	return all.filter((one): one is MenuItem | null => one === null || Boolean(one));
}

/** Return all that one may do on the page. */
export function everyAction(app: App): MenuItem[] {
	const { place, isPaneShown, pane } = app;
	const onTree: MenuItem[] =
		place && !place.isGone
			? [
					{
						label: "Tree at full size",
						sign: <Maximize2 />,
						press: () => app.go(toTree(place.id)),
						hint: "G",
					},
					{
						label: isPaneShown ? "Close the tree" : "Show the tree",
						sign: <PanelRight />,
						press: () => app.showPane(isPaneShown ? undefined : pane),
					},
				]
			: [];
	return [
		{ label: "New conversation", sign: <Plus />, press: () => askNew(app) },
		...onTree,
		...actionsOf(app).filter((one) => one !== null),
		{ label: "Trash", sign: <Trash2 />, press: () => openTrash(app) },
		{ label: "Dark or light", sign: <Moon />, press: toggleTheme },
	];
}
