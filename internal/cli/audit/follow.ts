import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { auditOperations } from "../../fleet/audit/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { followEndless } from "../feed/follow.ts";
import { checkEndless, createLines } from "../feed/lines.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "../job/interrupt.ts";
import { withBus } from "../operator.ts";
import { type AuditView, aboutLine, type filterOf, outcomeWord } from "./read-pages.ts";

/**
 * Prints entries as they are written, oldest first.
 *
 * @throws SvcError `usage` for what has an end; as the masters answer
 * @throws Exit 130 after Ctrl-C
 */
export async function followAudit(
  { until, outcome, ...filter }: ReturnType<typeof filterOf>,
  cli: Cli,
): Promise<void> {
  checkEndless(cli);
  if (until !== undefined) throw new SvcError("usage", "--until: --follow has no end: leave one of them out");
  if (outcome === "unknown") {
    throw new SvcError("usage", "--outcome: unknown is what never ended: no entry with it is written");
  }
  const input = defined({ ...filter, outcome });
  try {
    await withBus(cli, (bus) =>
      untilInterrupted(cli, (signal) => {
        const { write } = createLines(cli, cellsOf, signal);
        const take = (entry: unknown) => write([entry as AuditView]);
        return followEndless(bus, auditOperations.streamAudit, input, take, { signal, say: cli.say });
      }),
    );
  } catch (thrown) {
    if (!(thrown instanceof Interrupted)) throw thrown;
    throw new Exit(interruptedExit);
  }
}

const cellsOf = (entry: AuditView) => [
  ...[String(entry.seq), entry.at, entry.operator, entry.action],
  ...[outcomeWord(entry), aboutLine(entry)],
];
