import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SvcError } from "../../../base/errors.ts";
import { reasonOf, secretMode, writeFileAtomic } from "../../../base/files/file.ts";
import { programPath } from "../../../base/process/environment.ts";
import { sha256Hex } from "../../../base/sha256.ts";
import type { Git } from "../git.ts";
import { verifyTimeVariable } from "./ssh-step.ts";

const maxBytes = 1024 * 1024;

/** The file of allowed signers as one sync read it. */
export interface Signers {
  /** Changes with its content. */
  digest: string;
  /** Why it allows nobody. */
  problem?: string;
  /** A copy, so that a change during the sync has no effect. */
  path: string;
}

/** @param file in the format of OpenSSH's allowed_signers */
export function readSigners(file: string, repository: string): Signers {
  const path = join(repository, "svc-signers");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    return { digest: "", path, problem: `the signers in ${file} cannot be read: ${reasonOf(thrown)}` };
  }
  if (text.length > maxBytes) return { digest: "", path, problem: `${file} is larger than 1 MiB` };
  const digest = sha256Hex(text);
  if (!/^[ \t]*[^#\s]/m.test(text)) return { digest, path, problem: `${file} lists no signers` };
  writeFileAtomic(path, text, secretMode);
  return { digest, path };
}

/**
 * Whether git finds a good signature of a listed key.
 *
 * @param at when the object was seen first, milliseconds since the Unix epoch
 * @param program what git runs in place of ssh-keygen: it puts this time in the place of the committer's, who may
 * choose any
 * @throws SvcError `unavailable` when it takes too long
 */
export async function isSigned(
  git: Git,
  { repository, signers, program }: { repository: string; signers: Signers; program: string },
  { kind, object, at }: { kind: "commit" | "tag"; object: string; at: number },
): Promise<boolean> {
  const { code } = await git.attempt(
    repository,
    [
      ...["-c", "gpg.format=ssh", "-c", `gpg.ssh.program=${program}`],
      ...["-c", `gpg.ssh.allowedSignersFile=${signers.path}`, "-c", "gpg.minTrustLevel=fully"],
      ...[`verify-${kind}`, "--raw", object],
    ],
    {
      env: { [verifyTimeVariable]: String(Math.floor(at / 1000)) },
      // It reads one small object, and the runtime of this executable reserves more addresses than it uses.
      memoryBytes: "unlimited",
    },
  );
  return code === 0;
}

/** @throws SvcError `bad_request` when signatures cannot be verified on this host */
export function assertSshKeygen(): void {
  if (Bun.which("ssh-keygen", { PATH: programPath }) !== null) return;
  throw new SvcError(
    "bad_request",
    "gitfs.remotes: signers need ssh-keygen, which is not installed: install the client of OpenSSH",
  );
}
