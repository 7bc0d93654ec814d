import { type Cli, flag } from "../../program/command-line/mod.ts";

const masked = "********";

export const revealArg = flag("Show secrets too: needs settings: [reveal], and is in the audit");

/** Says how to see what is hidden in an answer, if anything is. */
export function sayHidden(cli: Pick<Cli, "say">, answer: unknown): void {
  if (!JSON.stringify(answer).includes(masked)) return;
  cli.say(
    `${masked} hides a secret: --reveal shows it to operators who may see it, and the audit records that`,
  );
}
