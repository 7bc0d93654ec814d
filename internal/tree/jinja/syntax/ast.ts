// The syntax tree of a template. `at` is the offset in its text.

export interface Argument {
  kind: "positional" | "named" | "list" | "map";
  /** Of a named one. */
  name: string;
  value: Expression;
}

export type Binary = "+" | "-" | "*" | "/" | "//" | "%" | "**";
export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";

export type Expression = { at: number } & (
  | { kind: "constant"; value: null | boolean | number | string; isFloat?: true }
  | { kind: "name"; name: string }
  | { kind: "list" | "tuple"; items: Expression[] }
  | { kind: "map"; entries: [Expression, Expression][] }
  | { kind: "attribute"; of: Expression; name: string }
  | { kind: "item"; of: Expression; key: Expression }
  | { kind: "slice"; of: Expression; parts: (Expression | undefined)[] }
  | { kind: "call"; of: Expression; args: Argument[] }
  | { kind: "filter"; of: Expression; name: string; args: Argument[] }
  | { kind: "test"; of: Expression; name: string; args: Argument[]; negated: boolean }
  | { kind: "binary"; operator: Binary; left: Expression; right: Expression }
  | { kind: "concat"; parts: Expression[] }
  | { kind: "compare"; first: Expression; rest: { operator: Comparison; value: Expression }[] }
  | { kind: "and" | "or"; left: Expression; right: Expression }
  | { kind: "not" | "minus" | "plus"; of: Expression }
  | { kind: "choice"; condition: Expression; yes: Expression; no: Expression | undefined }
);

export type Target = { at: number } & (
  | { kind: "name"; name: string }
  | { kind: "attribute"; of: string; name: string }
  | { kind: "tuple"; items: Target[] }
);

export interface Parameter {
  name: string;
  fallback: Expression | undefined;
}

/** A filter whose value is the text of a block. */
export interface BlockFilter {
  at: number;
  name: string;
  args: Argument[];
}

/** `with context` of includes and imports. */
export interface Loading {
  template: Expression;
  withContext: boolean;
}

export type DataFormat = "yaml" | "json" | "text";

export type Statement = { at: number } & (
  | { kind: "text"; value: string }
  | { kind: "output"; value: Expression }
  | { kind: "do"; value: Expression }
  | { kind: "if"; branches: { condition: Expression; body: Statement[] }[]; otherwise: Statement[] }
  | {
      kind: "for";
      target: Target;
      over: Expression;
      condition: Expression | undefined;
      isRecursive: boolean;
      body: Statement[];
      otherwise: Statement[];
    }
  | { kind: "break" | "continue" }
  | { kind: "set"; target: Target; value: Expression }
  | { kind: "set-block"; target: Target; body: Statement[]; filters: BlockFilter[] }
  | { kind: "load"; format: DataFormat; target: Target; body: Statement[] }
  | { kind: "import-data"; format: DataFormat; name: string; loading: Loading }
  | { kind: "macro"; name: string; parameters: Parameter[]; body: Statement[] }
  | { kind: "call-block"; call: Expression; parameters: Parameter[]; body: Statement[] }
  | { kind: "filter-block"; filters: BlockFilter[]; body: Statement[] }
  | { kind: "with"; bindings: { target: Target; value: Expression }[]; body: Statement[] }
  | { kind: "block"; name: string; body: Statement[]; isScoped: boolean; isRequired: boolean }
  | { kind: "extends"; template: Expression }
  | { kind: "include"; loading: Loading; ignoresMissing: boolean }
  | { kind: "import"; name: string; loading: Loading }
  | { kind: "from-import"; names: { name: string; as: string }[]; loading: Loading }
);
