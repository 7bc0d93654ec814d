import { entryOutcomes } from "./entry.ts";

/** Lengths of time that the list can go back, in milliseconds. */
export const spans = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000, "30d": 2_592_000_000 } as const;

const isSpan = (text: string): text is keyof typeof spans => Object.hasOwn(spans, text);

/**
 * The fields of `audit.list` for an address of the page.
 *
 * @param now milliseconds since the Unix epoch, from which `since` counts back
 */
export function searchOf(query: URLSearchParams, now: number) {
  const text = (name: string) => {
    const value = query.get(name)?.trim() ?? "";
    return value === "" ? undefined : value;
  };
  const since = text("since") ?? "";
  return {
    by: text("by"),
    action: text("action"),
    peel: text("peel"),
    outcome: entryOutcomes.find((one) => one === query.get("outcome")),
    since: isSpan(since) ? new Date(now - spans[since]).toISOString() : undefined,
    cursor: text("before"),
    limit: 200,
  };
}
