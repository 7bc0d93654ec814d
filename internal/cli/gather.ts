import type * as v from "valibot";
import { SvcError } from "../base/errors.ts";
import { encode, type Plain } from "../base/msgpack.ts";
import type { Bus } from "../bus/connection/mod.ts";
import type { BusBinding } from "../doors/bus/mod.ts";
import type { FieldsSchema, InputSchema } from "../fleet/operation/mod.ts";
import { withHint } from "./hints.ts";
import { request, requestSeveral } from "./request.ts";

/** How many decisions one request has at most. */
const maxIds = 500;

interface Decision<Answer> {
  id: string;
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

/**
 * Makes a decision again and again. Those of one moment that differ only in their ids are one request: an operator may
 * send 50 a second.
 *
 * @returns what a master answered about one id, as `request` does; without fields where the answer had no room for them
 */
export function gatherDecisions<
  Deps,
  Input extends InputSchema,
  Output extends FieldsSchema,
  Key extends keyof v.InferOutput<Output>,
>(
  bus: Bus,
  binding: BusBinding<Deps, Input, Output, Key>,
  as: string,
): (input: v.InferInput<Input> & { id: string }) => Promise<Partial<Pick<v.InferOutput<Output>, Key>>> {
  type Answer = Partial<Pick<v.InferOutput<Output>, Key>>;
  type Group = { fields: Omit<v.InferInput<Input>, "id">; decisions: Decision<Answer>[] };
  const groups = new Map<string, Group>();
  const { hints } = binding;

  const sendOne = (fields: Group["fields"], { id, resolve, reject }: Decision<Answer>) =>
    request(bus, binding, { ...fields, id } as v.InferInput<Input>, { as }).then(resolve, reject);
  const sendSeveral = async (fields: Group["fields"], decisions: readonly Decision<Answer>[]) => {
    const ids = decisions.map(({ id }) => id);
    try {
      const answers = await requestSeveral(bus, binding, ids, fields, { as });
      for (const [at, { resolve, reject }] of decisions.entries()) {
        try {
          resolve(answers[at]?.() ?? {});
        } catch (thrown) {
          reject(thrown instanceof SvcError ? withHint(hints?.svc, thrown) : thrown);
        }
      }
    } catch (thrown) {
      for (const { reject } of decisions) reject(thrown);
    }
  };
  const send = () => {
    const gathered = [...groups.values()];
    groups.clear();
    for (const { fields, decisions } of gathered) {
      for (let from = 0; from < decisions.length; from += maxIds) {
        const part = decisions.slice(from, from + maxIds);
        const [only, ...others] = part;
        if (only !== undefined && others.length === 0) void sendOne(fields, only);
        else void sendSeveral(fields, part);
      }
    }
  };
  return ({ id, ...fields }) =>
    new Promise((resolve, reject) => {
      const key = Buffer.from(encode(fields as Plain)).toString("hex");
      const group = groups.get(key) ?? { fields, decisions: [] };
      group.decisions.push({ id, resolve, reject });
      if (groups.size === 0) setImmediate(send);
      groups.set(key, group);
    });
}
