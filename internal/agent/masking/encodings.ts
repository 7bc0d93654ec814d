import { minSecretLength } from "../../base/names/secret-text.ts";

/** Characters of a text of which each occurrence is masked, at least. */
export const minLength = minSecretLength;

/**
 * The forms in which programs write a text: as it is, with the escapes of URLs and of JSON, and in base64 at each of the
 * three places that its bytes can have there.
 *
 * @param text of at least `minLength` characters, in one line
 */
export function encodingsOf(text: string): string[] {
  const forms = [text, ...inUrl(text), ...inJson(text), ...inBase64(text)];
  return [...new Set(forms)].filter((form) => form.length >= minLength);
}

/** Programs differ in the characters that they escape, and in the case of the digits. */
function inUrl(text: string): string[] {
  const whole = text.toWellFormed();
  const component = encodeURIComponent(whole);
  const strict = component.replace(/[!'()*]/g, hex);
  const plus = (form: string) => form.replaceAll("%20", "+");
  const forms = [
    ...[component, strict, encodeURI(whole)],
    ...[component.replaceAll("%2F", "/"), strict.replaceAll("%2F", "/")],
    new URLSearchParams({ "": whole }).toString().slice(1),
  ];
  return forms.flatMap((form) => [form, plus(form)]).flatMap((form) => [form, lowerEscapes(form)]);
}

const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
const lowerEscapes = (text: string) => text.replace(/%[0-9A-F]{2}/g, (digits) => digits.toLowerCase());

function inJson(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(/[\u007f-\uffff]/g, unicode);
  const inHtml = plain.replace(/[<>&]/g, unicode);
  const forms = [plain, ascii, inHtml, plain.replaceAll("/", "\\/"), ascii.replaceAll("/", "\\/")];
  // JSON inside of JSON.
  return [...forms, JSON.stringify(plain).slice(1, -1)];
}

const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

function inBase64(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const written = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    // Of the characters at both ends other bytes decide as well.
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor(((before + bytes.length) * 8) / 6);
    const standard = written.slice(from, to);
    return [standard, standard.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
