import type { Bus } from "../../bus/mod.ts";
import { unknownOperator } from "../../fleet/operators/mod.ts";
import { operatorsOverBus } from "../../fleet/over-bus/mod.ts";
import { ask } from "../ask.ts";

/** An operator as masters show it. @throws SvcError `not_found`, and what masters answer */
export async function findOperator(bus: Bus, name: string) {
  const { operator, dependents } = await ask(bus, operatorsOverBus.show, { name });
  if (operator === undefined) throw await noOperator(bus, name);
  return { operator, dependents };
}

/** The error for a name that no operator has. Who may not list operators gets it without a hint. */
export async function noOperator(bus: Bus, name: string): Promise<Error> {
  const names = await ask(bus, operatorsOverBus.list, {}).then(
    ({ operators }) => operators.map((one) => one.name),
    () => [],
  );
  return unknownOperator(name, names);
}
