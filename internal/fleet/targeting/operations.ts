import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { described, plainMap, shownDigest } from "../../base/schema.ts";
import { type FilesOfCall, filesOfCall } from "../../host/modules/mod.ts";
import type { Content } from "../../wire/content.ts";
import { type Caller, operation } from "../operation/mod.ts";
import { chosenTarget, targetFields, targetOf } from "./resolve.ts";
import type { Resolver } from "./resolver.ts";

const resolved = v.object({ peel_id: v.string(), alive: v.boolean() });

export interface ResolveDeps {
  resolver: Pick<Resolver, "resolveWithLife">;
  /**
   * The files that a request for these peels means now.
   *
   * @param of.isSigned an operator signs it
   * @throws SvcError `not_found`, `unavailable`
   */
  resolveFiles(of: {
    wanted: FilesOfCall;
    peels(): readonly string[];
    isSigned: boolean;
  }): Promise<{ content: Content }>;
  /** Whether a caller may run a function with these state files on some peel. @throws SvcError `unavailable` */
  mayUse(
    caller: Caller,
    called: { function: string; args: Readonly<Record<string, Plain>> },
  ): Promise<boolean>;
}

/** A map; in the query of a URL, JSON. */
const args = v.pipe(
  // A description behind the transformation would be lost.
  described(v.unknown(), "Arguments of the function, as a JSON object"),
  v.transform((value) =>
    typeof value === "string" ? attempt((): unknown => JSON.parse(value), value) : value,
  ),
  plainMap,
);

export const resolveTarget = operation({
  name: "targets.resolve",
  kind: "read",
  summary: "See which peels a target means",
  description: "`next` says that there are more: ask again with it as `after`.",
  scope: { kind: "facts", action: "resolve" },
  input: v.strictObject({
    ...targetFields,
    after: v.optional(described(v.string(), "Only the peels behind this one: `next` of the previous page")),
    function: v.optional(
      described(v.string(), "A function; of one that uses state files the answer has `snapshot`"),
    ),
    args: v.optional(args),
  }),
  output: v.object({
    /** How many there are on all pages. */
    total: v.optional(v.number(), 0),
    targets: v.array(resolved),
    next: v.exactOptional(v.string()),
    snapshot: v.exactOptional(
      shownDigest(
        "Digest of the state files that the function would use now: those in force, or the newest released ones where a peel obeys operators only and no commit is named; not with `after`",
      ),
    ),
  }),
  touches: (input) => ({ peels: targetOf(input) }),
  async run(deps: ResolveDeps, input, { caller, log, answerBytes = Number.POSITIVE_INFINITY }) {
    const { resolver } = deps;
    const found = await resolver.resolveWithLife(chosenTarget(input));
    log.debug("target resolved", { peels: found.length });
    const { after } = input;
    const snapshot = after === undefined ? await snapshotFor(deps, input, found, caller) : undefined;
    const from = after === undefined ? 0 : found.findIndex(({ peelId }) => peelId > after);
    const targets: v.InferOutput<typeof resolved>[] = [];
    let bytes = 0;
    for (const { peelId, alive } of from < 0 ? [] : found.slice(from)) {
      bytes += peelId.length + 20;
      if (bytes > answerBytes) break;
      targets.push({ peel_id: peelId, alive });
    }
    const last = targets.at(-1)?.peel_id;
    const isEnd = last === undefined || last === found.at(-1)?.peelId;
    return { total: found.length, targets, ...(isEnd ? {} : { next: last }), ...defined({ snapshot }) };
  },
});

/** The digest of the files that a function means. Nobody learns anything of an environment that they may not run. */
async function snapshotFor(
  { resolveFiles, mayUse }: ResolveDeps,
  {
    function: name = "",
    args = {},
  }: { function?: string | undefined; args?: Record<string, Plain> | undefined },
  found: readonly { peelId: string }[],
  caller: Caller,
): Promise<Uint8Array | undefined> {
  const files = filesOfCall(name, args);
  if (files === undefined || !(await mayUse(caller, { function: name, args }))) return undefined;
  const isSigned = caller.kind === "operator" && caller.signed !== undefined;
  const peels = () => found.map(({ peelId }) => peelId);
  const { content } = await resolveFiles({ wanted: files, peels, isSigned });
  return Buffer.from(content.snapshot, "hex");
}
