// Gives a person a text that the page has made, as a file.

const MOMENT_MS = 60_000; // the browser has read it by then

export function saveFile(name: string, text: string, type: string): void {
	const link = document.createElement("a");
	const href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
	Object.assign(link, { href, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(href), MOMENT_MS);
}
