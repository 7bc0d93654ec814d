import { SvcError } from "../../base/errors.ts";
import { hostFunctionNames } from "../host-functions/mod.ts";
import type { HostFunctions } from "../template/mod.ts";

/** A host that nobody can look at: what a template asks of it is not known before it runs. */
export function unknownHost(onCall: (name: string) => void): HostFunctions {
  return {
    names: hostFunctionNames,
    refusal: () => undefined,
    async call({ name }) {
      onCall(name);
      throw new SvcError("unavailable", "not known before it runs");
    },
  };
}
