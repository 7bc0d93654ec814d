/** A line of an authorized_keys file (sshd(8)). */
export interface AuthorizedKey {
  /** `ssh-ed25519` */
  type: string;
  /** Base64. */
  key: string;
  /** As written before the type: `no-pty,command="…"`. */
  options: readonly string[];
  comment: string;
}

const types =
  "(?:sk-)?(?:ssh|ecdsa)-[a-z0-9-]+(?:@openssh\\.com)?|ecdsa-sha2-nistp(?:256|384|521)|ssh-(?:rsa|dss|ed25519)";
const lineForm = new RegExp(`^(?:(.+?)\\s+)?(${types})\\s+(AAAA[A-Za-z0-9+/]*=*)(?:\\s+(.*?))?\\s*$`);

/** The type of a key, which may be given without its prefix: `ed25519`. */
export function keyType(written: string): string {
  if (/^(?:rsa|dss|ed25519)$/.test(written)) return `ssh-${written}`;
  return written === "ecdsa" ? "ecdsa-sha2-nistp256" : written;
}

/** @returns `undefined` for a comment or anything else that is not a key */
export function parseKey(line: string): AuthorizedKey | undefined {
  if (/^\s*(#|$)/.test(line)) return undefined;
  const [, options = "", type, key, comment = ""] = lineForm.exec(line.trim()) ?? [];
  if (type === undefined || key === undefined) return undefined;
  return { type, key, options: splitOptions(options), comment };
}

export function formatKey({ type, key, options, comment }: AuthorizedKey): string {
  const head = options.length === 0 ? "" : `${options.join(",")} `;
  return `${head}${type} ${key}${comment === "" ? "" : ` ${comment}`}`;
}

/** Whether several entries have a key: SSH tries the next one where the options of one do not fit. */
export function isRepeated(text: string, key: string): boolean {
  return text.split("\n").filter((line) => parseKey(line)?.key === key).length > 1;
}

/** Finds the entry of a key, regardless of its options. */
export function findKey(text: string, key: string): AuthorizedKey | undefined {
  return text
    .split("\n")
    .map(parseKey)
    .find((each) => each?.key === key);
}

/** Replaces the first entry with the same key, and removes others; or appends the entry. */
export function withKey(text: string, entry: AuthorizedKey): string {
  const lines = linesOf(text);
  const isSame = (line: string) => parseKey(line)?.key === entry.key;
  const first = lines.findIndex(isSame);
  const next =
    first === -1
      ? [...lines, formatKey(entry)]
      : lines.flatMap((line, at) => (at === first ? [formatKey(entry)] : isSame(line) ? [] : [line]));
  return next.map((line) => `${line}\n`).join("");
}

export function withoutKey(text: string, key: string): string {
  return linesOf(text)
    .filter((line) => parseKey(line)?.key !== key)
    .map((line) => `${line}\n`)
    .join("");
}

/** Splits options at commas outside of quotes. */
function splitOptions(text: string): string[] {
  return text.match(/(?:"(?:\\.|[^"])*"|[^,"])+/g) ?? [];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
