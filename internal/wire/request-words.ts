/** What masters say of a request that waits for others, or a part of it. */
export interface RequestAbout {
  operation: string;
  function?: string | undefined;
  /** The target expression. */
  target?: string | undefined;
  peels?: number | undefined;
  /** Name of the peel, operator or rollout that it is about. */
  about?: string | undefined;
  /** The roles that an operator gets. */
  roles?: readonly string[] | undefined;
}

/** What happens when a request is approved: `PEEL`, `OPERATOR` and `ROLLOUT` stand for what it is about. */
const sentences: Readonly<Record<string, string>> = {
  "jobs.create": "run a job",
  "rollouts.start": "start a rollout",
  "rollouts.pause": "pause ROLLOUT",
  "rollouts.resume": "resume ROLLOUT",
  "rollouts.abort": "abort ROLLOUT",
  "enrollments.approve": "approve PEEL",
  "enrollments.reject": "reject PEEL",
  "enrollments.revoke": "revoke PEEL",
  "enrollments.revoke-user": "revoke PEEL",
  "enrollments.suspend": "suspend PEEL: keep it off the bus until it is resumed",
  "enrollments.resume": "resume PEEL: let it back on the bus",
  "enrollments.clear-clone": "remove the mark from PEEL that two hosts have its identity",
  "enrollments.label": "change the labels of PEEL",
  "enrollments.discard": "discard the enrollment of PEEL",
  "enrollments.restore": "restore the enrollment of PEEL",
  "enrollments.expect": "expect PEEL",
  "enrollments.unexpect": "no longer expect PEEL",
  "operators.add": "add OPERATOR",
  "operators.roles": "change the roles of OPERATOR",
  "operators.disable": "disable OPERATOR, and close its connection",
  "operators.enable": "enable OPERATOR again",
  "operators.remove": "remove OPERATOR, and close its connection",
};
const kinds = { PEEL: "", OPERATOR: "the operator ", ROLLOUT: "the rollout " } as const;
const unnamed = { PEEL: "a host", OPERATOR: "an operator", ROLLOUT: "a rollout" } as const;

/**
 * What happens when a request is approved, as it continues "wants to": `run cmd.run on 13 hosts`. A request that nobody
 * described is its operation: an approver must not take it for another one.
 *
 * @param countOf a number of peels in words
 */
export function requestWords(of: RequestAbout, countOf: (peels: number) => string): string {
  const { operation, function: called, target, peels, about, roles = [] } = of;
  const [kind] = operation.split(".");
  const where = peels === undefined ? (target ?? "") : countOf(peels);
  const on = where === "" ? "" : ` on ${where}`;
  const inWaves = kind === "rollouts" ? ", wave by wave" : "";
  if (called === "upgrade.apply") return `upgrade svc-peel${on}${inWaves}`;
  if (called !== undefined) return `${kind === "rollouts" ? "roll out" : "run"} ${called}${on}${inWaves}`;
  const sentence = Object.hasOwn(sentences, operation) ? sentences[operation] : undefined;
  if (sentence === undefined) return `do ${operation}`;
  const given =
    roles.length === 0 ? "" : ` with the ${roles.length === 1 ? "role" : "roles"} ${roles.join(", ")}`;
  const said = sentence.replace(/PEEL|OPERATOR|ROLLOUT/, (word) => {
    const which = word as keyof typeof kinds;
    if (about !== undefined) return `${kinds[which]}${about}`;
    return which === "PEEL" && peels !== undefined ? countOf(peels) : unnamed[which];
  });
  if (operation === "operators.roles" && roles.length > 0) return `${said} to ${roles.join(", ")}`;
  return operation === "operators.add" ? `${said}${given}` : said;
}
