import { SvcError } from "../../base/errors.ts";
import type { FleetIndex } from "../targeting/mod.ts";

/** A part of what is stored would look like silent peels. @throws SvcError `unavailable` */
export function assertIndexed({ running }: Pick<FleetIndex, "running">): void {
  if (running) return;
  throw new SvcError("unavailable", "the fleet is not read completely yet: ask again in a few seconds");
}
