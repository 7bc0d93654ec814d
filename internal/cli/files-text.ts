import { shortSnapshot } from "../wire/content.ts";

/** Files as masters show them: over the bus digests are bytes. */
interface ShownFiles {
  environment?: string;
  commit?: string;
  snapshot?: Uint8Array | string;
}

/** Which files something runs, in one line. */
export function filesText({ environment, commit, snapshot }: ShownFiles): string {
  const named = `${environment || "-"}, commit ${commit || "-"}`;
  if (snapshot === undefined) return named;
  const hex = typeof snapshot === "string" ? snapshot : Buffer.from(snapshot).toString("hex");
  return `${named}, files ${shortSnapshot(hex)}`;
}
