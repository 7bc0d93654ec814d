import { SvcError } from "../base/errors.ts";

const encodedForm = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,253}[a-zA-Z0-9]$/;
const dottedForm = /^[a-zA-Z0-9][a-zA-Z0-9.-]{0,253}[a-zA-Z0-9]$/;

/** Whether `text` is a peel id as it stands on the wire: 2 to 255 characters, a dot written as `_`. */
export function isPeelId(text: string): boolean {
  return encodedForm.test(text);
}

/** The wire form of a peel id that a person wrote: dots become `_`. An encoded id stays as it is. */
export function encodePeelId(text: string): string {
  return text.replaceAll(".", "_");
}

/** The form people read: `_` becomes a dot again. The encoding loses nothing, as no host name has a `_`. */
export function displayPeelId(encoded: string): string {
  return encoded.replaceAll("_", ".");
}

/**
 * Checks a configured peel id and returns its wire form.
 *
 * @throws SvcError `bad_request` for a raw `_`, which would be read back as a dot, or a bad form
 */
export function peelIdFromConfig(text: string): string {
  if (text.includes("_")) {
    throw new SvcError(
      "bad_request",
      `id ${JSON.stringify(text)} may not contain "_": write a dot or a hyphen (a dot travels as "_")`,
    );
  }
  if (!dottedForm.test(text)) {
    throw new SvcError(
      "bad_request",
      `id ${JSON.stringify(text.slice(0, 80))} is not a peel id: 2 to 255 letters, digits, dots and hyphens, a letter or digit first and last`,
    );
  }
  return encodePeelId(text);
}
