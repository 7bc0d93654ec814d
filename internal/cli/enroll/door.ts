import type * as v from "valibot";
import type { Bus } from "../../bus/connection/mod.ts";
import type { BusBinding } from "../../doors/bus/mod.ts";
import type { DirectSigner } from "../../fleet/enrollment/store/mod.ts";
import type { FieldsSchema, InputSchema } from "../../fleet/operation/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { runDirectly } from "../direct.ts";
import { gatherDecisions } from "../gather.ts";
import { requesterName } from "../request.ts";
import { directSigner } from "./connect.ts";

/**
 * How a decision is made, again and again: by a master, or directly in storage.
 *
 * @param openStorage what the operation needs for direct decisions; absent for a master
 */
export async function doorOf<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  bus: Bus,
  cli: Cli,
  binding: BusBinding<Deps, Input, Output, Key>,
  openStorage?: (signer: DirectSigner | undefined) => Promise<Deps>,
): Promise<
  (input: v.InferInput<Input> & { id: string }) => Promise<Partial<Pick<v.InferOutput<Output>, Key>>>
> {
  if (openStorage === undefined) {
    return gatherDecisions(bus, binding, requesterName(bus));
  }
  const signer = await directSigner(bus, cli);
  const deps = await openStorage(signer);
  const by = signer ?? { name: requesterName({}) };
  return (input) => runDirectly(binding, deps, input, cli, by);
}
