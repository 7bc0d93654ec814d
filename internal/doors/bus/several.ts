import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { mapBounded } from "../../base/map-bounded.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { sha256 } from "../../base/sha256.ts";
import { encodeFailure, encodeSuccess } from "../../bus/subjects/envelope.ts";
import type { BusLines } from "../../fleet/operation/door-table/mod.ts";
import type { Caller, FieldsSchema, InputSchema, Operation } from "../../fleet/operation/mod.ts";

// A decision may name several ids instead of one. It is one request to the budget of its operator, and one for each id
// to roles, audit and the agreement of others.

const maxIds = 500;
/** How many are decided at the same time. */
const atOnce = 8;
/** What the answer needs in addition to its results. */
const headBytes = 64;

const idsForm = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(maxIds));

/** @throws SvcError `bad_request` for `id` with `ids`, and for none or too many */
export function severalIds<Input extends InputSchema, Output extends FieldsSchema>(
  { kind, input }: Pick<Operation<never, Input, Output>, "kind" | "input">,
  { token }: Pick<BusLines, "token">,
  fields: Readonly<Record<string, unknown>>,
): readonly string[] | undefined {
  const isOpen = kind === "decide" && token === undefined && Object.hasOwn(input.entries, "id");
  if (!isOpen || !Object.hasOwn(fields, "ids")) return undefined;
  if (Object.hasOwn(fields, "id")) throw new SvcError("bad_request", "give either id or ids");
  const { ids } = fields;
  if (v.is(idsForm, ids)) return ids;
  throw new SvcError("bad_request", `ids must be a list of 1 to ${maxIds} ids`);
}

/**
 * Decides on each id.
 *
 * @param one answers for one of them, as if it were the only one
 * @param maxBytes of the answer: beyond them results have no details
 * @returns the encoded answer, with the results in the order of the ids
 */
export async function decideSeveral(
  ids: readonly string[],
  fields: Readonly<Record<string, unknown>>,
  caller: Caller,
  one: (fields: Record<string, unknown>, caller: Caller) => Promise<Record<string, unknown>>,
  maxBytes: number,
): Promise<Uint8Array> {
  const { ids: _, ...others } = fields;
  const numbered = ids.map((id, at) => ({ id, caller: callerFor(caller, id, at) }));
  const results = await mapBounded(numbered, { atOnce }, ({ id, caller }) =>
    one({ ...others, id }, caller).then(
      (answer) => ({ id, ok: true, ...answer }),
      (thrown): Record<string, unknown> => ({ id, ...Object(decode(encodeFailure(thrown))) }),
    ),
  );
  let left = maxBytes - headBytes;
  const fitting = results.map((result) => {
    const { length } = encode(result as Plain);
    left -= length;
    return left >= 0 || result.ok !== true ? result : { id: result.id, ok: true };
  });
  return encodeSuccess({ results: fitting });
}

/** Each id is a request of its own to what remembers requests. */
function callerFor(caller: Caller, id: string, at: number): Caller {
  if (caller.kind !== "operator" || caller.signed?.nonce === undefined) return caller;
  const { nonce } = caller.signed;
  const own = sha256(Buffer.concat([nonce, Buffer.from(`\0${at}\0${id}`)])).subarray(0, nonce.length);
  return { ...caller, signed: { ...caller.signed, nonce: own } };
}
