import { type Block, type Compiled, type Execute, Frame, type Rendering } from "./frame.ts";
import { type CompiledLoading, loadTemplate } from "./loading.ts";
import { Callable, Facade, Fault, type Value } from "./values/mod.ts";

// How templates are put together: blocks of templates that extend others, includes and imports.

/** Writes a template. @param root the frame of its top level @throws Fault */
export function renderTemplate(
  template: Compiled,
  root: Frame,
  extending: ReadonlyMap<string, readonly Block[]> = new Map(),
): void {
  const blocks = new Map(extending);
  for (const [name, block] of template.blocks) blocks.set(name, [...(blocks.get(name) ?? []), block]);
  const rendering: Rendering = { template, root, blocks };
  root.renders(rendering);
  root.set("self", selfOf(root, rendering), 0);
  const { run } = root;
  run.budget.within(() => {
    template.body(root);
    if (rendering.parent === undefined) return;
    // What was written after the tag is not shown.
    run.out = rendering.parent.before;
    renderTemplate(rendering.parent.template, root, blocks);
  });
}

/** Writes a block where it stands, as the template that extends this one the most defines it. @throws Fault */
export function renderBlock(frame: Frame, name: string, isScoped: boolean): void {
  const { rendering } = frame;
  if (rendering === undefined || rendering.parent !== undefined) return;
  writeBlock(frame, rendering, name, 0, isScoped);
}

function writeBlock(
  frame: Frame,
  rendering: Rendering,
  name: string,
  level: number,
  isScoped: boolean,
): void {
  const block = rendering.blocks.get(name)?.[level];
  if (block === undefined)
    throw new Fault(`the block '${name}' does not exist${level > 0 ? " above this one" : ""}`);
  if (block.isRequired) throw new Fault(`the required block '${name}' is not defined`);
  const around = isScoped ? frame : rendering.root;
  // Errors in it are those of the template that defines it.
  const inner = new Frame(frame.run, around, { ...rendering, template: block.template });
  const text = (level: number) =>
    frame.run.capture(() => writeBlock(frame, rendering, name, level, isScoped));
  inner.set("super", new Callable("super", () => text(level + 1), { composes: true }), 0);
  frame.run.budget.within(() => void block.body(inner));
}

/** `self`, whose attributes write the blocks of a template. */
function selfOf(root: Frame, rendering: Rendering): Facade {
  return new Facade("self", (name) =>
    rendering.blocks.has(name)
      ? new Callable(name, () => root.run.capture(() => writeBlock(root, rendering, name, 0, false)), {
          composes: true,
        })
      : undefined,
  );
}

/** Writes another template. @throws Fault */
export function include(
  frame: Frame,
  { template, withContext }: CompiledLoading,
  { ignoresMissing, at }: { ignoresMissing: boolean; at: number },
): void {
  const name = template(frame);
  frame.place(at);
  frame.run.taint.nameFile("include");
  let loaded: Compiled;
  try {
    loaded = loadTemplate(frame, name, "include");
  } catch (thrown) {
    if (ignoresMissing && thrown instanceof Fault && isAbsent(thrown, frame)) return;
    throw thrown;
  }
  renderTemplate(loaded, new Frame(frame.run, withContext ? frame : alone(frame, loaded, name)));
}

/** What a template sees that is loaded without context. */
function alone({ run }: Frame, { name }: Compiled, requested: Value): Frame {
  const around = new Frame(run, undefined);
  const own = run.surroundings.ownVariables(name, typeof requested === "string" ? requested : name);
  for (const [each, value] of own) around.set(each, value, 0);
  return around;
}

/** Whether what was looked for does not exist. A name that is worked out may be that of a template to load. */
function isAbsent({ missing }: Fault, { run }: Frame): boolean {
  return missing.length > 0 && missing.every((name) => run.surroundings.isAbsent(name));
}

/** What an import gives. */
interface Imported {
  /** What the template writes. */
  text(): string;
  /** A name that it sets or defines at its top level. */
  exported(name: string): Value | undefined;
  module: Facade;
}

/** Renders a template for the names that it defines. @throws Fault */
export function importTemplate(
  frame: Frame,
  loading: CompiledLoading,
  { tag, at }: { tag: string; at: number },
): Imported {
  const { taint } = frame.run;
  const name = loading.template(frame);
  frame.place(at);
  taint.nameFile(tag);
  const loaded = loadTemplate(frame, name, "import");
  const root = new Frame(frame.run, loading.withContext ? frame : alone(frame, loaded, name));
  const text = frame.run.capture(() => renderTemplate(loaded, root));
  const { used: ofText } = taint;
  taint.used = 0;
  const exported = (each: string) => (each.startsWith("_") ? undefined : root.read(each));
  const written = () => {
    taint.used |= ofText;
    return text;
  };
  return { text: written, exported, module: new Facade("module", exported, undefined, written) };
}

/** What statements write, in a scope of their own. */
export function captured(frame: Frame, body: Execute): string {
  return frame.run.capture(() => void body(frame.inner()));
}
