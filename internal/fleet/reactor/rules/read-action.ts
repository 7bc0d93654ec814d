import * as v from "valibot";
import { defined } from "../../../base/defined.ts";
import {
  absolutePath,
  duration,
  fields,
  list,
  type Problem,
  readBy,
  refuse,
  type Schema,
  text,
} from "../../../base/document/schemas.ts";
import { SvcError } from "../../../base/errors.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { webhookUrlProblem } from "../../../base/webhook/url.ts";
import {
  argumentProblem,
  checkArguments,
  checkCall,
  functionNamed,
  type ModuleFunction,
} from "../../../host/modules/mod.ts";
import { parseTarget } from "../../../tree/targets/mod.ts";
import { isServiceTag, maxTagLength, maxTagSegments } from "../events/mod.ts";
import { allPlaceholders } from "./argument-policy.ts";
import { opening } from "./placeholder.ts";
import { literal, template, templateMap } from "./read-node.ts";
import type { Action, RuleTarget } from "./rule.ts";

const maxText = 4_096;
const maxStates = 64;
/** Same limit as for jobs of operators. */
const maxTimeoutMs = 24 * 60 * 60 * 1000;
const tagSegment = /^[A-Za-z0-9_-]+$/;
const missing = (key: string) => `${key} is missing`;

/** An action: a map with one key, which is the kind of the action. */
export function action(): Schema<Action> {
  const kinds: { [Kind in Action["kind"]]: Schema<Extract<Action, { kind: Kind }>> } = {
    job: job(),
    states: states(),
    approve: v.pipe(
      fields({}, { unknown: () => "takes no fields: write approve: {}" }),
      v.transform(() => ({ kind: "approve" }) as const),
    ),
    emit: emit(),
    webhook: webhook(),
  };
  const names = Object.keys(kinds).join(", ");
  const entries = Object.entries<Schema<Action>>(kinds).map(
    ([kind, each]) => [kind, v.exactOptional(each)] as const,
  );
  return v.pipe(
    fields(Object.fromEntries(entries)),
    refuse((written) => {
      const [first, second] = Object.keys(written);
      const message = `expected one of ${names} in each item, such as - approve: {}`;
      if (first === undefined) return message;
      return second === undefined ? undefined : { message, at: [second], isKey: true };
    }),
    v.transform((written): Action => Object.values(written)[0] ?? { kind: "approve" }),
  );
}

function job(): Schema<Extract<Action, { kind: "job" }>> {
  return v.pipe(
    fields(
      {
        target: target(),
        function: v.pipe(literal(128), readBy(functionNamed)),
        args: v.exactOptional(templateMap()),
        timeout: timeout(),
      },
      { missing },
    ),
    refuse(({ function: called, args }) => argsProblem(called, args)),
    v.transform(({ target, function: { name }, args = {}, timeout }) => ({
      ...({ kind: "job", target, function: name, args } as const),
      ...defined({ timeout }),
    })),
  );
}

/** Checks the arguments without event data now. The others are checked when they are rendered. */
function argsProblem(called: ModuleFunction, args: Record<string, Plain> = {}): Problem | undefined {
  const isOpen = (name: string) => allPlaceholders(args[name] ?? null).length > 0;
  for (const [name, value] of Object.entries(args)) {
    const spec = Object.hasOwn(called.args, name) ? called.args[name] : undefined;
    const message = spec === undefined || isOpen(name) ? undefined : argumentProblem(spec, value);
    if (message !== undefined) return { message, at: ["args", name] };
  }
  const open = Object.keys(args).filter((name) => Object.hasOwn(called.args, name) && isOpen(name));
  const without = <T>(map: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(map).filter(([name]) => !open.includes(name)));
  try {
    if (open.length === 0) checkCall(called.name, args);
    else {
      // The same function, but without checks of the arguments that are not known yet.
      const { refuse: _later, ...settled } = called;
      checkArguments({ ...settled, args: without(called.args) }, without(args));
    }
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SvcError) return { message: thrown.message, at: ["args"] };
    throw thrown;
  }
}

function states(): Schema<Extract<Action, { kind: "states" }>> {
  return v.pipe(
    fields(
      {
        target: target(),
        sls: v.exactOptional(list(literal(256), maxStates)),
        test: v.exactOptional(v.boolean()),
        timeout: timeout(),
      },
      { missing },
    ),
    v.transform(({ target, sls = [], test = false, timeout }) => ({
      ...({ kind: "states", target, sls, test } as const),
      ...defined({ timeout }),
    })),
  );
}

const sourcePlaceholder = `${opening}source}`;

function target() {
  return v.pipe(
    text(maxText),
    readBy((written): RuleTarget => {
      if (written === sourcePlaceholder) return { source: true };
      if (written.includes(opening)) {
        throw new SvcError(
          "bad_request",
          `the only value with a placeholder that is allowed here is ${sourcePlaceholder}: an event must not choose the target`,
        );
      }
      parseTarget(written);
      return { expression: written };
    }),
  );
}

function timeout() {
  const limits = duration(1, maxTimeoutMs);
  return v.exactOptional(
    v.pipe(
      text(40),
      refuse((written) => v.safeParse(limits, written).issues?.[0].message),
    ),
  );
}

function emit(): Schema<Extract<Action, { kind: "emit" }>> {
  const tag = v.pipe(
    literal(maxTagLength),
    refuse((written) => {
      const segments = written.split("/");
      if (segments.length > maxTagSegments || !segments.every((segment) => tagSegment.test(segment))) {
        return "expected letters, digits, - and _, in segments separated by /";
      }
      return isServiceTag(written) ? "tags that begin with svc/ are reserved for the service" : undefined;
    }),
  );
  return v.pipe(
    fields({ tag, data: v.exactOptional(templateMap()) }, { missing }),
    v.transform(({ tag, data = {} }) => ({ kind: "emit", tag, data }) as const),
  );
}

function webhook(): Schema<Extract<Action, { kind: "webhook" }>> {
  const url = v.pipe(
    literal(maxText),
    refuse((written) => webhookUrlProblem(written, { secretOption: "token_file", isPlainAllowed: true })),
  );
  return v.pipe(
    fields(
      {
        url,
        token_file: v.exactOptional(v.pipe(literal(maxText), absolutePath())),
        body: v.exactOptional(template()),
      },
      { missing },
    ),
    v.transform(({ url, token_file, body }) => ({
      ...({ kind: "webhook", url } as const),
      ...defined({ tokenFile: token_file, body }),
    })),
  );
}
