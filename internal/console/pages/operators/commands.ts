import type { Session } from "../../api/mod.ts";

/** A change of an operator, as the command that signs it. */
export interface SignedChange {
  title: string;
  command: string;
}

/** The changes that a session may make to an operator; those of administrators are in a file of the masters. */
export function commandsFor(
  { name, state, administrator }: { name: string; state: string; administrator: boolean },
  { may }: Pick<Session, "may">,
): SignedChange[] {
  if (administrator) {
    return may("operators", "administrators")
      ? [
          {
            title: "Replace the administrators",
            command: "svc operator administrators --replace administrators",
          },
        ]
      : [];
  }
  const isDisabled = state === "disabled";
  const changes = [
    { action: "roles", title: "Give it other roles", command: `svc operator roles ${name} ROLE` },
    isDisabled
      ? { action: "enable", title: "Enable it", command: `svc operator enable ${name}` }
      : { action: "disable", title: "Disable it", command: `svc operator disable ${name}` },
    { action: "remove", title: "Remove it", command: `svc operator remove ${name}` },
  ];
  return changes
    .filter(({ action }) => may("operators", action))
    .map(({ title, command }) => ({ title, command }));
}
