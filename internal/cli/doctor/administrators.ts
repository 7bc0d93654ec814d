import type { Finding } from "../../program/diagnosis/mod.ts";
import { digestOfAdministrators } from "../../wire/administrators-statement.ts";
import type { Heartbeat } from "../../wire/heartbeat.ts";

interface Named {
  name: string;
  public_key: string;
}

/**
 * Whether a peel that obeys operators only knows the administrators that it should.
 *
 * @param beat its heartbeat; `undefined` while it is not connected
 * @param fleet what the masters say; `undefined` where they say nothing
 */
export function judgeAdministrators(
  beat: Pick<Heartbeat, "administrators"> | undefined,
  fleet: { masters: readonly Named[]; peels: readonly Named[]; differ: boolean } | undefined,
): Finding {
  if (beat === undefined) {
    return {
      level: "skip",
      message: "known only while the peel is connected",
      next: "see the step heartbeat",
    };
  }
  const { administrators: known } = beat;
  if (known === undefined) return { level: "ok", message: "it obeys masters (require_operator is off)" };
  if (known === "") {
    return {
      level: "fail",
      message: "it obeys operators only, and knows no administrators: it refuses every operator",
      next: "set master_url on its host: it learns them with its next credentials over HTTPS; see svc-peel check there",
    };
  }
  if (fleet === undefined) {
    return {
      level: "skip",
      message: "it obeys operators only, and no master tells which administrators it should know",
      next: "see svc operator administrators",
    };
  }
  if (known === digestOf(fleet.peels)) {
    if (!fleet.differ)
      return { level: "ok", message: "it obeys operators only, and knows their administrators" };
    return {
      level: "warn",
      message:
        "it knows the administrators of the newest statement, and the masters have others in their file",
      next: "see svc operator administrators",
    };
  }
  const what = known === digestOf(fleet.masters) ? "those of the masters before a statement" : "others";
  return {
    level: "warn",
    message: `it obeys operators only, and knows other administrators than it should: ${what}`,
    next: "see svc operator administrators; search the log of the peel for refused statements",
  };
}

const digestOf = (list: readonly Named[]) =>
  digestOfAdministrators(list.map(({ name, public_key }) => ({ name, publicKey: public_key })));
