import { suggestion } from "../../base/nearest.ts";
import type { Place, Problems, Requisite, RequisiteKind } from "../function/mod.ts";
import { matchGlob } from "../targets/mod.ts";
import type { Compat } from "../template/mod.ts";
import type { WrittenRequisite } from "./common-args.ts";
import { type Widened, withIncluded } from "./included-states.ts";

/** A state that a requisite can refer to. */
export interface Referable extends Place {
  id: string;
  name: string;
  sls: string;
  function: string;
  requisites: readonly WrittenRequisite[];
}

/**
 * Resolves requisites: to the states of a module with the given id or name, to all states of an sls, or to
 * the states of a bare id. Reverses the `_in` forms.
 *
 * @param compat with `salt`, a state fails when it runs if what it refers to does not exist. A reversed requisite is
 *   left out if its id exists in another module, and `sls` means the states of included files as well
 * @param loaded the state files of the run by name, including files without states, with the files that include them
 * @returns the requisites of each state; targets are indexes into the states
 */
export function resolveRequisites(
  states: readonly Referable[],
  loaded: ReadonlyMap<string, readonly string[]>,
  problems: Problems,
  compat: Compat = "strict",
): Requisite[][] {
  const index = new Index(states, loaded);
  const resolved: Requisite[][] = states.map(() => []);
  // What other states add comes behind what a state has itself, as in Salt.
  const added: Requisite[][] = states.map(() => []);
  const widened: Widened[] = [];
  for (const [at, state] of states.entries()) {
    for (const written of state.requisites) {
      const found = index.find(written);
      const place = { file: written.file, line: written.line };
      if (found === undefined) {
        const message = `${argOf(written)}: no state matches ${labelOf(written)}${index.nearest(written)}`;
        if (compat === "salt" && written.reversed && index.hasId(written.reference)) {
          problems.warn(`${message}: it is left out`, place);
        } else if (compat === "salt" && !written.reversed) {
          problems.warn(`${message}: this state will fail`, place);
          resolved[at]?.push({ kind: written.kind, label: labelOf(written), targets: [], isMissing: true });
        } else problems.add(message, place);
        continue;
      }
      const targets = found.filter((target) => target !== at);
      if (found.length > 0 && targets.length === 0) {
        problems.add(`${argOf(written)}: ${labelOf(written)} refers to this state itself`, place);
        continue;
      }
      if (!written.reversed) {
        const requisite: Requisite = { kind: written.kind, label: labelOf(written), targets };
        resolved[at]?.push(requisite);
        const more = compat === "salt" && isWide(written) ? index.includedBy(written.reference) : [];
        if (more.length > 0) widened.push({ at, requisite, more });
        continue;
      }
      const label = ownLabel(state);
      for (const target of targets) added[target]?.push({ kind: written.kind, label, targets: [at] });
    }
  }
  const all = resolved.map((own, at) => [...own, ...(added[at] ?? [])]);
  return withIncluded(withPrerequired(states, all), widened);
}

/** Whether a requisite means the states of a file, and waits for them. */
function isWide({ module, kind }: WrittenRequisite): boolean {
  return module === "sls" && kind !== "listen" && kind !== "prereq";
}

/** Makes each target of a `prereq` require the state that declares it. */
function withPrerequired(states: readonly Referable[], resolved: readonly Requisite[][]): Requisite[][] {
  const all = resolved.map((requisites) => [...requisites]);
  for (const [at, state] of states.entries()) {
    for (const { kind, targets } of resolved[at] ?? []) {
      if (kind !== "prereq") continue;
      for (const target of targets) {
        all[target]?.push({ kind: "require", label: ownLabel(state), targets: [at] });
      }
    }
  }
  return all;
}

function ownLabel({ function: name, id }: Referable): string {
  return `${moduleOf(name)}: ${id}`;
}

function argOf({ kind, reversed }: { kind: RequisiteKind; reversed: boolean }): string {
  return reversed ? `${kind}_in` : kind;
}

function labelOf({ module, reference }: WrittenRequisite): string {
  return module === "" ? reference : `${module}: ${reference}`;
}

function moduleOf(name: string): string {
  return name.slice(0, name.indexOf("."));
}

class Index {
  private readonly byModule = new Map<string, number[]>();
  private readonly byId = new Map<string, number[]>();
  private readonly bySls = new Map<string, number[]>();

  private readonly byIncluding = new Map<string, number[]>();

  constructor(states: readonly Referable[], loaded: ReadonlyMap<string, readonly string[]>) {
    for (const sls of loaded.keys()) this.bySls.set(sls, []);
    for (const [at, state] of states.entries()) {
      const module = moduleOf(state.function);
      add(this.byModule, `${module}: ${state.id}`, at);
      if (state.name !== state.id) add(this.byModule, `${module}: ${state.name}`, at);
      add(this.byId, state.id, at);
      add(this.bySls, state.sls, at);
      for (const including of loaded.get(state.sls) ?? []) add(this.byIncluding, including, at);
    }
  }

  find(written: WrittenRequisite): readonly number[] | undefined {
    const { table, key } = this.tableOf(written);
    const exact = table.get(key);
    if (exact !== undefined || !/[*?[]/.test(written.reference)) return exact;
    const prefix = key.slice(0, key.length - written.reference.length);
    const matching = [...table].flatMap(([each, indexes]) =>
      each.startsWith(prefix) && matchGlob(written.reference, each.slice(prefix.length)) ? indexes : [],
    );
    return matching.length === 0 ? undefined : [...new Set(matching)];
  }

  /** The states of the files that a file includes, and that these include. */
  includedBy(sls: string): readonly number[] {
    return this.byIncluding.get(sls) ?? [];
  }

  hasId(id: string): boolean {
    return this.byId.has(id);
  }

  nearest(written: WrittenRequisite): string {
    const { table, key } = this.tableOf(written);
    return suggestion(key, [...table.keys()]);
  }

  private tableOf({ module, reference }: WrittenRequisite): {
    table: ReadonlyMap<string, readonly number[]>;
    key: string;
  } {
    if (module === "" || module === "id") return { table: this.byId, key: reference };
    if (module === "sls") return { table: this.bySls, key: reference };
    return { table: this.byModule, key: `${module}: ${reference}` };
  }
}

function add(to: Map<string, number[]>, key: string, at: number): void {
  const present = to.get(key);
  if (present === undefined) to.set(key, [at]);
  else if (present.at(-1) !== at) present.push(at);
}
