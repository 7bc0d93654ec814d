import { quote } from "../../../base/cut.ts";
import { bytesOfText, shownText, textOfBytes } from "../../../base/files/byte-text.ts";
import { cleanEnvironment } from "../../../base/process/environment.ts";
import { runProcess } from "../../../base/process/process.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import type { ArchiveFormat } from "./archive-format.ts";

const timeoutMs = 30 * 60_000;
const listBytes = 64 * 1024 * 1024;

/** A file or directory in an archive. */
export interface Member {
  /** Relative, without a slash at its end. */
  path: string;
  directory: boolean;
}

/**
 * Lists an archive.
 *
 * @throws StateFailure when it is damaged, or when a member would be extracted outside the target directory
 */
export async function listArchive(
  file: string,
  format: ArchiveFormat,
  context: StateContext,
): Promise<Member[]> {
  const argv = format === "zip" ? ["unzip", "-Z1", file] : ["tar", "-tf", file];
  const names = (await run(argv, context)).split("\n").filter((name) => name !== "");
  return names.flatMap((name) => {
    const shown = format === "zip" ? name : unescaped(name);
    const path = shown.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "");
    if (path === "" || path === ".") return [];
    const problem = memberProblem(path);
    if (problem !== undefined) throw new StateFailure(`the archive is not extracted: ${problem}`);
    return [{ path, directory: shown.endsWith("/") }];
  });
}

/** Extracts an archive into an empty directory that no other user can enter. */
export async function extractArchive(
  file: string,
  format: ArchiveFormat,
  into: string,
  context: StateContext,
): Promise<void> {
  const argv =
    format === "zip"
      ? ["unzip", "-qq", "-o", file, "-d", into]
      : ["tar", "--no-same-owner", "--no-same-permissions", "-xf", file, "-C", into];
  await run(argv, context);
}

/** Why a member is not extracted; `undefined` for a member inside the directory. */
export function memberProblem(path: string): string | undefined {
  const shown = quote(path, 200);
  if (path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path)) return `${shown} is an absolute path`;
  return path.split(/[/\\]/).includes("..") ? `${shown} is outside the directory` : undefined;
}

async function run(argv: readonly string[], { clock, signal }: StateContext): Promise<string> {
  const { code, stdout, stderr, stopped } = await runProcess({
    argv,
    env: { ...cleanEnvironment(undefined), LC_ALL: "C.UTF-8" },
    cwd: "/",
    umask: 0o022,
    timeoutMs,
    outputLimit: listBytes,
    decode: textOfBytes,
    clock,
    signal,
  });
  if (stopped === "aborted") signal.throwIfAborted();
  if (stopped === "timeout")
    throw new StateFailure(`${argv[0]} took longer than ${timeoutMs / 60_000} minutes`);
  if (code !== 0) {
    const [line = `it ended with ${code}`] = stderr.text.trim().split("\n");
    throw new StateFailure(`cannot extract the archive: ${shownText(line)}`);
  }
  if (stdout.omitted > 0) throw new StateFailure("the archive has too many members");
  return stdout.text;
}

const letters: Readonly<Record<string, string>> = {
  ...{ a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v", "\\": "\\" },
};

/** tar(1) escapes special characters as in C strings, and bytes that its locale does not have as octal digits. */
function unescaped(name: string): string {
  const parts = name.split(/(\\[0-7]{3}|\\[\s\S])/).map((part, index) => {
    const code = index % 2 === 0 ? "" : part.slice(1);
    if (code.length === 3) return Buffer.of(Number.parseInt(code, 8));
    return Buffer.from(bytesOfText(letters[code] ?? part));
  });
  return textOfBytes(Buffer.concat(parts));
}
