// Dialogs that name a command of forklore, to be run in a terminal: to go on elsewhere, and to export.

import { useState, type ReactNode } from "react";
import { exportCommand, FORMATS, PROGRAMS, resumeCommand } from "../model/commands.ts";
import type { App } from "../service/app.ts";
import { Code } from "./Code.tsx";
import { Modal, Press } from "./parts.tsx";

interface CommandProps {
	title: string;
	/** What the command does. */
	explain: ReactNode;
	label: string;
	/** What one chooses among, each with its words. */
	choices: readonly (readonly [string, string, ...unknown[]])[];
	first: string;
	commandOf: (chosen: string) => string;
	close: () => void;
}

function Command({ title, explain, label, choices, first, commandOf, close }: CommandProps) {
	const [chosen, choose] = useState(first);
	return (
		<Modal label={title} close={close}>
			<div className="dlg">
				<h2>{title}</h2>
				<p>{explain}</p>
				<label className="f">
					{label}
					<select className="input" value={chosen} onChange={({ target }) => choose(target.value)}>
						{choices.map(([value, words]) => (
							<option key={value} value={value}>
								{words}
							</option>
						))}
					</select>
				</label>
				<Code language="command" text={commandOf(chosen)} />
				<div className="line end">
					<Press className="b main" press={close}>
						Done
					</Press>
				</div>
			</div>
		</Modal>
	);
}

/** Return by what the command line finds the open branch: a name of the user, or its id. */
const nameOf = ({ place, grove }: App): string =>
	grove?.look(place!.id)?.names.find((name) => !name.startsWith("-")) ?? place!.id; // no option

/** Tell how one goes on in an agent's program. */
export function openContinue(app: App): void {
	const [name, from] = [nameOf(app), app.place!.conversation?.tags.program];
	const first = PROGRAMS.find(([program]) => program === from) ?? PROGRAMS[0];
	app.open((close) => (
		<Command
			title="Continue in an agent’s program"
			explain="In a terminal, this writes the branch where the program looks for its sessions, and starts it. What is said there comes back into this tree."
			label="Program"
			choices={PROGRAMS}
			first={first[0]}
			commandOf={(program) => resumeCommand(name, program)}
			close={close}
		/>
	));
}

/** Tell how one exports the branch or its tree. */
export function openExport(app: App): void {
	const name = nameOf(app);
	app.open((close) => (
		<Command
			title="Export"
			explain="In a terminal, this writes a file, with the files of the messages where the format has a place for them."
			label="What"
			choices={FORMATS}
			first={FORMATS[0][0]}
			commandOf={(format) => exportCommand(name, format)}
			close={close}
		/>
	));
}
