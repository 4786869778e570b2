// A file beside the log. Images, sound and films are shown, all else is named. A link to the bytes lives for minutes.

import { Download, FileText, RotateCcw } from "lucide-react";
import { createContext, use, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { AttachedFile } from "../model/types.ts";
import { bytes, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { sentenceOf, statusOf } from "../service/connection.ts";
import { IconPress, Modal, Press, Said } from "./parts.tsx";

/** Pictures of pixels. Nothing in them can run. */
export const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/i;
const PLAYED = /^(audio|video)\/[a-z0-9.-]+$/i;
const SPARE_MS = 10_000; // so long before its end a link is old

/** Where the bytes of files come from. */
export interface Files {
	/** Return a link of now to the bytes, or what is told of a file that has none. */
	linkTo: (file: AttachedFile) => Promise<{ url?: string | undefined; told: string }>;
	/** Return an address that the service names as one for the browser. */
	located: (url: string) => string;
	open: (draw: (close: () => void) => React.ReactNode) => void;
}

/** Whose files are shown. Without it they are only named. */
export const Reader = createContext<Files | undefined>(undefined);

export const REMOVED = "It was removed.";
export const AWAY = "It is not here any more.";

/** Return the files of the conversation that a person has open. */
export const filesOf = (app: App): Files => ({
	located: (url) => app.client.located(url),
	open: (draw) => app.open(draw),
	async linkTo({ id }) {
		const given = { attachmentId: id, conversationId: app.place?.id };
		try {
			const found = await app.client.api.getAttachment(given, { signal: app.signal });
			const url = found.state === "removed" ? undefined : found.url;
			return { url, told: url ? "" : REMOVED };
		} catch (error) {
			return { told: [403, 404].includes(statusOf(error) ?? 0) ? AWAY : sentenceOf(error) };
		}
	},
});

export function Attached({ file }: { file: AttachedFile }) {
	const files = use(Reader);
	if (!files) return <Named file={file} />;
	if (PICTURE.test(file.contentType)) return <Picture files={files} file={file} />;
	if (PLAYED.test(file.contentType)) return <Played files={files} file={file} />;
	return <Other files={files} file={file} />;
}

interface FileProps {
	files: Files;
	file: AttachedFile;
}

/** A link to the bytes: that of the entry, and when it is old or leads nowhere, another one. told: why there is none. */
function useLink({ files, file }: FileProps) {
	const [{ url, until, round }, setLink] = useState({ url: file.url, until: file.urlExpiresAt, round: 0 });
	const [told, setTold] = useState("");
	// What was just asked for is new, whatever the clock says.
	const isOld = !url || (round === 0 && Date.parse(until ?? "") < Date.now() + SPARE_MS);
	const href = url && files.located(url);
	const hasFailed = useRef(false);

	/** Return a link of now, unless there is none. */
	const ask = async (): Promise<string | undefined> => {
		const { url, told } = await files.linkTo(file);
		setTold(told);
		return url;
	};
	const renew = async () => {
		const fresh = await ask();
		if (fresh) setLink(({ round }) => ({ url: fresh, until: undefined, round: round + 1 }));
	};
	const again = () => {
		hasFailed.current = false;
		return renew();
	};
	/** Bytes did not come, or are not what they should be. */
	const failed = async () => {
		const isSecond = hasFailed.current;
		hasFailed.current = true;
		if (!isSecond) return renew();
		const { origin } = new URL(href ?? "", location.href);
		setTold(
			origin === location.origin
				? "It cannot be shown."
				: `To see it here, start forklore explore with --attachments ${origin}`,
		);
	};
	const loaded = () => (hasFailed.current = false);
	/** Get the bytes as a file. */
	const save = async () => {
		const fresh = await ask();
		if (!fresh) return;
		const link = document.createElement("a");
		Object.assign(link, { href: files.located(fresh), download: file.name, target: "_blank" });
		link.rel = "noopener noreferrer";
		link.click();
	};
	return { href, isOld, round, told, renew, again, failed, loaded, save };
}

type Linked = ReturnType<typeof useLink>;

/** A file by its name and size. */
function Named({ file, link }: { file: AttachedFile; link?: Linked }) {
	const { name, size } = file;
	return (
		<div className="line file">
			<FileText />
			<span className="cut">
				<Said>{name}</Said>
			</span>
			<span className="quiet">{link?.told || bytes(size)}</span>
			{link?.told && (
				<IconPress label={`Try again: ${visible(name)}`} className="s" press={link.again}>
					<RotateCcw />
				</IconPress>
			)}
			{link && (
				<IconPress label={`Download ${visible(name)}`} className="s" press={link.save}>
					<Download />
				</IconPress>
			)}
		</div>
	);
}

const Other = ({ files, file }: FileProps) => <Named file={file} link={useLink({ files, file })} />;

function Picture({ files, file }: FileProps) {
	const link = useLink({ files, file });
	const { name, size } = file;
	const open = () =>
		files.open((close) => (
			<Modal label={visible(name)} className="whole" close={close}>
				<Whole files={files} file={file} close={close} />
			</Modal>
		));
	if (link.told) return <Named file={file} link={link} />;
	return (
		<figure className="pic shot">
			<Press className="" title="Open in full" press={open}>
				<Bytes link={link} name={name} />
			</Press>
			<figcaption className="cut">
				<Said>{name}</Said> · {bytes(size)}
			</figcaption>
		</figure>
	);
}

/** An image as large as the window. */
function Whole({ files, file, close }: FileProps & { close: () => void }) {
	const link = useLink({ files, file });
	return (
		<>
			{!link.told && <Bytes link={link} name={file.name} />}
			<div className="line end">
				<Named file={file} link={link} />
				<span className="grow" />
				<Press className="b" press={close}>
					Close
				</Press>
			</div>
		</>
	);
}

/** An image. A link that is old is not followed. */
function Bytes({ link, name }: { link: Linked; name: string }) {
	const { href, isOld, round, renew, failed, loaded } = link;
	useEffect(() => {
		if (isOld) void renew();
	}, []);
	const src = isOld ? undefined : href;
	const came = ({ currentTarget: { style, naturalHeight } }: React.SyntheticEvent<HTMLImageElement>) => {
		style.setProperty("--own", `${naturalHeight}px`);
		loaded();
	};
	return <img key={round} src={src} alt={visible(name)} onError={failed} onLoad={came} />;
}

/** Sound, or a film. It is asked for when one plays it, and goes on there if its link has become old. */
function Played({ files, file }: FileProps) {
	const link = useLink({ files, file });
	const player = useRef<HTMLVideoElement>(null);
	const goesOn = useRef({ at: 0, plays: false });
	useLayoutEffect(() => {
		if (!player.current || !goesOn.current.plays) return;
		player.current.currentTime = goesOn.current.at;
		void player.current.play().catch(() => undefined);
	}, [link.round]);
	const failed = ({ currentTarget }: React.SyntheticEvent<HTMLVideoElement>) => {
		goesOn.current = { at: currentTarget.currentTime, plays: !currentTarget.paused };
		return link.failed();
	};
	const Player = file.contentType.toLowerCase().startsWith("audio") ? "audio" : "video";
	return (
		<div className="played">
			{!link.told && (
				<Player
					key={link.round}
					ref={player}
					src={link.href}
					controls
					preload="none"
					aria-label={visible(file.name)}
					onError={failed}
					onLoadedMetadata={link.loaded}
				/>
			)}
			<Named file={file} link={link} />
		</div>
	);
}
