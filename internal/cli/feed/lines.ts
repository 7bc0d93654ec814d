import { SvcError } from "../../base/errors.ts";
import { type Cli, cutTo, Exit, visible } from "../../program/command-line/mod.ts";

/** Prints each item as a line, while more come. */
export interface Lines<T> {
  /**
   * Resolves when there is room for more: what nobody reads does not pile up here.
   *
   * @throws Exit 1 when nobody will read it; the reason of the signal
   */
  write(items: readonly T[]): Promise<void>;
}

/**
 * Lines for people, cut to the terminal without `--wide`, or lines of JSON.
 *
 * @param cellsOf the cells of an item, as many for each; columns become wider as items need it
 * @param signal ends the waiting for a reader
 */
export function createLines<T>(
  { output, stdout, width, wide }: Pick<Cli, "output" | "stdout" | "width" | "wide">,
  cellsOf: (item: T) => readonly string[],
  signal: AbortSignal,
): Lines<T> {
  const widths: number[] = [];
  let isGone = false;
  let wake = () => {};
  stdout.once?.("error", () => {
    isGone = true;
    wake();
  });
  const line = (item: T): string => {
    const cells = cellsOf(item).map(visible);
    const padded = cells.slice(0, -1).map((cell, at) => {
      const own = Bun.stringWidth(cell);
      const column = Math.max(widths[at] ?? 0, own);
      widths[at] = column;
      return cell + " ".repeat(column - own);
    });
    const text = [...padded, cells.at(-1) ?? ""].join("  ").trimEnd();
    return width === undefined || wide ? text : cutTo(text, width);
  };
  const lineOf = (item: T) => (output === "jsonl" ? visible(JSON.stringify(item)) : line(item));
  const drained = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    stdout.once?.("drain", resolve);
    signal.addEventListener("abort", wake);
    await promise;
    signal.removeEventListener("abort", wake);
    signal.throwIfAborted();
  };
  return {
    async write(items) {
      const text = items.map((item) => `${lineOf(item)}\n`).join("");
      if (text !== "" && stdout.write(text) === false) await drained();
      if (isGone) throw new Exit(1);
    },
  };
}

/** @throws SvcError `usage` where a list would never end */
export function checkEndless({ output }: Pick<Cli, "output">): void {
  if (output === "table" || output === "jsonl") return;
  throw new SvcError("usage", `--output ${output} is one list at the end: use --output jsonl with --follow`);
}
