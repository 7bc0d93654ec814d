import { repr } from "../jinja/mod.ts";
import { Fault, Float, toPlain, type Value } from "../jinja/values/mod.ts";

/** Base64 as Python writes it in lines of 76 characters, each with its end. */
export function base64Lines(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString("base64")
    .replace(/.{1,76}/g, "$&\n");
}

/** A value that is not a text as YAML has it. @throws Fault for what is not data */
export function wordOf(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" || value instanceof Float) {
    const text = repr(value);
    if (/^(?:nan|-?inf)$/.test(text)) return text.replace(/(nan|inf)/, ".$1");
    return /^-?\d+e/.test(text) ? text.replace("e", ".0e") : text;
  }
  toPlain(value);
  throw new Fault("this value cannot be written as YAML");
}
