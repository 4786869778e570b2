// The files that a user puts to a message: they are uploaded while the message is written.

import type { AttachmentAdapter, PendingAttachment } from "@assistant-ui/core";

import { ConflictError, type Forklore } from "@forklore/client";
import { dataUrlOf, fileUrl, staysInline } from "@forklore/client/chat";

import { completeWith } from "./messages.ts";

/** accept: the types and endings of the files that may be chosen, as of an `input`; all without it. */
export interface AttachmentOptions {
	accept?: string | undefined;
}

/**
 * Return what uploads files to forklore, for `adapters: { attachments }` of a runtime of assistant-ui.
 *
 * A message is sent with a link in place of the bytes. Small files, and all if the deployment keeps no attachments, are
 * sent in the message. A file that cannot be uploaded shows why; sending the message tries it again.
 */
export function attachmentAdapter(fl: Forklore, { accept = "*" }: AttachmentOptions = {}): AttachmentAdapter {
	/** The addresses of files, by their attachments' ids. */
	const urls = new Map<string, Promise<string>>();
	const upload = async (file: File, contentType: string): Promise<string> => {
		if (staysInline(contentType, file.size)) return dataUrlOf(file);
		try {
			return fileUrl(fl, await fl.attach(file, { contentType }));
		} catch (error) {
			if (error instanceof ConflictError && error.reason === "attachments_off") return dataUrlOf(file);
			throw error;
		}
	};
	return {
		accept,
		async *add({ file }) {
			const contentType = typeOf(file);
			const type = contentType.startsWith("image/") ? "image" : "document";
			const added = { id: crypto.randomUUID(), type, name: file.name, contentType, file };
			yield { ...added, status: { type: "running", reason: "uploading", progress: 0 } };
			let status: PendingAttachment["status"] = { type: "requires-action", reason: "composer-send" };
			try {
				const uploading = upload(file, contentType);
				urls.set(added.id, uploading);
				await uploading;
			} catch (error) {
				urls.delete(added.id);
				status = { type: "incomplete", reason: "error", message: (error as Error).message };
			}
			yield { ...added, status };
		},
		async send({ id, name, file }) {
			const contentType = typeOf(file);
			const url = await (urls.get(id) ?? upload(file, contentType));
			urls.delete(id);
			return { ...completeWith({ id, name, contentType }, url), file };
		},
		remove({ id }) {
			urls.delete(id); // what no entry names is gone after a day
			return Promise.resolve();
		},
	};
}

function typeOf(file: File): string {
	const [type = ""] = file.type.split(";", 1);
	return type === "" ? "application/octet-stream" : type;
}
