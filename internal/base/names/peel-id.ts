import { quote } from "../cut.ts";
import { SvcError } from "../errors.ts";

const encodedForm = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,253}[a-zA-Z0-9]$/;
const dottedForm = /^[a-zA-Z0-9][a-zA-Z0-9.-]{0,253}[a-zA-Z0-9]$/;

/** Whether `text` is a peel id in wire form: 2 to 255 characters, with dots encoded as `_`. */
export function isPeelId(text: string): boolean {
  return encodedForm.test(text);
}

/** Converts a peel id that a person typed to wire form: dots become `_`. An encoded id is unchanged. */
export function encodePeelId(text: string): string {
  return text.replaceAll(".", "_");
}

/** The display form: `_` becomes a dot. The encoding is lossless, because host names do not contain `_`. */
export function displayPeelId(encoded: string): string {
  return encoded.replaceAll("_", ".");
}

/**
 * Checks a configured peel id and returns its wire form.
 *
 * @throws SvcError `bad_request` for a raw `_`, which would be decoded as a dot, or for a malformed id
 */
export function peelIdFromConfig(text: string): string {
  if (text.includes("_")) {
    throw new SvcError(
      "bad_request",
      `id ${JSON.stringify(text)} may not contain "_": write a dot or a hyphen (a dot is encoded as "_")`,
    );
  }
  if (!dottedForm.test(text)) {
    throw new SvcError(
      "bad_request",
      `id ${quote(text)} is not a peel id: expected 2 to 255 letters, digits, dots and hyphens, with a letter or digit first and last`,
    );
  }
  return encodePeelId(text);
}

/** The two forms of a peel id, as data shows them: with dots, and encoded. */
export interface PeelNames {
  peel: string;
  peel_id: string;
}

/** Both forms of an encoded peel id. */
export function namesOf(encoded: string): PeelNames {
  return { peel: displayPeelId(encoded), peel_id: encoded };
}
