import { redact } from "../log.ts";

/** Characters of a secret value that is masked also inside of other texts, at least. */
export const minSecretLength = 10;

/** Keys in the PEM form with headers, and passwords in URLs. */
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const passwordInUrl = /:\/\/[^/\s:@]*:([^/\s@]+)@/;

/** Whether a text is a secret by its form, whatever its name is: what no log has, and passwords in URLs. */
export function isSecretText(text: string): boolean {
  return privateKey.test(text) || passwordInUrl.test(text) || redact(text) !== text;
}

/** The password in a URL. */
export function passwordIn(text: string): string | undefined {
  return passwordInUrl.exec(text)?.[1];
}
