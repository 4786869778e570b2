// The trash: the deleted trees and branches that one can restore, and until when.

import { Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { NotFoundError } from "@forklore/client";
import type { Trashed } from "../model/types.ts";
import { counted, longTime, titleOf } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";
import { ask } from "./ask.tsx";
import { isolated, restore } from "./deeds.tsx";
import { Loading, Modal, Press, Problem, Time } from "./parts.tsx";

export const openTrash = (app: App): void => void app.open((close) => <Trash app={app} close={close} />);

function Trash({ app, close }: { app: App; close: () => void }) {
	const [trees, setTrees] = useState<readonly Trashed[]>();
	const [problem, setProblem] = useState<unknown>();
	const ended = useRef(new AbortController());

	const load = async () => {
		setProblem(undefined);
		try {
			setTrees(await app.client.trash({ signal: ended.current.signal }).list());
		} catch (error) {
			if (!isAborted(error)) setProblem(error);
		}
	};
	useEffect(() => {
		ended.current = new AbortController();
		void load();
		return () => ended.current.abort();
	}, []);

	/** Do a deed. What failed is told, with what is there now. */
	const change = async (deed: () => Promise<unknown>) => {
		try {
			await deed();
		} catch (error) {
			await load();
			setProblem(error);
		}
	};
	const remove = async ({ id, scope, title }: Trashed) => {
		const isGone = await ask(app, {
			title: `Delete “${isolated(titleOf(title))}” for good?`,
			explain: () =>
				scope === "branch" ? (
					<p>What no other branch shows of it is removed. Nobody can bring it back.</p>
				) : (
					<p>All of its branches and entries are removed. Nobody can bring them back.</p>
				),
			confirm: "Delete for good",
			cancel: "Keep it",
			isBad: true,
			run: (_, { signal }) =>
				app.client.api
					.deleteConversation({ conversationId: id, scope, forGood: true }, { signal })
					.catch((error: unknown) => {
						if (!(error instanceof NotFoundError)) throw error;
					}),
			told: () => "It is deleted for good.",
		});
		if (isGone !== null) await load();
	};
	return (
		<Modal label="Trash" close={close}>
			<div className="dlg">
				<h2>Trash</h2>
				<p>Trees and branches that you deleted. To restore one brings all of it back, for all its members.</p>
				{problem !== undefined && <Problem error={problem} again={load} />}
				{!trees && problem === undefined && <Loading what="the trash" />}
				{trees && (
					<div className="box">
						<ul aria-label="Trash">
							{!trees.length && <li className="quiet">There is nothing in it.</li>}
							{trees.map((tree) => (
								<li key={tree.id} className="trashed">
									<span className="grow cut">
										<b className="cut" dir="auto">
											{titleOf(tree.title)}
										</b>
										<span className="quiet last">
											{tree.scope === "branch" && "a branch, "}deleted <Time at={tree.deletedAt} hasHour />,{" "}
											<span title={longTime(tree.keptUntil)}>kept for {leftOf(tree.keptUntil)}</span>
										</span>
									</span>
									<Press className="b s" press={() => change(() => restore(app, [tree.id]))}>
										Restore
									</Press>
									<Press className="b s ghost bad" press={() => remove(tree)}>
										<Trash2 />
										Delete for good…
									</Press>
								</li>
							))}
						</ul>
					</div>
				)}
				<div className="line end">
					<Press className="b main" press={close}>
						Done
					</Press>
				</div>
			</div>
		</Modal>
	);
}

const DAY_MS = 86_400_000;

/** Return how long a tree is still kept. */
function leftOf(keptUntil: string): string {
	const left = new Date(keptUntil).getTime() - Date.now();
	return left < DAY_MS ? "less than a day" : counted(Math.ceil(left / DAY_MS), "day");
}
