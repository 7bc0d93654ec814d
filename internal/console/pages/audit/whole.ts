import type { AuditEntry } from "./entry.ts";

/**
 * What a list of entries says of the chain: entries that no master of the fleet signed, and numbers that are missing.
 *
 * @param entries newest first
 * @param filtered numbers between those shown are left out on purpose
 */
export function judgeEntries(
  entries: readonly Pick<AuditEntry, "seq" | "genuine">[],
  { filtered }: { filtered: boolean },
): { forged: number[]; gaps: string[] } {
  const forged = entries.filter(({ genuine }) => !genuine).map(({ seq }) => seq);
  const gaps = entries.flatMap(({ seq }, index) => {
    const older = entries[index + 1];
    if (filtered || older === undefined || older.seq === seq - 1) return [];
    const [from, to] = [older.seq + 1, seq - 1];
    return from === to ? `${from}` : `${from} to ${to}`;
  });
  return { forged, gaps };
}
