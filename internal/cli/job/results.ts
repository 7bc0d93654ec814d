import { defined } from "../../base/defined.ts";
import type { JobView, Progress } from "../../fleet/jobs/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { answerLine, answerLines } from "./answer-line.ts";
import { type AnswerOptions, type Answers, createAnswers } from "./answers.ts";
import { hasFailed, onlyFailed } from "./failed.ts";
import { createLive, type Live } from "./live.ts";
import { formatReturns } from "./table.ts";

export interface ResultOptions extends AnswerOptions {
  /** Only targets that did not end well. */
  failed?: boolean;
  /** Show what commands write while they run. */
  follow?: boolean;
}

/** Prints what became of a job, in the form that was asked for. */
export interface Results {
  /** Takes what targets returned where no more is kept of it than is printed. */
  readonly onReturn?: Answers["take"];
  /** What is shown while the job runs, with `follow`. */
  readonly live?: Live;
  /** Takes news of a job that is followed: with `--output jsonl` each answer is printed as it comes. */
  take(jid: string, news: Pick<Progress, "event">): void;
  /** Prints the job as it is now, or what is not printed of it yet. @param head what comes above a table */
  print(view: JobView, head?: (view: JobView) => string): Promise<void>;
  /** Prints one of several jobs, where they are not one list in the end. */
  printPart(view: JobView): Promise<void>;
  /** Prints several jobs as one list, where `printPart` printed nothing. */
  printAll(views: readonly JobView[]): Promise<void>;
}

export function createResults(cli: Cli, options: ResultOptions = {}): Results {
  const isTable = cli.output === "table";
  const isLines = cli.output === "jsonl";
  const isRows = cli.output === "csv";
  const chosen = (view: JobView) => (options.failed === true ? onlyFailed(view) : view);
  const live = options.follow === true ? createLive() : undefined;
  const answers = createAnswers({ ...options, wasShown: () => live?.hasOutput === true });
  const printed = new Map<string, string>();
  let printing = Promise.resolve();
  /** Once for each outcome: a later line of a peel replaces an earlier one. */
  const printLine = (line: ReturnType<typeof answerLine>) => {
    const { jid, peel_id, outcome } = line;
    const key = `${jid} ${peel_id}`;
    if (printed.get(key) === outcome || (options.failed === true && !hasFailed(outcome))) return;
    printed.set(key, outcome);
    printing = printing.then(() => cli.print(line, () => ""));
  };
  const print = async (view: JobView, head?: (view: JobView) => string) => {
    const shown = chosen(view);
    if (isLines) {
      for (const line of answerLines(shown)) printLine(line);
      return printing;
    }
    if (isRows) return cli.print(answerLines(shown), () => "");
    const above = head === undefined ? "" : `${head(view)}\n\n`;
    await cli.print(
      shown,
      () =>
        above +
        formatReturns(shown, answers, {
          ...{ color: cli.color, now: cli.clock.now() },
          ...defined({ width: cli.width }),
          ...options,
        }),
    );
  };
  return {
    print,
    ...defined({ live }),
    ...(isTable ? { onReturn: answers.take } : {}),
    take(jid, { event }) {
      if (!isLines || event?.return === undefined) return;
      const { peel, return: returned } = event;
      const outcome = returned.outcome ?? (returned.success ? "ok" : "failed");
      printLine(answerLine(jid, peel, outcome, returned));
    },
    async printPart(view) {
      if (isTable || isLines) await print(view);
    },
    async printAll(views) {
      if (isRows) return cli.print(views.map(chosen).flatMap(answerLines), () => "");
      if (!isTable && !isLines) await cli.print(views.map(chosen), () => "");
    },
  };
}
