import type * as v from "valibot";
import { describeError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { followFeed } from "../../doors/bus/mod.ts";
import type { InputSchema } from "../../fleet/operation/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { requesterName } from "../request.ts";

type Binding<Deps, Input extends InputSchema> = Parameters<typeof followFeed<Deps, Input>>[1];

/**
 * Hands over what a feed has, until the signal aborts. While no master answers it waits, and then continues where it
 * was: nothing is lost, and nothing comes twice.
 *
 * @param take gets the data of each item; the next one is read when it resolves
 * @throws SvcError as the masters answer, and `unavailable` when none begins; the reason of the signal
 */
export async function followEndless<Deps, Input extends InputSchema>(
  bus: Bus,
  binding: Binding<Deps, Input>,
  input: v.InferInput<Input>,
  take: (data: unknown) => Promise<void>,
  { signal, say }: { signal: AbortSignal } & Pick<Cli, "say">,
): Promise<void> {
  const patience = {
    begin: (reason: unknown) =>
      say(`${describeError(reason)}; it continues from there when a master answers`),
    end: () => say("the masters answer again"),
  };
  const operator = requesterName(bus);
  for await (const { data } of followFeed(bus, binding, input, signal, { operator, patience })) {
    await take(data);
  }
}
