import type { Plain } from "../../base/msgpack.ts";
import { textOf } from "../jinja/mod.ts";
import { type Args, Fault, fromPlain, toPlain, type Value } from "../jinja/values/mod.ts";

/** A call of a function that looks at the host. */
export interface HostCall {
  /** `user.info` */
  readonly name: string;
  readonly args: readonly Plain[];
  readonly named: Readonly<Record<string, Plain>>;
}

/** Functions of `salt[…]` that look at the host. */
export interface HostFunctions {
  /** Every one there is. */
  readonly names: readonly string[];
  /** Why templates may not call it here; `undefined` when they may. */
  refusal(name: string): string | undefined;
  /** @throws SvcError */
  call(call: HostCall): Promise<Plain>;
}

/** What the calls of one rendering gave, by their text. */
export type Answers = Map<string, { value: Plain } | { problem: string }>;

/** A call that a template waits for: it is rendered again when there is an answer. */
export class HostCallWanted extends Fault {
  readonly call: HostCall;

  constructor(call: HostCall) {
    super(`${call.name} was not answered`);
    this.call = call;
  }
}

/** The same text for the same call. */
export const keyOfCall = ({ name, args, named }: HostCall): string => JSON.stringify([name, args, named]);

/** The answer to a call. @throws HostCallWanted when there is none yet, Fault when it failed */
export function answerOf(name: string, { positional, named }: Args, answers: Answers): Value {
  const call: HostCall = {
    ...{ name, args: positional.map(toPlain) },
    named: Object.fromEntries([...named].map(([key, value]) => [textOf(key), toPlain(value)])),
  };
  const answer = answers.get(keyOfCall(call));
  if (answer === undefined) throw new HostCallWanted(call);
  if ("problem" in answer) throw new Fault(`salt['${name}']: ${answer.problem}`);
  return fromPlain(answer.value);
}
