import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Finding } from "../../program/diagnosis/mod.ts";
import type { IdentityFiles } from "../identity/mod.ts";
import { fetchStatement, judgeSuccession, readAccepted } from "../succession/mod.ts";
import { createRecoveryKeys } from "../trust/mod.ts";

/**
 * Whether masters that this peel cannot trust serve a statement of succession that it would follow. Nothing is stored.
 *
 * @param untrusted URLs of those masters
 */
export async function inspectSuccession(
  untrusted: readonly string[],
  files: Pick<IdentityFiles, "recoveryKeys" | "succession">,
  { clock, log }: { clock: Clock; log: Log },
): Promise<Finding> {
  const accepted = readAccepted(files);
  const serial = accepted?.serial ?? 0;
  if (untrusted.length === 0) {
    const message = serial === 0 ? "none is needed" : `this peel follows the statement with serial ${serial}`;
    return { level: "ok", message };
  }
  const recoveryKeys = createRecoveryKeys(files.recoveryKeys, log).current;
  if (recoveryKeys.length === 0) {
    return {
      level: "warn",
      message: `this peel knows no recovery key, so it follows no succession`,
      next: "see the step masters; a peel learns the key from a master of its fleet, which has it in auth_dir/recovery.pub",
    };
  }
  const refusals: string[] = [];
  const { signal } = new AbortController();
  for (const url of untrusted) {
    try {
      const found = await fetchStatement(url, { clock, signal, log, jitter: () => 0 });
      if (found === undefined) continue;
      const statement = judgeSuccession(found, { recoveryKeys, serial });
      return {
        level: "warn",
        message: `${url} serves a statement with serial ${statement.serial} that this peel accepts`,
        next: "start the peel: it joins the fleet that succeeds its own within a few minutes",
      };
    } catch (thrown) {
      refusals.push(`${url}: ${describeError(thrown)}`);
    }
  }
  if (refusals.length === 0) {
    return {
      level: "warn",
      message: "no master with an unknown root serves a statement of succession",
      next: "see the step masters",
    };
  }
  return {
    level: "fail",
    message: `a statement of succession is refused: ${refusals.join("; ")}`,
    next: "if svc fleet succeed made it, its fleet must use a recovery key that this peel knows (see docs/succession.md); otherwise another host answers in place of a master",
  };
}
