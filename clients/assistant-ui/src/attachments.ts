// The files that a user puts to a message: they are uploaded while the message is written.

import type { AttachmentAdapter, PendingAttachment } from "@assistant-ui/core";

import { ConflictError, NotFoundError, type Attachment, type Forklore } from "@forklore/client";
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
	/** What files have become, by the ids of assistant-ui's attachments. undefined: they are sent in the message. */
	const uploads = new Map<string, Promise<Attachment | undefined>>();
	const upload = async (file: File, contentType: string): Promise<Attachment | undefined> => {
		if (staysInline(contentType, file.size)) return undefined;
		try {
			return await fl.upload(file, { contentType });
		} catch (error) {
			if (error instanceof ConflictError && error.reason === "attachments_off") return undefined;
			throw error;
		}
	};
	/** Return an attachment with a new link: a message may be written for long. One that is gone is uploaded again. */
	const renewed = async (
		before: Attachment | undefined,
		file: File,
		contentType: string,
	): Promise<Attachment | undefined> => {
		if (before === undefined) return undefined;
		try {
			return await fl.api.getAttachment({ attachmentId: before.id });
		} catch (error) {
			if (error instanceof NotFoundError) return upload(file, contentType);
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
				uploads.set(added.id, uploading);
				await uploading;
			} catch (error) {
				uploads.delete(added.id);
				status = { type: "incomplete", reason: "error", message: (error as Error).message };
			}
			yield { ...added, status };
		},
		async send({ id, name, file }) {
			const contentType = typeOf(file);
			const made = uploads.has(id)
				? await renewed(await uploads.get(id), file, contentType)
				: await upload(file, contentType);
			const url = made ? fileUrl(fl, made) : await dataUrlOf(file);
			uploads.delete(id);
			return { ...completeWith({ id, name, contentType }, url), file };
		},
		remove({ id }) {
			uploads.delete(id); // what no entry names is gone after a day
			return Promise.resolve();
		},
	};
}

function typeOf(file: File): string {
	const [type = ""] = file.type.split(";", 1);
	return type === "" ? "application/octet-stream" : type;
}
