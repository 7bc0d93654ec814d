import type { Claims } from "../../../identity/mod.ts";

/** The subjects that the claims of an account import or export. */
export function subjectsOf({ nats }: Pick<Claims, "nats">, what: "imports" | "exports"): ReadonlySet<string> {
  const list = nats[what];
  if (!Array.isArray(list)) return new Set();
  return new Set(
    list.flatMap((entry: unknown) => {
      const subject =
        typeof entry === "object" && entry !== null && "subject" in entry ? entry.subject : undefined;
      return typeof subject === "string" ? [subject] : [];
    }),
  );
}
