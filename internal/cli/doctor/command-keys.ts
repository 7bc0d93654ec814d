import type { Finding } from "../../program/diagnosis/mod.ts";
import type { Heartbeat } from "../../wire/heartbeat.ts";
import type { MasterKeys } from "../keys/fleet-keys.ts";

const next =
  "run svc-peel check on its host: it learns command keys only over HTTPS, from a master in master_urls";

/**
 * Whether a peel knows the command keys that masters sign with, or will.
 *
 * @param beat its heartbeat; `undefined` while it is not connected
 */
export function judgeCommandKeys(
  beat: Pick<Heartbeat, "knows_command_keys" | "commands_refused"> | undefined,
  masters: readonly Pick<MasterKeys, "command_keys" | "signs_with">[],
): Finding {
  const all = unique(masters.flatMap(({ command_keys }) => command_keys));
  if (all.length === 0) {
    return {
      level: "skip",
      message: "no running master reports its command keys",
      next: "see the step masters",
    };
  }
  if (beat === undefined) {
    return {
      level: "skip",
      message: "known only while the peel is connected",
      next: "see the step heartbeat",
    };
  }
  const { knows_command_keys: known, commands_refused: refused } = beat;
  if (known === undefined && all.length > 1) {
    return {
      level: "warn",
      message: "the command key is being replaced, and the peel has not reported which keys it knows",
      next,
    };
  }
  const lacking = all.filter((key) => known?.includes(key) === false);
  const signing = lacking.filter((key) => masters.some(({ signs_with }) => signs_with === key));
  if (signing.length > 0) {
    return {
      level: "fail",
      message: `unknown command key: masters sign with ${signing.join(", ")}, and the peel does not know that key`,
      next,
    };
  }
  if (lacking.length > 0) {
    return {
      level: "warn",
      message: `unknown command key: masters will sign with ${lacking.join(", ")}, and the peel has not confirmed it`,
      next,
    };
  }
  const count = refused?.unknown_key ?? 0;
  if (count > 0) {
    return {
      level: "warn",
      message: `since its start it refused ${count} ${count === 1 ? "command" : "commands"} with an unknown command key`,
      next,
    };
  }
  return { level: "ok", message: "it reports no missing key" };
}

const unique = (texts: readonly string[]) => [...new Set(texts)];
