// A block of code, with colours and a button that copies it.

import { Check, Copy } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { inTime, Press } from "./parts.tsx";

const Coloured = lazy(() => inTime(() => import("./Coloured.tsx")));

const COLOURED_MAX = 60_000; // characters
const COPIED_MS = 1_500;

export function Code({ language, text }: { language: string; text: string }) {
	const isDiff = /^(diff|patch)$/.test(language);
	return (
		<div className="code">
			<header className="line">
				<span className="cut">{language || "code"}</span>
				<span className="grow" />
				<CopyButton text={text} />
			</header>
			<pre tabIndex={0} role="group" aria-label={language ? `Code, ${language}` : "Code"}>
				<code>
					{isDiff ? (
						<Diff text={text} />
					) : text.length > COLOURED_MAX || !language ? (
						text
					) : (
						<Suspense fallback={text}>
							<Coloured language={language} text={text} />
						</Suspense>
					)}
				</code>
			</pre>
		</div>
	);
}

const Diff = ({ text }: { text: string }) =>
	text.split("\n").map((line, at) => (
		<span key={at} className={`l ${line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : ""}`}>
			{line}
			{"\n"}
		</span>
	));

function CopyButton({ text }: { text: string }) {
	const [told, setTold] = useState("");
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(text);
			setTold("Copied");
		} catch {
			setTold("Not copied");
		}
		setTimeout(setTold, COPIED_MS, "");
	};
	return (
		<>
			<Press className="b ghost s" press={copy}>
				{told === "Copied" ? <Check /> : <Copy />}
				{told || "Copy"}
			</Press>
			<span className="sr" role="status">
				{told}
			</span>
		</>
	);
}
