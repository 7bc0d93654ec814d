/** Who has a role. */
export interface Holders {
  role: string;
  operators: string[];
  tokens: string[];
}

/** The roles that someone has, by name, with their holders. */
export function holdersOf(
  operators: readonly { name: string; roles: readonly string[] }[],
  tokens: readonly { name: string; state: string; roles: readonly string[] }[],
): Holders[] {
  const found = new Map<string, Holders>();
  const of = (role: string) => {
    const one = found.get(role) ?? { role, operators: [], tokens: [] };
    found.set(role, one);
    return one;
  };
  for (const { name, roles } of operators) for (const role of roles) of(role).operators.push(name);
  for (const { name, roles, state } of tokens) {
    if (state === "live") for (const role of roles) of(role).tokens.push(name);
  }
  return [...found.values()].sort((one, other) => (one.role < other.role ? -1 : 1));
}
