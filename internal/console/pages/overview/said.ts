import { extent } from "../../charts/mod.ts";

/** `20 alive, 2 fewer than 24 h ago` */
export function levelSentence(values: readonly (number | null)[], word: string, ago: string): string {
  const found = extent({ values });
  if (found === undefined) return `Not known how many are ${word}`;
  const change = found.last - found.first;
  const number = (count: number) => count.toLocaleString("en");
  const changed =
    change === 0
      ? `as many as ${ago}`
      : `${number(Math.abs(change))} ${change > 0 ? "more" : "fewer"} than ${ago}`;
  return `${number(found.last)} ${word}, ${changed}`;
}
