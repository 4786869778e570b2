// Which conversations the list shows.

import { Archive, Bot, Check, Folder, ListFilter, Tag, Terminal, X } from "lucide-react";
import { useId } from "react";
import type { ConversationDetails } from "../model/types.ts";
import { counted } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { NO_FILTER } from "../service/list.ts";
import { Popover, Press } from "./parts.tsx";

/** What one types to filter. */
type Field = "tag" | "program" | "project" | "agentId";

/** Return what rows have there: what one may look for. */
function valuesOf(rows: readonly ConversationDetails[], field: Field): string[] {
	const values = rows.flatMap(({ tags, agentId }) =>
		field === "tag" ? Object.keys(tags) : field === "agentId" ? agentId : tags[field],
	);
	return [...new Set(values)].filter((one) => one !== undefined).sort();
}

export function FilterMenu({ app }: { app: App }) {
	const { list } = app;
	const id = useId();
	const { tag, program, project, agentId, archived, days } = list.filter;
	const field = (name: Field, label: string, sign: React.ReactNode, value: string) => (
		<label className="line field">
			{sign}
			<input
				aria-label={label}
				placeholder={label}
				defaultValue={value}
				list={`${id}${name}`}
				onKeyDown={(event) =>
					event.key === "Enter" && list.choose({ [name]: event.currentTarget.value.trim() })
				}
				onBlur={(event) => {
					const given = event.currentTarget.value.trim();
					if (given !== list.filter[name]) list.choose({ [name]: given });
				}}
			/>
			<datalist id={`${id}${name}`}>
				{valuesOf(list.rows, name).map((one) => (
					<option key={one} value={one} />
				))}
			</datalist>
		</label>
	);
	return (
		<Popover
			label="Filter by tag, agent, date"
			sign={<ListFilter />}
			className="s"
			aria-pressed={Boolean(tag || program || project || agentId || archived || days)}
			box={{ className: "menu filters" }}
		>
			{field("tag", "Tag, or tag:value", <Tag />, tag)}
			{field("program", "Program, such as codex", <Terminal />, program)}
			{field("project", "Project", <Folder />, project)}
			{field("agentId", "Agent", <Bot />, agentId)}
			<label className="line f">
				Used in
				<select
					className="input"
					value={days}
					onChange={(event) => list.choose({ days: Number(event.target.value) })}
				>
					{([0, 1, 7, 30] as const).map((count) => (
						<option key={count} value={count}>
							{count ? `the last ${counted(count, "day")}` : "all time"}
						</option>
					))}
				</select>
			</label>
			<Press className="" aria-pressed={archived} press={() => list.choose({ archived: !archived })}>
				{archived ? <Check /> : <Archive />} Archived ones
			</Press>
			<Press className="" press={() => list.choose(NO_FILTER)}>
				<X /> No filter
			</Press>
		</Popover>
	);
}
