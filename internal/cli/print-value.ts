import type { Plain } from "../base/msgpack.ts";
import { plainOrOutput } from "../program/answers/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";

/** Prints facts or settings, whole or one value of them. */
export function printValue(cli: Cli, value: Plain): Promise<void> {
  return cli.print(value, () => plainOrOutput(value).join("\n"));
}
