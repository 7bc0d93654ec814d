/** Actions that say with the kind what is done: `list enrollments`. Others are names of what is read or changed. */
const verbs: ReadonlySet<string> = new Set(
  "abort approve cancel create deny disable discard enable end expect explain find follow get label list pause probe put reject remove renew resolve restore resume reveal revoke show start suspend unexpect".split(
    " ",
  ),
);

/** A request that a server of the bus refused. */
interface Refused {
  /** Of the operation that was requested, such as `enrollments.list`; absent for other requests. */
  operation: string | undefined;
  /** The command that requested it, without the program, such as `enroll list`. */
  command: string | undefined;
}

/**
 * Names the caller, what they may not do, and who can allow it. The subject of the bus is nothing that a person typed,
 * or finds in a roles file.
 */
export function describeForbidden(name: string, { operation = "", command }: Refused): string {
  const [kind = "", action = ""] = operation.split(".");
  const what = verbs.has(action) && kind.endsWith("s") ? `${action} ${kind}` : "do this";
  const by = command === undefined ? "" : ` (${command})`;
  return `${name} may not ${what}${by}: no role of ${name} allows it; an operator with role admin changes them with svc operator roles ${name} ROLE`;
}
