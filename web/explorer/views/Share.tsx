// Who shares a tree: its members, to change as far as one may.

import { Link } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { ConflictError, ForbiddenError, NotFoundError } from "@forklore/client";
import { givenBy, type Level } from "../model/rules.ts";
import { toConversation, toList } from "../model/route.ts";
import type { Membership } from "../model/types.ts";
import { counted, longTime, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { isAborted } from "../service/connection.ts";
import { ask } from "./ask.tsx";
import { askHandOver, isolated, may } from "./deeds.tsx";
import { Links } from "./Links.tsx";
import { Avatar, Modal, Press, Problem, Said } from "./parts.tsx";

const WORDS: Record<Level, string> = {
	reader: "may read",
	writer: "may write",
	manager: "may manage",
	owner: "owner",
};

export const openShare = (app: App): void =>
	void app.open((close) => <Share app={app} id={app.place!.id} close={close} />);

function Share({ app, id, close }: { app: App; id: string; close: () => void }) {
	const mine = givenBy(app.place?.conversation?.accessLevel ?? "reader");
	const [members, setMembers] = useState<readonly Membership[]>();
	const [problem, setProblem] = useState<unknown>();
	const [told, setTold] = useState("");
	const [user, setUser] = useState("");
	const [level, setLevel] = useState<Exclude<Level, "owner">>("reader");
	const rounds = useRef(0);
	const ended = useRef(new AbortController());
	const talk = app.client.conversation(id);

	const load = async () => {
		const round = ++rounds.current;
		try {
			const all = await talk.members({ signal: ended.current.signal }).list();
			if (round === rounds.current) setMembers(all);
		} catch (error) {
			if (round === rounds.current && !isAborted(error)) setProblem(error);
		}
	};
	useEffect(() => {
		ended.current = new AbortController();
		void load();
		return () => ended.current.abort();
	}, []);

	/** Do a deed, then show who shares the tree now. */
	const change = async (deed: () => Promise<unknown>, done: string) => {
		setProblem(undefined);
		try {
			await deed();
			setTold(done);
		} catch (error) {
			if (isAborted(error)) return;
			setProblem(error);
		}
		await load();
		void app.reload();
	};
	const add = async () => {
		const userId = user.trim();
		if (!userId) return;
		const adding = app.once(`share ${id} ${userId} ${level}`, (idempotencyKey) =>
			app.client.api.shareConversation(
				{ conversationId: id, userId, accessLevel: level },
				{ idempotencyKey },
			),
		);
		await change(
			async () => {
				await adding.catch((error: unknown) => {
					if (error instanceof ConflictError && error.reason === "already_member")
						throw new ConflictError(`${userId} is a member already`, { status: 409 });
					throw error;
				});
				setUser("");
			},
			`${isolated(userId)} ${WORDS[level]} now.`,
		);
	};
	const set = (member: Membership, wanted: string) =>
		change(
			() =>
				wanted === "none"
					? talk.unshare(member.userId)
					: app.client.api.updateMembership({
							conversationId: id,
							userId: member.userId,
							accessLevel: wanted as Exclude<Level, "owner">,
						}),
			wanted === "none"
				? `${isolated(member.userId)} is no member now.`
				: `${isolated(member.userId)} ${WORDS[wanted as Level]} now.`,
		);
	const leave = () =>
		ask(app, {
			title: "Leave this tree?",
			explain: () => (
				<p>
					You can open no branch of it any more. What you wrote stays. The owner or a manager can let you in
					again.
				</p>
			),
			confirm: "Leave",
			isBad: true,
			run: (_, { signal }) => talk.unshare(app.user, { signal }).catch(forgive),
			told: () => "You have left the tree.",
			next: toList(),
		});

	const all = counted(app.grove?.forks.length ?? 1, "branch", "branches");
	const levels = mine.map((one) => (
		<option key={one} value={one}>
			{WORDS[one]}
		</option>
	));
	return (
		<Modal label="Share the tree" close={close}>
			<div className="dlg">
				<h2>Share the tree</h2>
				<p>
					Members share all {all}, and later ones. Who may read also sees new messages at once. A manager may
					also delete branches, and add and remove readers and writers.
				</p>
				{mine.length > 0 && (
					<form
						className="add"
						onSubmit={(event) => {
							event.preventDefault();
							void add();
						}}
					>
						<input
							className="input grow"
							placeholder="User id"
							aria-label="User id"
							autoComplete="off"
							autoCapitalize="none"
							maxLength={255}
							value={user}
							onChange={(event) => setUser(event.target.value)}
						/>
						<select
							className="input"
							aria-label="Level"
							value={level}
							onChange={(event) => setLevel(event.target.value as typeof level)}
						>
							{levels}
						</select>
						<button type="submit" className="b main">
							Add
						</button>
					</form>
				)}
				<p role="status" className="quiet">
					{told}
				</p>
				{problem !== undefined && <Problem error={problem} again={load} />}
				<div className="box">
					<ul aria-label="Members">
						{members?.map((member) => {
							const { userId, accessLevel, createdAt } = member;
							const isMe = userId === app.user;
							const isMine = !isMe && (mine as readonly Level[]).includes(accessLevel);
							return (
								<li key={userId} title={`since ${longTime(createdAt)}`}>
									<Avatar name={userId} />
									<span className="grow cut">
										<Said>{userId}</Said> {isMe && <span className="quiet">you</span>}
									</span>
									{isMine ? (
										<select
											className="input"
											aria-label={`Level of ${visible(userId)}`}
											value={accessLevel}
											onChange={(event) => void set(member, event.target.value)}
										>
											{levels}
											<option value="none">no member any more</option>
										</select>
									) : (
										<span className="quiet">{WORDS[accessLevel]}</span>
									)}
									{isMe && accessLevel !== "owner" && (
										<Press className="b s" press={leave}>
											Leave…
										</Press>
									)}
								</li>
							);
						})}
					</ul>
				</div>
				{may(app, "manager") && <Links app={app} id={id} />}
				<div className="line end">
					<Press className="b ghost" press={() => app.copyLink(toConversation(id))}>
						<Link /> Copy link
					</Press>
					{may(app, "owner") && (
						<Press className="b ghost" press={() => askHandOver(app).catch(app.fail)}>
							Hand over to…
						</Press>
					)}
					<span className="grow" />
					<Press className="b main" press={close}>
						Done
					</Press>
				</div>
			</div>
		</Modal>
	);
}

/** Who is no member any more has left. */
const forgive = (error: unknown): void => {
	if (!(error instanceof NotFoundError || error instanceof ForbiddenError)) throw error;
};
