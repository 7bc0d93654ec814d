import { SvcError } from "../errors.ts";

// Archives in the form that tar, git archive and CI systems write: ustar, with the extensions of POSIX (pax) and GNU for
// long names.

/** A file of an archive. */
export interface TarFile {
  path: string;
  executable: boolean;
  data: Uint8Array;
}

const blockBytes = 512;
const nameField = [0, 100] as const;
const prefixField = [345, 500] as const;

/**
 * Reads the files of an archive; later ones replace earlier ones of the same path.
 *
 * @returns the files, and the names of what is neither a file nor a directory
 * @throws SvcError `bad_request`, `too_large` for more files than this
 */
export function readTar(bytes: Uint8Array, maxFiles: number): { files: TarFile[]; leftOut: string[] } {
  const files = new Map<string, TarFile>();
  const leftOut: string[] = [];
  let named: string | undefined;
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.subarray(at, at + blockBytes);
    if (header.every((byte) => byte === 0)) break;
    if (header.length < blockBytes) throw broken("it ends in the middle of a header");
    assertChecksum(header);
    const size = numberIn(header, 124, 136);
    const data = bytes.subarray(at + blockBytes, at + blockBytes + size);
    if (data.length < size) throw broken("it ends in the middle of a file");
    at += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === "x") named = paxPath(data) ?? named;
    else if (type === "L") named = textOf(data);
    else if (type !== "g" && type !== "K") {
      const path = (named ?? nameIn(header)).replace(/^(?:\.\/)+/, "");
      named = undefined;
      if (type === "0" || type === "\0" || type === "7") {
        const executable = (numberIn(header, 100, 108) & 0o100) !== 0;
        files.set(path, { path, executable, data });
        if (files.size > maxFiles) throw new SvcError("too_large", `more than ${maxFiles} files`);
      } else if (type !== "5") leftOut.push(path);
    }
  }
  return { files: [...files.values()], leftOut };
}

/** Writes an archive that `readTar` and tar read. */
export function writeTar(files: readonly TarFile[]): Uint8Array {
  const blocks = files.flatMap(({ path, executable, data }) => {
    const isLong = Buffer.byteLength(path) > nameField[1];
    const named = isLong ? [...entryOf("pax", 0o644, paxOf("path", path), "x")] : [];
    return [...named, ...entryOf(path, executable ? 0o755 : 0o644, data, "0")];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]);
}

function entryOf(path: string, mode: number, data: Uint8Array, type: string): Uint8Array[] {
  const header = Buffer.alloc(blockBytes);
  header.write(Buffer.from(path).subarray(0, nameField[1]).toString("latin1"), 0, "latin1");
  const octal = (value: number, at: number, length: number) =>
    header.write(value.toString(8).padStart(length - 1, "0"), at, "latin1");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(data.length, 124, 12);
  octal(0, 136, 12);
  header.write(" ".repeat(8), 148, "latin1");
  header.write(type, 156, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  octal(sumOf(header), 148, 7);
  header[155] = 32;
  return [header, data, Buffer.alloc((blockBytes - (data.length % blockBytes)) % blockBytes)];
}

/** A record of a pax header says its own length first. */
function paxOf(key: string, value: string): Uint8Array {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function paxPath(data: Uint8Array): string | undefined {
  const text = Buffer.from(data);
  for (let at = 0; at < text.length; ) {
    const space = text.indexOf(32, at);
    const length = Number(text.subarray(at, space).toString());
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0) throw broken("a header cannot be read");
    const record = text.subarray(space + 1, at + length - 1).toString();
    if (record.startsWith("path=")) return record.slice("path=".length);
    at += length;
  }
  return undefined;
}

function nameIn(header: Uint8Array): string {
  const isUstar = textOf(header.subarray(257, 262)) === "ustar";
  const prefix = isUstar ? textOf(header.subarray(...prefixField)) : "";
  const name = textOf(header.subarray(...nameField));
  return prefix === "" ? name : `${prefix}/${name}`;
}

function textOf(field: Uint8Array): string {
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end)).toString();
}

function numberIn(header: Uint8Array, from: number, to: number): number {
  const text = textOf(header.subarray(from, to)).trim();
  if (!/^[0-7]*$/.test(text)) throw broken("a header cannot be read");
  return text === "" ? 0 : Number.parseInt(text, 8);
}

function sumOf(header: Uint8Array): number {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  return sum;
}

function assertChecksum(header: Uint8Array): void {
  if (numberIn(header, 148, 156) !== sumOf(header)) throw broken("a header cannot be read");
}

const broken = (reason: string): SvcError => new SvcError("bad_request", `not a tar archive: ${reason}`);
