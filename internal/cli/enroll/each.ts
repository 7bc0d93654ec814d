import { SvcError, toSvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/peel-id.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { type Cli, Exit, type RestWords } from "../../program/command-line/mod.ts";

/** The other ids of a command that takes several. */
export const moreArg = {
  type: "positional",
  rest: true,
  description: "More enrollment ids",
} as const;

interface Decided {
  id: string;
  peel_id: string;
}

type Result = Decided | { id: string; approval: string; needs: number } | { id: string; error: string };

/**
 * Decides on one enrollment after the other, and prints what became of each. What waits for other operators, or is
 * refused, does not keep it from the rest.
 *
 * @param done `approved`
 * @throws Exit 1 when one was refused
 * @throws SvcError what a master answered, for the only one
 */
export async function decideOnEach<T extends Decided>(
  { id, more }: { id: string; more: RestWords },
  cli: Cli,
  done: string,
  decide: (id: string) => Promise<{ enrollment: T }>,
): Promise<void> {
  const line = (one: Decided) => `${done} ${one.id} (${displayPeelId(one.peel_id)})`;
  const ids = [...new Set([id, ...more.words, ...more.literal])];
  if (ids.length === 1) {
    const { enrollment } = await decide(id);
    return cli.print(enrollment, () => line(enrollment));
  }
  const results: Result[] = [];
  const lines: string[] = [];
  const report = () => cli.print(results, () => lines.join("\n"));
  for (const one of ids) {
    try {
      const { enrollment } = await decide(one);
      results.push(enrollment);
      lines.push(line(enrollment));
    } catch (thrown) {
      if (thrown instanceof WaitingRequest) {
        const { approval, needs, message } = thrown;
        results.push({ id: one, approval, needs });
        lines.push(`${one} ${message}`);
        continue;
      }
      const error = toSvcError(thrown);
      if (!(thrown instanceof SvcError) || ["unavailable", "usage"].includes(error.kind)) {
        // The rest would end in the same way.
        if (results.length > 0) await report();
        throw thrown;
      }
      results.push({ id: one, error: error.message });
      cli.warn(`${one}: ${error.message}`);
    }
  }
  await report();
  if (results.some((one) => "error" in one)) throw new Exit(1);
}
