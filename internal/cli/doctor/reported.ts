import * as v from "valibot";

/** The most characters of a text that a peel chose in one line. */
const maxCharacters = 200;
const maxRoots = 64;

const refusedForm = v.object({
  kind: v.picklist(["rotation", "succession"]),
  reason: v.string(),
  at: v.string(),
});
const factsForm = v.object({
  trust_roots: v.optional(v.fallback(v.optional(v.array(v.string())), undefined)),
  bus_ca_file: v.optional(v.fallback(v.optional(v.string()), undefined)),
  refused_statements: v.optional(v.fallback(v.array(v.unknown()), []), []),
});

/** What a peel reports of its trust. Facts are claims: each text may be anything. */
export interface ReportedTrust {
  /** Pins of its roots; `undefined` where it does not report them. */
  roots: readonly string[] | undefined;
  /** The file that its operator named for the bus. */
  busCaFile: string | undefined;
  /** The statements of its masters that it refused, at most one of each kind. */
  refused: readonly v.InferOutput<typeof refusedForm>[];
}

/** Reads the facts of a peel. What cannot be read reports nothing. */
export function readReportedTrust(facts: unknown): ReportedTrust {
  try {
    const { trust_roots, bus_ca_file, refused_statements } = v.parse(factsForm, facts);
    const refused = refused_statements.flatMap((one) => {
      const parsed = v.safeParse(refusedForm, one);
      return parsed.success ? [parsed.output] : [];
    });
    return {
      roots: trust_roots?.slice(0, maxRoots),
      busCaFile: bus_ca_file,
      refused: [...new Map(refused.map((one) => [one.kind, one])).values()],
    };
  } catch {
    return { roots: undefined, busCaFile: undefined, refused: [] };
  }
}

const weakForm = v.object({ weak_secrets: v.array(v.string()) });

/** The names of settings whose values a peel masks only where they are a whole text; empty where it reports none. */
export function readWeakSecrets(facts: unknown): string {
  const parsed = v.safeParse(weakForm, facts);
  return parsed.success ? excerpt(parsed.output.weak_secrets.join(", ")) : "";
}

/** The beginning of a text that a peel chose, in one line that cannot be taken for another one. */
export function excerpt(text: string): string {
  const line = text.slice(0, maxCharacters).replace(/\s+/g, " ").trim();
  return text.length > maxCharacters ? `${line}…` : line;
}
