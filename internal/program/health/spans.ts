import type { MetricsRegistry } from "./registry.ts";

/** Adds the metric of the traces that a daemon sends. @param read the spans since the start */
export function countSpans(
  { countedBy }: Pick<MetricsRegistry, "countedBy">,
  name: string,
  read: () => Readonly<Record<string, number>> | undefined,
): void {
  countedBy(
    name,
    "Spans of traces, by what became of them: sent; dropped, because too many waited; failed, because the receiver did not take them",
    "result",
    read,
  );
}
