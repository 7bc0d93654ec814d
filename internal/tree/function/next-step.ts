/** What to do about a problem of a tree, by the beginning or a part of its message. The first that fits counts. */
const steps: readonly (readonly [RegExp, string])[] = [
  // A message that names the nearest word says what to do already.
  [/\(did you mean /, ""],
  [
    /^undefined: (?:pillar|settings|salt\['?(?:pillar|config)\b)/,
    "add it to the settings of this host, or give a default: pillar.get('name', default)",
  ],
  [
    /^undefined: (?:grains|facts|salt\['?grains\b)/,
    "svc-peel call facts.items lists what the host has; add a custom fact, or give a default",
  ],
  [/^undefined: /, "set it before this place, import it, or test it first with: is defined"],
  [
    /does not exist in templates/,
    "docs/template-reference.md lists the functions of templates; take the value from settings or facts",
  ],
  [
    /^template not found/,
    "paths begin at the directory of the states, or with ./ at this file; add the file, or the formula that has it",
  ],
  [
    /^state file \S+ does not exist/,
    "add the file or the formula to the directory of the states, or remove the name here",
  ],
  [/^unknown state function/, "svc-peel call sys.list_state_functions lists all; cmd.run calls a program"],
  [/no state matches|no state has the id/, "include the file that declares it, or remove the reference"],
  [/^the key .* appears twice/, "join the two entries, or rename one"],
  [
    /indentation does not fit|is not closed|must be a string: put it in quotes|^not a string, finite/,
    "svc state render shows what the template made of the file",
  ],
];

/** What to do about a problem; `undefined` where its message has it, or where it depends on the case. */
export function nextStep(message: string): string | undefined {
  const [, step = ""] = steps.find(([form]) => form.test(message)) ?? [];
  return step === "" ? undefined : step;
}
