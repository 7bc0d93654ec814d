import { applyFilter, compileArguments, compileExpression, missing } from "./compile-expression.ts";
import { compileOutput } from "./compile-output.ts";
import {
  type Block,
  type Compiled,
  type Compiling,
  type Execute,
  type Frame,
  type Signal,
  Used,
} from "./frame.ts";
import { guardStatement } from "./guard.ts";
import { compileLoading, loadTemplate } from "./loading.ts";
import { compileLoop } from "./loop.ts";
import { compileCallBlock, compileMacro } from "./macro.ts";
import { captured, importTemplate, include, renderBlock } from "./rendering.ts";
import { type BlockFilter, parse, type Statement } from "./syntax/mod.ts";
import { compileTarget } from "./target.ts";
import { textOf } from "./text.ts";
import { Fault, orElse, truthy, type Value } from "./values/mod.ts";

/** @param isChecked whether values may be unknown. @throws SyntaxFault */
export function compile(name: string, source: string, isChecked = false): Compiled {
  const blocks = new Map<string, Omit<Block, "template">>();
  const compiling: Compiling = {
    ...{ used: new Used(isChecked), blocks },
    body: (statements, used = compiling.used) => compileBody(statements, { ...compiling, used }),
  };
  const body = compiling.body(parse(source));
  const template: Compiled = { name, source, body, blocks: new Map() };
  const own = new Map([...blocks].map(([each, block]) => [each, { ...block, template }]));
  return Object.assign(template, { blocks: own });
}

/** Makes a function of statements. */
function compileBody(statements: readonly Statement[], compiling: Compiling): Execute {
  const compiled = statements.map((statement) => compileStatement(statement, compiling));
  const [only] = compiled;
  if (compiled.length === 1 && only !== undefined) return only;
  return (frame) => {
    for (const execute of compiled) {
      const signal = execute(frame);
      if (signal !== undefined) return signal;
    }
    return undefined;
  };
}

type Of<Kind extends Statement["kind"]> = Statement & { kind: Kind };

function compileStatement(statement: Statement, compiling: Compiling): Execute {
  const compiler = compilers[statement.kind] as (statement: Statement, compiling: Compiling) => Execute;
  const compiled = compiler(statement, compiling);
  const isPlain = statement.kind === "text" || statement.kind === "break" || statement.kind === "continue";
  if (isPlain) return compiled;
  return apart(compiling.used.isChecked ? guardStatement(compiled, statement) : compiled);
}

/** What one statement uses is not in the values of another one. */
function apart(execute: Execute): Execute {
  return (frame) => {
    const { taint } = frame.run;
    const { used } = taint;
    taint.used = 0;
    const signal = execute(frame);
    taint.used = used;
    return signal;
  };
}

function compileText({ value, at }: Of<"text">, { used }: Compiling): Execute {
  if (!used.isChecked) return (frame) => void frame.run.write(value);
  return (frame) => {
    frame.place(at);
    frame.run.write(value, true);
    return undefined;
  };
}

function compileDo(statement: Of<"do">, { used }: Compiling): Execute {
  const value = compileExpression(statement.value, used);
  return (frame) => void value(frame);
}

function compileIf(statement: Of<"if">, compiling: Compiling): Execute {
  const { used } = compiling;
  const branches = statement.branches.map(({ condition, body }) => ({
    at: condition.at,
    condition: compileExpression(condition, used),
    body: compiling.body(body, used),
  }));
  const otherwise = compiling.body(statement.otherwise, used);
  return (frame) => {
    for (const { at: place, condition, body } of branches) {
      const decides = condition(frame);
      frame.place(place);
      const holds = truthy(decides);
      frame.run.taint.chooseWithin(0);
      if (holds) return body(frame);
    }
    return otherwise(frame);
  };
}

function compileSignal(statement: Of<"break" | "continue">): Execute {
  const signal: Signal = statement.kind;
  return () => signal;
}

function compileSet(statement: Of<"set">, { used }: Compiling): Execute {
  const { at } = statement;
  const [value, assign] = [compileExpression(statement.value, used), compileTarget(statement.target)];
  return (frame) => {
    const given = value(frame);
    frame.place(at);
    assign(frame, given);
    return undefined;
  };
}

function compileSetBlock(statement: Of<"set-block">, compiling: Compiling): Execute {
  const { used } = compiling;
  const [body, assign] = [compiling.body(statement.body, used), compileTarget(statement.target)];
  const filter = compileFilters(statement.filters, used);
  return (frame) => void assign(frame, filter(frame, captured(frame, body)));
}

const filterBlocks = "filter blocks are not supported in settings: use the filter in an expression";

function compileFilterBlock(statement: Of<"filter-block">, compiling: Compiling): Execute {
  const { at } = statement;
  const { used } = compiling;
  const [body, filter] = [compiling.body(statement.body, used), compileFilters(statement.filters, used)];
  return (frame) => {
    frame.place(at);
    if (frame.run.taint.isGuarded) throw new Fault(filterBlocks, { isFinal: true });
    frame.run.write(textOf(filter(frame, captured(frame, body))));
    return undefined;
  };
}

function compileLoad(statement: Of<"load">, compiling: Compiling): Execute {
  const { at } = statement;
  const { used } = compiling;
  const [body, assign, { format }] = [
    compiling.body(statement.body, used),
    compileTarget(statement.target),
    statement,
  ];
  return (frame) => {
    const text = captured(frame, body);
    frame.place(at);
    assign(frame, frame.run.surroundings.parseData(format, text));
    return undefined;
  };
}

function compileImportData(statement: Of<"import-data">, { used }: Compiling): Execute {
  const { at } = statement;
  const [loading, { format, name }] = [compileLoading(statement.loading, used), statement];
  return (frame) => {
    const text = importTemplate(frame, loading, { tag: `import_${format}`, at }).text();
    frame.place(at);
    frame.set(name, frame.run.surroundings.parseData(format, text));
    return undefined;
  };
}

function compileWith(statement: Of<"with">, compiling: Compiling): Execute {
  const { used } = compiling;
  const bindings = statement.bindings.map(({ target, value }) => ({
    assign: compileTarget(target),
    value: compileExpression(value, used),
  }));
  const body = compiling.body(statement.body, used);
  return (frame) => {
    const inner = frame.inner();
    for (const { assign, value } of bindings) {
      assign(inner, value(frame));
      frame.run.taint.used = 0;
    }
    return body(inner);
  };
}

function compileBlock(statement: Of<"block">, compiling: Compiling): Execute {
  const { at } = statement;
  const { used } = compiling;
  const { name, isScoped, isRequired } = statement;
  const body = compiling.body(statement.body, used);
  if (compiling.blocks.has(name)) throw new Fault(`block '${name}' is defined twice`);
  compiling.blocks.set(name, { name, body, isRequired });
  return (frame) => {
    frame.place(at);
    renderBlock(frame, name, isScoped);
    return undefined;
  };
}

function compileExtends(statement: Of<"extends">, { used }: Compiling): Execute {
  const { at } = statement;
  const template = compileExpression(statement.template, used);
  return (frame) => {
    const name = template(frame);
    frame.place(at);
    const { rendering, run } = frame;
    run.taint.nameFile("extends");
    if (rendering === undefined || rendering.parent !== undefined) throw new Fault("extended multiple times");
    rendering.parent = { template: loadTemplate(frame, name, "extend"), before: run.out };
    return undefined;
  };
}

function compileInclude(statement: Of<"include">, { used }: Compiling): Execute {
  const { at } = statement;
  const [loading, { ignoresMissing }] = [compileLoading(statement.loading, used), statement];
  return (frame) => {
    include(frame, loading, { ignoresMissing, at });
    return undefined;
  };
}

function compileImport(statement: Of<"import">, { used }: Compiling): Execute {
  const { at } = statement;
  const [loading, { name }] = [compileLoading(statement.loading, used), statement];
  return (frame) => void frame.set(name, importTemplate(frame, loading, { tag: "import", at }).module);
}

function compileFromImport(statement: Of<"from-import">, { used }: Compiling): Execute {
  const { at } = statement;
  const [loading, { names }] = [compileLoading(statement.loading, used), statement];
  return (frame) => {
    const { exported } = importTemplate(frame, loading, { tag: "from", at });
    for (const { name, as } of names) {
      frame.set(as, orElse(exported(name), missing(frame, name)));
      frame.run.taint.used = 0;
    }
    return undefined;
  };
}

const compilers: {
  [Kind in Statement["kind"]]: (statement: Of<Kind>, compiling: Compiling) => Execute;
} = {
  text: compileText,
  output: compileOutput,
  do: compileDo,
  if: compileIf,
  for: compileLoop,
  break: compileSignal,
  continue: compileSignal,
  set: compileSet,
  "set-block": compileSetBlock,
  "filter-block": compileFilterBlock,
  load: compileLoad,
  "import-data": compileImportData,
  macro: compileMacro,
  "call-block": compileCallBlock,
  with: compileWith,
  block: compileBlock,
  extends: compileExtends,
  include: compileInclude,
  import: compileImport,
  "from-import": compileFromImport,
};

function compileFilters(filters: readonly BlockFilter[], used: Used) {
  const compiled = filters.map(({ name, args, at }) => ({ name, at, args: compileArguments(args, used) }));
  return (frame: Frame, text: Value): Value => {
    let value = text;
    for (const { name, args, at } of compiled) {
      const given = args(frame);
      frame.place(at);
      value = applyFilter(frame, name, value, given);
    }
    return value;
  };
}
