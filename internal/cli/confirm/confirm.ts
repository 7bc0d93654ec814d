import { type Cli, Exit, flag } from "../../program/command-line/mod.ts";

/** The option of every command that asks. */
export const yesArg = flag("Do not ask before, for scripts");

/**
 * The one rule for what changes hosts, or who is a member of the fleet: a person at a terminal is prompted first, unless
 * `--yes` is given. Where nobody can answer, it continues: scripts and pipelines name what they mean. A command that cannot
 * do without an answer throws before.
 *
 * @param question without its end
 * @throws Exit 1 when the person does not want it
 */
export async function confirm(
  { prompt, say }: Pick<Cli, "prompt" | "say">,
  question: string,
  isConfirmed: boolean,
): Promise<void> {
  if (isConfirmed || prompt === undefined) return;
  if (isYes(await prompt(`${question}? [y/N] `))) return;
  say("nothing was done");
  throw new Exit(1);
}

/** Whether an answer at a terminal agrees: only the word does. */
export const isYes = (answer: string): boolean => ["y", "yes"].includes(answer.trim().toLowerCase());
