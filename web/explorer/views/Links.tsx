// The links by which people without an account read a tree: make one, copy it, end it.

import type { Link as ReaderLink } from "@forklore/client";
import { Link2 } from "lucide-react";
import { useEffect, useState } from "react";
import { counted } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";
import { Press, Problem, Time } from "./parts.tsx";

const DAYS = [1, 7, 30, 365];

/** Links to a conversation and its tree, for managers. */
export function Links({ app, id }: { app: App; id: string }) {
	const [links, setLinks] = useState<readonly ReaderLink[]>();
	const [problem, setProblem] = useState<unknown>();
	const [days, setDays] = useState(7);
	const [isWhole, setWhole] = useState(false);
	const [made, setMade] = useState("");

	const load = async () => {
		try {
			const page = await app.client.api.listLinks({ conversationId: id, limit: 200 });
			setLinks(page.data);
		} catch (error) {
			if (!isAborted(error)) setProblem(error);
		}
	};
	useEffect(() => void load(), [id]);

	/** Do a deed, then show which links there are now. */
	const change = async (deed: () => Promise<unknown>) => {
		setProblem(undefined);
		try {
			await deed();
		} catch (error) {
			setProblem(error);
		}
		await load();
	};
	const create = () =>
		change(async () => {
			const link = await app.client.api.createLink({ conversationId: id, days, allForks: isWhole });
			setMade(new URL(`#link=${link.secret}`, location.href).href);
		});
	return (
		<>
			<h3>Links to read it without an account</h3>
			<form
				className="add"
				onSubmit={(event) => {
					event.preventDefault();
					void create();
				}}
			>
				<select
					className="input grow"
					aria-label="What the link shows"
					value={isWhole ? "tree" : "branch"}
					onChange={(event) => setWhole(event.target.value === "tree")}
				>
					<option value="branch">this branch, up to now</option>
					<option value="tree">all branches, and what is said later</option>
				</select>
				<select
					className="input"
					aria-label="How long it is good"
					value={days}
					onChange={(event) => setDays(Number(event.target.value))}
				>
					{DAYS.map((one) => (
						<option key={one} value={one}>
							{counted(one, "day", "days")}
						</option>
					))}
				</select>
				<button type="submit" className="b">
					<Link2 /> Make
				</button>
			</form>
			{made && (
				<div className="line add">
					<input className="input grow" aria-label="The new link" readOnly value={made} />
					<Press className="b main" press={() => navigator.clipboard.writeText(made)}>
						Copy
					</Press>
				</div>
			)}
			{made && <p className="quiet">Copy it now: it is not shown again.</p>}
			{problem !== undefined && <Problem error={problem} again={load} />}
			{links && links.length > 0 && (
				<div className="box">
					<ul aria-label="Links">
						{links.map((link) => (
							<li key={link.id}>
								<span className="grow cut">
									{link.allForks ? "all branches" : "one branch"}{" "}
									<span className="quiet">
										opened {counted(link.opens, "time", "times")}, ends <Time at={link.endsAt} />
									</span>
								</span>
								<Press
									className="b s"
									press={() =>
										change(() => app.client.api.deleteLink({ conversationId: id, linkId: link.id }))
									}
								>
									End
								</Press>
							</li>
						))}
					</ul>
				</div>
			)}
		</>
	);
}
