import { SvcError } from "../base/errors.ts";
import { decodePublicKey } from "../identity/mod.ts";
import { isOperatorName } from "./operator-record.ts";

/** A person that the masters know from a file of their own, and not from the bus. */
export interface Administrator {
  name: string;
  /** `U…` */
  publicKey: string;
}

const max = 64;

/**
 * Reads the file of administrators: a public key and a name a line. Empty lines and lines with `#` are comments.
 *
 * @throws SvcError `bad_request` with file and line
 */
export function parseAdministrators(path: string, text: string): Administrator[] {
  const found: Administrator[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const words = line.trim().split(/\s+/);
    const [publicKey = "", name = ""] = words;
    if (publicKey === "" || publicKey.startsWith("#")) continue;
    const wrong = (problem: string) => new SvcError("bad_request", `${path}:${index + 1}: ${problem}`);
    if (decodePublicKey("user", publicKey) === undefined) {
      throw wrong("a line begins with the public key of an administrator, U…, and its name follows");
    }
    if (words.length !== 2 || !isOperatorName(name)) {
      throw wrong("after the key comes the name: lower-case letters, digits, dots, - and _");
    }
    const twin = found.find((one) => one.name === name || one.publicKey === publicKey);
    if (twin !== undefined) throw wrong(`${twin.name} is listed twice`);
    found.push({ name, publicKey });
  }
  if (found.length > max) throw new SvcError("bad_request", `${path}: more than ${max} administrators`);
  return found;
}

/** Writes the file of administrators. */
export function formatAdministrators(administrators: readonly Administrator[]): string {
  return administrators.map(({ publicKey, name }) => `${publicKey} ${name}\n`).join("");
}
