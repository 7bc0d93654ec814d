import type { Approval } from "./approval.ts";

export type Changes = NonNullable<Approval["changes"]>[number];

const lasts = {
  never_ran: "never ran",
  test_only: "ran only a test last, so all files are shown",
  unknown: "it is not known what they ran last, so all files are shown",
} as const;

/** Digests are hexadecimal digits in JSON. */
export const shortDigest = (digest: Uint8Array | string): string => String(digest).slice(0, 12);

/** Which peels a group has, and what they ran last. */
export function lastText({ peels, such_as, last, environment, snapshot }: Changes): string {
  const count = `${peels.toLocaleString("en")} ${peels === 1 ? "peel" : "peels"}`;
  const who = `${count}, ${peels > such_as.length ? "such as " : ""}${such_as.join(", ")}`;
  if (last !== "ran") return `${who}: ${lasts[last]}`;
  return `${who}: ran ${environment ?? "-"} ${snapshot === undefined ? "" : shortDigest(snapshot)} last`;
}
