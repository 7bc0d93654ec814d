import type { Cli } from "../../program/command-line/mod.ts";
import { confirm } from "../confirm/confirm.ts";
import { confirmAbove } from "../operator.ts";
import { peelCount } from "./counts.ts";

/**
 * Asks the person at a terminal before something runs on many peels. Where no one can confirm, it runs: scripts and
 * pipelines name their targets, and have nobody to mistype them.
 *
 * @param options.does begins the question: `Run cmd.run`
 * @param options.isConfirmed `--yes`
 * @param options.count how many peels there are; not called where nobody is prompted
 * @throws Exit 1 when the person does not want it
 */
export async function confirmMany(
  cli: Cli,
  options: { does: string; isConfirmed: boolean; count: () => Promise<number> },
): Promise<void> {
  if (cli.prompt === undefined || options.isConfirmed) return;
  const count = await options.count();
  if (count <= confirmAbove(cli)) return;
  await confirm(cli, `${options.does} on ${peelCount(count)}`, false);
}
