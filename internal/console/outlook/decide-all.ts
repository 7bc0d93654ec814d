import { WaitsForApproval } from "../api/mod.ts";

/** How many decisions ended how. */
export interface Decided<One> {
  done: One[];
  /** They happen when other operators have agreed. */
  waiting: One[];
  failed: { one: One; problem: string }[];
}

/** Decisions on their way at once. */
const atOnce = 4;

/** Decides about one after the other. What fails for one does not stop the others. */
export async function decideAll<One>(
  all: readonly One[],
  decide: (one: One) => Promise<void>,
): Promise<Decided<One>> {
  const decided: Decided<One> = { done: [], waiting: [], failed: [] };
  const left = [...all];
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      try {
        await decide(one);
        decided.done.push(one);
      } catch (thrown) {
        if (thrown instanceof WaitsForApproval) decided.waiting.push(one);
        else decided.failed.push({ one, problem: thrown instanceof Error ? thrown.message : String(thrown) });
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return decided;
}

/**
 * What became of decisions, as a sentence.
 *
 * @param word what was done to those that are done: `revoked`
 * @throws Error that also names the first of those that failed
 */
export function reportOf<One>(
  { done, waiting, failed }: Decided<One>,
  word: string,
  nameOf: (one: One) => string,
): string {
  const said = [
    done.length > 0 && `${done.length} ${word}`,
    waiting.length > 0 && `${waiting.length} wait for other operators`,
  ].filter(Boolean);
  const [first] = failed;
  if (first === undefined) return said.join(", ");
  const others = failed.length === 1 ? "" : ` (and ${failed.length - 1} more)`;
  throw new Error([...said, `${nameOf(first.one)}: ${first.problem}${others}`].join("; "));
}
