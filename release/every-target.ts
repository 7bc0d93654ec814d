/** How `make everything` runs a target of the Makefile. */
export type EveryTarget =
  | {
      target: string;
      /** Variables that make a long target short. */
      short?: readonly string[];
      /** A directory that this target reads and a clone lacks: `variable` names it, else it is at `fallback`. */
      needs?: { variable: string; fallback: string };
    }
  /** Not run, for this reason. */
  | { target: string; left: string };

/**
 * Every target of the Makefile that `make help` lists, in the order in which they run: what shows most first.
 * `test/release/every-target.test.ts` fails when one is missing.
 */
export const everyTarget: readonly EveryTarget[] = [
  { target: "help" },
  { target: "tools" },
  { target: "build" },
  { target: "demo" },
  { target: "check" },
  { target: "test" },
  { target: "packages-test" },
  { target: "upgrades" },
  { target: "identities" },
  { target: "incidents" },
  { target: "races" },
  { target: "chaos", short: ["MINUTES=1"] },
  { target: "host" },
  { target: "formulas", needs: { variable: "FORMULAS", fallback: "../shared/formulas" } },
  { target: "formula-plans", needs: { variable: "FORMULAS", fallback: "../shared/formulas" } },
  { target: "jinja-fuzz" },
  { target: "exports" },
  { target: "api-fuzz", short: ["EXAMPLES=2", "ROLES=admin,none"] },
  { target: "release" },
  { target: "packages" },
  { target: "rpms" },
  { target: "man" },
  { target: "reference" },
  { target: "fmt" },
  { target: "bench", short: ["SMALLEST=1"] },
  { target: "scale", short: ["PEELS=10"] },
  { target: "soak", short: ["HOURS=0.02"] },
  { target: "bench-peers", short: ["ONLY=idle"] },
  { target: "clean", left: "it removes what the others need" },
  { target: "everything", left: "it is this list" },
];
