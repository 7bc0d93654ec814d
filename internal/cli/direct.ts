import type * as v from "valibot";
import { createLog } from "../base/log.ts";
import type { DirectSigner } from "../fleet/enrollment/store/mod.ts";
import type { Door } from "../fleet/operation/door-table/mod.ts";
import { type InputSchema, invoke, namePeels, type Operation } from "../fleet/operation/mod.ts";
import type { Cli } from "../program/command-line/mod.ts";
import { hinted } from "./hints.ts";
import { operatorName } from "./operator.ts";

/**
 * Runs an operation here, as a master would. No master logs what is done, so its records go to standard
 * error; of what is refused the error tells.
 *
 * @param signer the operator who decides; absent for the user at the keyboard
 * @throws SvcError as the operation does
 */
export async function runDirectly<Deps, Input extends InputSchema, Output extends v.GenericSchema>(
  { operation, hints }: { operation: Operation<Deps, Input, Output>; hints?: Door["hints"] },
  deps: Deps,
  input: v.InferInput<Input>,
  { clock, stderr }: Pick<Cli, "clock" | "stderr">,
  signer?: Pick<DirectSigner, "name">,
): Promise<v.InferOutput<Output>> {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", clock, write: (line) => lines.push(line) });
  const caller = { kind: "operator", name: signer?.name ?? operatorName(), door: "direct" } as const;
  const call = { caller, log, clock };
  const output = await hinted(hints?.svc, () => invoke(operation, deps, { fields: input }, call));
  for (const line of lines) stderr.write(line);
  return namePeels(operation.output, output) as v.InferOutput<Output>;
}
