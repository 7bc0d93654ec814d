import type * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import type { LogFields } from "../../base/log.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { type Call, type InputSchema, nameOfCaller, type Operation, type Touch } from "./operation.ts";
import { parse, type RawRequest } from "./parse.ts";

/**
 * Runs an operation for a caller, in the same way for every door: parse, check the caller, run, and log the
 * start and the end.
 *
 * @throws SvcError `bad_request` naming the field, `forbidden` for a caller that the operation does not
 * admit,
 *   and what the operation throws
 */
export async function invoke<Deps, Input extends InputSchema, Output extends v.GenericSchema>(
  operation: Operation<Deps, Input, Output>,
  deps: Deps,
  raw: RawRequest,
  call: Call,
): Promise<v.InferOutput<Output>> {
  const { caller, requestId, log, clock } = call;
  const started = clock.monotonic();
  let fields: LogFields = {
    operation: operation.name,
    operator: nameOfCaller(caller),
    door: caller.door,
    request_id: requestId,
  };
  const span = call.span?.begin(operation.name, { attributes: { "svc.operation.kind": operation.kind } });
  const ended = () => ({ ...fields, duration_ms: Math.round((clock.monotonic() - started) * 1000) / 1000 });
  try {
    const input = parse(operation.input, raw);
    const touched = operation.touches(input);
    fields = { ...fields, ...fieldsOf(touched) };
    admit(operation, call);
    log.debug("operation begins", fields);
    const output = await throughGate(operation, { input, touched }, call, (fixed) =>
      operation.run(deps, input, { ...call, ...fixed, ...defined({ span }) }),
    );
    log.debug("operation complete", ended());
    span?.end();
    return output;
  } catch (thrown) {
    if (thrown instanceof WaitingRequest) {
      span?.end();
      log.info("operation waits for others", { ...ended(), approval: thrown.approval, needs: thrown.needs });
      throw thrown;
    }
    const { kind } = toSvcError(thrown);
    span?.end(kind);
    log[meaningOf(kind).level]("operation refused", {
      ...ended(),
      code: kind,
      reason: describeError(thrown),
    });
    throw thrown;
  }
}

function admit({ name, admits }: Pick<Operation<never, never, never>, "name" | "admits">, { caller }: Call) {
  if (admits.includes(caller.kind)) return;
  throw new SvcError("forbidden", `${name} is not for ${caller.kind} callers`);
}

/** What a gate fixes of a request. */
type Fixed = Pick<Call, "peels" | "judgeLabels" | "content" | "released">;

/** Requests without a scope of their own need no gate; the others run only when it lets them pass. */
async function throughGate<T>(
  { name, kind, scope }: Pick<Operation<never, never, never>, "name" | "kind" | "scope">,
  { input, touched }: { input: unknown; touched: Touch },
  { gate, caller, requestId, agreement }: Call,
  run: (fixed: Fixed) => Promise<T>,
): Promise<T> {
  if (gate === undefined || scope === "public" || scope === "self") return run({});
  const fixed: Fixed = {};
  const passenger = {
    operation: name,
    kind,
    scope,
    input,
    touched,
    caller,
    fix(peels: readonly string[]) {
      fixed.peels = peels;
    },
    fixLabels(judge: Required<Fixed>["judgeLabels"]) {
      fixed.judgeLabels = judge;
    },
    settle(files: Required<Pick<Call, "content">> & Pick<Call, "released">) {
      Object.assign(fixed, files);
    },
    ...defined({ requestId, agreement }),
  };
  const end = await gate.enter(passenger);
  let output: T;
  try {
    output = await run(fixed);
  } catch (error) {
    await end({ outcome: "failed", error });
    throw error;
  }
  await end({ outcome: "done", output });
  return output;
}

const maxField = 200;

/** The log fields for what is touched; input of a caller is shortened. */
function fieldsOf(touched: Touch): LogFields {
  const short = (text: string) => text.slice(0, maxField);
  if ("fleet" in touched) return {};
  if ("enrollment" in touched) return { enrollment_id: short(touched.enrollment) };
  if ("peel" in touched) return { peel_id: short(touched.peel) };
  if ("job" in touched) return { jid: short(touched.job) };
  if ("rollout" in touched) return { rollout: short(touched.rollout) };
  if ("rule" in touched) return { rule: short(touched.rule) };
  if ("approval" in touched) return { approval: short(touched.approval) };
  if ("token" in touched) return { token: short(touched.token) };
  if ("joinToken" in touched) return { join_token: short(touched.joinToken) };
  if ("operator" in touched) return { changed: short(touched.operator) };
  if ("binary" in touched) return { binary: short(touched.binary) };
  if ("environment" in touched) return { environment: short(touched.environment) };
  const { peels } = touched;
  return "expression" in peels ? { target: short(peels.expression) } : { targets: peels.peels.length };
}
