// The files of a message that is written.

import { FileText, RotateCcw, X } from "lucide-react";
import { useEffect, useState } from "react";
import { bytes, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import type { Upload, Uploads } from "../service/uploads.ts";
import { PICTURE } from "./Attached.tsx";
import { IconPress, Said } from "./parts.tsx";

interface EnclosedProps {
	files: Uploads;
	/** They may have arrived with their message. */
	isHeld: boolean;
}

export function Enclosed({ files, isHeld }: EnclosedProps) {
	const { all, told } = useSource(files);
	return (
		<>
			{told && (
				<p className="bad" role="alert">
					{told}
				</p>
			)}
			{all.length > 0 && (
				<ul className="enclosed" aria-label="Files of this message">
					{all.map((one) => (
						<li key={one.key} className={`line ${one.state}`}>
							<Preview upload={one} />
							<span className="cut">
								<Said>{one.name}</Said>
							</span>
							<span
								className={one.state === "failed" ? "bad" : "quiet"}
								role={one.state === "failed" ? "alert" : undefined}
							>
								{stateOf(one)}
							</span>
							{one.state === "sending" && (
								<progress value={one.part || undefined} aria-label={visible(one.name)} />
							)}
							{!isHeld && one.state === "failed" && (
								<IconPress
									label={`Try again: ${visible(one.name)}`}
									className="s"
									press={() => files.again(one)}
								>
									<RotateCcw />
								</IconPress>
							)}
							{!isHeld && (
								<IconPress
									label={`Remove ${visible(one.name)}`}
									className="s"
									press={() => files.remove(one)}
								>
									<X />
								</IconPress>
							)}
						</li>
					))}
				</ul>
			)}
		</>
	);
}

function stateOf({ state, part, told, size }: Upload): string {
	if (state === "failed") return told;
	if (state === "waiting") return "waiting";
	if (state === "there") return bytes(size);
	return part ? `${Math.floor(part * 100)} % of ${bytes(size)}` : "sending";
}

/** A picture that is sent, small. */
function Preview({ upload: { file } }: { upload: Upload }) {
	const [src, setSrc] = useState<string>();
	useEffect(() => {
		if (!file || !PICTURE.test(file.type)) return;
		const made = URL.createObjectURL(file);
		setSrc(made);
		return () => URL.revokeObjectURL(made);
	}, [file]);
	return src ? <img src={src} alt="" /> : <FileText />;
}

/** Take files that are dropped anywhere on the page. Returns whether some are held above it. */
export function useDrop(app: App, take: ((files: FileList) => void) | undefined): boolean {
	const [isOver, setOver] = useState(false);
	useEffect(() => {
		const ended = new AbortController();
		const on = (name: "dragover" | "dragleave" | "drop", act: (event: DragEvent) => void) =>
			addEventListener(name, act, { signal: ended.signal });
		const hold = (event: DragEvent) => {
			if (!event.dataTransfer?.types.includes("Files")) return;
			event.preventDefault(); // else the browser opens the file in place of this page
			const isTaken = take !== undefined && !app.dialogs.length;
			event.dataTransfer.dropEffect = isTaken ? "copy" : "none";
			setOver(isTaken && event.type !== "drop");
			if (isTaken && event.type === "drop") take(event.dataTransfer.files);
		};
		on("dragover", hold);
		on("drop", hold);
		on("dragleave", ({ relatedTarget }) => relatedTarget === null && setOver(false));
		return () => ended.abort();
	}, [app, take]);
	return isOver;
}
